/* Errors are values. One contract for the whole program:
 *
 * - A function that can fail returns an enum status and takes `struct err *err` last. On STATUS_OK
 *   it leaves *err alone; otherwise it has filled *err, once, at the place that knows most.
 * - Library code never prints and never exits. Callers may put context in front with err_prefix().
 * - err->msg is ready to print after "updraft: ", and says what to do next. No newline at its end.
 * - The status is the process's exit code (docs/updraft.1, EXIT STATUS).
 */
#ifndef UPDRAFT_MODEL_ERR_H
#define UPDRAFT_MODEL_ERR_H

enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,      /* the work failed: a rank died, a check found a fault */
    STATUS_USAGE = 2,       /* the command line is wrong */
    STATUS_INPUT = 3,       /* an input file is unreadable or malformed */
    STATUS_UNSUPPORTED = 4, /* well formed, but cannot support the result */
    STATUS_MISSING = 5,     /* hardware, driver or optional library is not there */
};

struct err {
    enum status status;
    char msg[1024];
};

/* Fills *err with a formatted message (cut at its size) and returns `status`. err may be NULL. */
enum status err_set(struct err *err, enum status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts formatted context in front of the message that is there: "CONTEXT: old". Returns its status.
 */
enum status err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
