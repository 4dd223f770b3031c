#include "model/maxmin.h"

#include <math.h>

void maxmin_solve(struct maxmin *m)
{
    for (int r = 0; r < m->n_resources; r++)
        m->load[r] = m->active[r] = 0;
    for (int i = 0; i < m->n_flows; i++) {
        m->rate[i] = -1;
        for (int u = m->start[i]; u < m->start[i + 1]; u++)
            m->active[m->resource[u]] += m->weight[u];
    }
    int left = m->n_flows;
    double level = 0;
    for (int found = 0; left > 0 && (m->levels == 0 || found < m->levels); found++) {
        level = INFINITY;
        for (int r = 0; r < m->n_resources; r++)
            if (m->active[r] > 1e-12) {
                double share = (m->capacity[r] - m->load[r]) / m->active[r];
                level = share < level ? share : level;
            }
        int stopped = 0;
        for (int i = 0; i < m->n_flows; i++) {
            if (m->rate[i] >= 0)
                continue;
            int full = -1;
            for (int u = m->start[i]; u < m->start[i + 1] && full < 0; u++) {
                int r = m->resource[u];
                /* Judged by what the resources held when this level was found. */
                if (m->capacity[r] - m->load[r] <= level * m->active[r] * (1 + 1e-9))
                    full = r;
            }
            if (full >= 0) {
                m->rate[i] = -2 - level; /* stopped at this level, not yet booked */
                m->binding[i] = full;
                stopped++;
            }
        }
        for (int i = 0; i < m->n_flows; i++) {
            if (m->rate[i] > -2) /* running, or booked */
                continue;
            m->rate[i] = level;
            for (int u = m->start[i]; u < m->start[i + 1]; u++) {
                m->load[m->resource[u]] += m->weight[u] * level;
                m->active[m->resource[u]] -= m->weight[u];
            }
        }
        left -= stopped;
        if (stopped == 0) /* only rounding can bring us here */
            break;
    }
    for (int i = 0; i < m->n_flows; i++)
        if (m->rate[i] < 0) {
            m->rate[i] = level;
            m->binding[i] = -1;
        }
}
