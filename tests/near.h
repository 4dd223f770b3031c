/* Comparisons of doubles for cmocka, which has none. */
#ifndef UPDRAFT_TESTS_NEAR_H
#define UPDRAFT_TESTS_NEAR_H

#include <math.h>

/* |a - b| <= rel * max(|a|, |b|), or both 0. */
#define assert_near(a, b, rel)                                                                     \
    do {                                                                                           \
        double near_a_ = (a), near_b_ = (b);                                                       \
        if (!(fabs(near_a_ - near_b_) <= (rel)*fmax(fabs(near_a_), fabs(near_b_)))) {              \
            print_error("%s = %.17g, %s = %.17g\n", #a, near_a_, #b, near_b_);                     \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

#endif
