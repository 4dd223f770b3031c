/* Every importer on every input: as its own format, and recognised. Each record must be one that
 * the trace's reader takes back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/collect.h"
#include "traces/columns.h"
#include "traces/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct collect *c)
{
    for (size_t i = 0; i < c->records.n && i < 200; i++) {
        char *line = NULL;
        size_t len = 0;
        FILE *f = open_memstream(&line, &len);
        if (f == NULL)
            return;
        trace_write_record(f, &c->records.v[i], NULL);
        fclose(f);
        struct record back;
        struct err err = {STATUS_OK, ""};
        if (trace_parse_record(&back, NULL, line, len, "fuzz", 1, &err) != STATUS_OK) {
            fprintf(stderr, "%s wrote what cannot be read: %s\n%s", c->im.importer->name, err.msg,
                    line);
            abort();
        }
        free(line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct columns *columns; /* read once: a fuzzer comes here a million times */
    struct err err;
    struct collect c;
    if (columns == NULL && columns_load(&columns, NULL, &err) != STATUS_OK)
        abort();
    for (int i = 0; importers[i] != NULL; i++) {
        collect_with(&c, importers[i], columns, "fuzz", (const char *)data, size);
        check(&c);
        collect_release(&c);
    }
    collect_with(&c, NULL, columns, "fuzz", (const char *)data, size);
    check(&c);
    collect_release(&c);
    return 0;
}
