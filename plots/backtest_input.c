#include "plots/backtest_input.h"

#include <sys/stat.h>

enum status backtest_input(const struct plot_request *request, struct json_doc *doc,
                           struct err *err)
{
    struct stat st;
    enum status status;
    if (stat(request->input, &st) == 0 && S_ISDIR(st.st_mode)) {
        const char *args[] = {request->input, "--cases", NULL};
        status = ask_command("backtest", args, request->inv->log, doc, err);
    } else {
        status = json_doc_read(doc, request->input, err);
    }
    if (status == STATUS_OK && !cJSON_IsArray(json_member(doc->root, "tables")))
        status = err_set(err, STATUS_INPUT,
                         "%s: neither a folder of tables nor the output of updraft backtest --json "
                         "--cases: it has no key \"tables\"",
                         request->input);
    return status;
}
