#include "model/batch_gain.h"

#include <math.h>

double batch_gain(double gain_0, double x, double m, double batch)
{
    return gain_0 * (1 + x * batch) / (1 + m * x * batch);
}

double batch_gain_vanishes(double gain_0, double x, double m)
{
    /* gain_0 (1 + x B) = 1 + m x B */
    if (gain_0 <= 1)
        return 0;
    return gain_0 >= m || x <= 0 ? (double)INFINITY : (gain_0 - 1) / (x * (m - gain_0));
}
