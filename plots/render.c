/* Runs gnuplot on one program: terminal, style, data, script. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plots/plot.h"
#include "traces/share.h"

extern char **environ;

enum status plot_format_of(const char *path, enum plot_format *format, struct err *err)
{
    static const struct {
        const char *ending;
        enum plot_format format;
    } endings[] = {
        {".png", PLOT_PNG}, {".svg", PLOT_SVG}, {".pdf", PLOT_PDF}, {".gp", PLOT_PROGRAM}};
    if (strcmp(path, "-") == 0) {
        *format = PLOT_TERMINAL;
        return STATUS_OK;
    }
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i].ending);
        if (len > n && strcmp(path + len - n, endings[i].ending) == 0) {
            *format = endings[i].format;
            return STATUS_OK;
        }
    }
    return err_set(
        err, STATUS_USAGE,
        "-o %s: the name must end in .png, .svg, .pdf or .gp (gnuplot's program), or be - "
        "for the terminal",
        path);
}

static void write_terminal(FILE *program, const struct plot_kind *kind,
                           const struct plot_size *size, const struct plot_target *t)
{
    double scale = t->scale > 0 ? t->scale : 1;
    int w = (int)(size->width * scale), h = (int)(size->height * scale);
    int columns = t->columns < 60 ? 60 : t->columns > 240 ? 240 : t->columns;
    fputs("set encoding utf8\n", program);
    switch (t->format) {
    case PLOT_SVG:
        fprintf(program,
                "set terminal svg size %d,%d dynamic background rgb 'white' "
                "font 'DejaVu Sans,13' name '%s'\n",
                w, h, t->svg_id != NULL ? t->svg_id : kind->name);
        break;
    case PLOT_PDF:
        fprintf(program,
                "set terminal pdfcairo size %.3fin,%.3fin font 'DejaVu Sans,10' fontscale 0.75\n",
                w / 96.0, h / 96.0);
        break;
    case PLOT_TERMINAL:
        fprintf(program, "set terminal dumb size %d,%d aspect 1 %s\n", columns, size->rows,
                t->color ? "ansi256" : "mono");
        break;
    case PLOT_PNG:
    case PLOT_PROGRAM:
        fprintf(program, "set terminal pngcairo size %d,%d font 'DejaVu Sans,10'\n", w, h);
        break;
    }
    /* Sizes are pixels in an SVG, points elsewhere. */
    fputs(t->format == PLOT_SVG ? "tiny_font = ',10.6'\nsmall_font = ',12'\n"
                                : "tiny_font = ',8'\nsmall_font = ',9'\n",
          program);
    fprintf(program, "in_terminal = %d\ncolumns = %d\nlines = %d\n", t->format == PLOT_TERMINAL,
            columns, size->rows);
}

static enum status append_script(FILE *program, const char *name, struct err *err)
{
    char *path = share_path(name, err);
    if (path == NULL)
        return STATUS_MISSING;
    enum status status = STATUS_OK;
    FILE *f = fopen(path, "r");
    char buf[4096];
    size_t n;
    if (f == NULL) {
        status = err_set(err, STATUS_MISSING, "%s: %s", path, strerror(errno));
        goto out;
    }
    while ((n = fread(buf, 1, sizeof buf, f)) > 0)
        fwrite(buf, 1, n, program);
    fclose(f);
out:
    free(path);
    return status;
}

static enum status write_program(FILE *program, const struct plot_kind *kind,
                                 const struct plot_request *request,
                                 const struct plot_target *target, struct err *err)
{
    char script[64];
    struct plot_size size = kind->size;
    enum status status = kind->write(request, program, &size, err);
    write_terminal(program, kind, &size, target);
    if (status == STATUS_OK)
        status = append_script(program, "plots/style.gp", err);
    snprintf(script, sizeof script, "plots/plot_%s.gp", kind->name);
    if (status == STATUS_OK)
        status = append_script(program, script, err);
    if (status == STATUS_OK && (fflush(program) != 0 || ferror(program)))
        status = err_set(err, STATUS_FAILED, "writing the plot's program: %s", strerror(errno));
    return status;
}

/* What gnuplot complained of: the last line that is not blank or a caret. */
static void last_complaint(FILE *f, char *text, size_t size)
{
    char line[512];
    snprintf(text, size, "no message");
    rewind(f);
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[strspn(line, " \t^")] != '\0')
            snprintf(text, size, "%s", line);
    }
}

/* gnuplot with the program on standard input; its standard output goes to `picture`. */
static enum status run_gnuplot(FILE *program, FILE *picture, struct err *err)
{
    char name[] = "gnuplot", defaults[] = "-d", from_stdin[] = "-";
    char *argv[] = {name, defaults, from_stdin, NULL};
    posix_spawn_file_actions_t actions;
    enum status status = STATUS_OK;
    FILE *complaints = tmpfile();
    if (complaints == NULL)
        return err_set(err, STATUS_FAILED, "no temporary file: %s", strerror(errno));
    rewind(program);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(program), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
    pid_t pid;
    int code = posix_spawnp(&pid, name, &actions, NULL, argv, environ), wait_status = 0;
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT) {
        status = err_set(err, STATUS_MISSING,
                         "gnuplot is not installed: apt-get install gnuplot-nox, or write the "
                         "program with -o FILE.gp and draw it elsewhere");
        goto out;
    }
    if (code != 0) {
        status = err_set(err, STATUS_FAILED, "gnuplot does not start: %s", strerror(code));
        goto out;
    }
    while (waitpid(pid, &wait_status, 0) < 0)
        if (errno != EINTR) {
            status = err_set(err, STATUS_FAILED, "waiting for gnuplot: %s", strerror(errno));
            goto out;
        }
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        char text[512];
        last_complaint(complaints, text, sizeof text);
        status = err_set(err, STATUS_FAILED, "gnuplot failed: %s", text);
    } else if (lseek(fileno(picture), 0, SEEK_END) <= 0) {
        status = err_set(err, STATUS_FAILED, "gnuplot drew nothing");
    }
out:
    fclose(complaints);
    return status;
}

enum status plot_render(const struct plot_kind *kind, const struct plot_request *request,
                        const struct plot_target *target, struct err *err)
{
    if (target->format == PLOT_PROGRAM)
        return write_program(target->out, kind, request, target, err);
    FILE *program = tmpfile(), *picture = tmpfile();
    enum status status = STATUS_OK;
    char buf[8192];
    size_t n;
    if (program == NULL || picture == NULL) {
        status = err_set(err, STATUS_FAILED, "no temporary file: %s", strerror(errno));
        goto out;
    }
    status = write_program(program, kind, request, target, err);
    if (status == STATUS_OK)
        status = run_gnuplot(program, picture, err);
    if (status != STATUS_OK)
        goto out;
    rewind(picture);
    while ((n = fread(buf, 1, sizeof buf, picture)) > 0)
        if (fwrite(buf, 1, n, target->out) != n) {
            status = err_set(err, STATUS_FAILED, "writing the picture: %s", strerror(errno));
            goto out;
        }
out:
    if (program != NULL)
        fclose(program);
    if (picture != NULL)
        fclose(picture);
    return status;
}
