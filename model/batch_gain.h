/* The gain of speculation by batch where nothing but gains were measured: a pass reads its weights
 * once and pays each of its rows, so with x the cost of a row over that of the weights
 *
 *   gain(B) = gain_0 (1 + x B) / (1 + m x B),   m rows verified per request.
 *
 * Free of GSL.
 */
#ifndef UPDRAFT_MODEL_BATCH_GAIN_H
#define UPDRAFT_MODEL_BATCH_GAIN_H

/* Before any run: gain_0 1.5 within a factor of 1.6; x 1/170, within a factor of 2.7: a dense model
 * in bf16 turns from memory to compute at 100 to 300 rows, and attention adds to the rows. */
#define BATCH_GAIN_LOG_MEAN 0.405
#define BATCH_GAIN_LOG_SD 0.5
#define BATCH_ROW_LOG_MEAN (-5.1)
#define BATCH_ROW_LOG_SD 1.0

double batch_gain(double gain_0, double x, double rows_per_request, double batch);

/* The batch at which the gain reaches 1; INFINITY where it never does, 0 where it never exceeds. */
double batch_gain_vanishes(double gain_0, double x, double rows_per_request);

#endif
