/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iobench/byte_out.h"
#include "iobench/report_parts.h"
#include "iobench/table.h"

void report_html(FILE *out, const char *text)
{
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        length = byte_out_utf8_length((const unsigned char *)text, left);
        const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : *text == '"' ? "&quot;" : NULL;
        bool control = (unsigned char)*text < ' ' && *text != '\n';
        if (length == 0 || control) {
            fputs("\xef\xbf\xbd", out);
            length = 1;
        } else if (entity) {
            fputs(entity, out);
        } else {
            fwrite(text, 1, length, out);
        }
    }
}

void report_json(FILE *out, const char *text)
{
    fputc('"', out);
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        unsigned char c = (unsigned char)*text;
        length = byte_out_utf8_length((const unsigned char *)text, left);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (c < ' ' || c == '"' || c == '\\' || c == '<' || c == 0x7f) {
            fprintf(out, "\\u%04x", c);
        } else {
            fwrite(text, 1, length, out);
        }
    }
    fputc('"', out);
}

static void print_asset(FILE *out, enum report_asset_name name)
{
    struct report_asset asset = report_asset(name);
    fwrite(asset.bytes, 1, asset.size, out);
}

static void print_title(FILE *out, const struct comparison *c)
{
    size_t candidates = 0;
    for (size_t arm = 0; arm < c->arm_count; arm++) {
        if (!compare_is_candidate(c, arm))
            continue;
        fputs(candidates++ ? ", " : "", out);
        report_html(out, c->arms[arm].name);
    }
    fputs(candidates ? " against " : "", out);
    report_html(out, c->arms[c->baseline].name);
}

/* The table as `iobench compare` prints it. */
static void print_table(FILE *out, const struct comparison *c)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (memory) {
        table_print_comparison(memory, c, &(struct table_style){0});
        if (fclose(memory) == 0)
            report_html(out, text);
    }
    free(text);
}

static void print_style(FILE *out, const struct comparison *c)
{
    (void)c;
    print_asset(out, REPORT_STYLE);
}

static void print_scripts(FILE *out, const struct comparison *c)
{
    fputs("<script type=\"application/json\" id=\"data\">", out);
    report_data_print(out, c);
    fputs("</script>\n<script>", out);
    print_asset(out, REPORT_CHART_LIBRARY);
    fputs("</script>\n<script>\n", out);
    print_asset(out, REPORT_SCRIPT);
    print_asset(out, REPORT_TABLES);
    print_asset(out, REPORT_CHARTS);
    fputs("</script>\n", out);
}

/* What stands in place of @NAME@ in report_page.html. */
static const struct {
    const char *name;
    void (*print)(FILE *out, const struct comparison *c);
} places[] = {
    {"@STYLE@", print_style},
    {"@TITLE@", print_title},
    {"@SUMMARY@", report_summary_print},
    {"@TABLE@", print_table},
    {"@SCRIPTS@", print_scripts},
};

void report_print(FILE *out, const struct comparison *c)
{
    struct report_asset page = report_asset(REPORT_PAGE);
    for (size_t at = 0; at < page.size;) {
        const char *here = page.bytes + at, *mark = memchr(here, '@', page.size - at);
        size_t plain = mark ? (size_t)(mark - here) : page.size - at;
        fwrite(here, 1, plain, out);
        at += plain;
        if (!mark)
            return;
        size_t length = 0;
        for (size_t i = 0; i < sizeof places / sizeof places[0] && length == 0; i++) {
            size_t name = strlen(places[i].name);
            if (page.size - at >= name && memcmp(mark, places[i].name, name) == 0) {
                places[i].print(out, c);
                length = name;
            }
        }
        if (length == 0) {
            fputc('@', out);
            length = 1;
        }
        at += length;
    }
}

int report_write(const char *path, const struct comparison *c)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary)
        return -ENAMETOOLONG;
    FILE *out = fopen(temporary, "we");
    if (!out)
        return -errno;
    report_print(out, c);
    errno = 0;
    int error = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) != 0 ? (errno ? -errno : -EIO) : 0;
    if (fclose(out) != 0 && error == 0)
        error = -errno;
    if (error == 0 && rename(temporary, path) != 0)
        error = -errno;
    if (error != 0)
        (void)unlink(temporary);
    return error;
}

int report_write_result(const char *directory, const struct result *r)
{
    struct comparison comparison;
    char path[PATH_MAX], why[256];
    if (snprintf(path, sizeof path, "%s/report.html", directory) >= (int)sizeof path)
        return -ENAMETOOLONG;
    if (compare_init(&comparison, &r, 1, NULL, why, sizeof why) != 0)
        return -EINVAL;
    int error = report_write(path, &comparison);
    compare_fini(&comparison);
    return error;
}
