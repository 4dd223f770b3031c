/* Sizes at which the best implementation changes. */
#ifndef UPDRAFT_MODEL_CROSSOVER_H
#define UPDRAFT_MODEL_CROSSOVER_H

/* What is compared: n implementations, each with a latency at every size. */
struct crossover {
    int n;
    double from_bytes, to_bytes; /* 0 < from < to */
    void *context;
    /* Latency of implementation i, us, > 0. */
    double (*us)(void *context, int i, double bytes);
    /* Standard deviation of log(us of i / us of j): what is unsure about their order. NULL: 0. */
    double (*sigma)(void *context, int i, int j, double bytes);
};

/* A run of sizes with one winner. */
struct crossover_segment {
    int best;                    /* the fastest from from_bytes up to to_bytes */
    double from_bytes, to_bytes; /* borders between segments are exact to one part in 1000 */
    double from_us, to_us;       /* its latency at both ends */
    int second;                  /* the next best in the middle (geometric) of the run; -1: none */
    double second_us, best_us;   /* both there */
    double p_best;               /* probability that best is faster than second there */
    /* 95 % interval of the upper border: the sizes at which the two are too close to call. Equal to
     * from_bytes or to_bytes of the whole where it reaches that far. 0, 0 for the last run. */
    double low_bytes, high_bytes;
};

enum { CROSSOVER_MAX_SEGMENTS = 64 };

/* Fills at most CROSSOVER_MAX_SEGMENTS, returns how many. Runs shorter than an eighth of a doubling
 * may be missed. */
int crossover_find(const struct crossover *x, struct crossover_segment *segments);

#endif
