/* What a campaign found, compared: results that are closer than the noise floor are not different.
 */
#ifndef UPDRAFT_MEASURE_SUMMARY_H
#define UPDRAFT_MEASURE_SUMMARY_H

#include <stdio.h>

#include "model/record.h"

struct cJSON;

/* The noise floor of a record's method and skew, from the A/A differences that records note; of all
 * methods where r is NULL. NaN where no record notes one. */
double floor_of(const struct records *rs, const struct record *r);

/* 1 where no other implementation's record of the same curve and size (label, ranks, dtype, method,
 * skew, in_place) is faster by more than the noise floor. */
int is_best(const struct records *rs, const struct record *r);

/* Tables: for every label, rank count and method the implementations by size, the best ones marked;
 * then what dependent timing adds to back-to-back timing. */
void summary_print(FILE *out, const struct records *rs);
/* Adds "results" and "dependent_minus_back_to_back" to an object; 0, or -1 without memory. */
int summary_json(struct cJSON *object, const struct records *rs);

#endif
