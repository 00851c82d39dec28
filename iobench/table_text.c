/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/table_text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "iobench/byte_out.h"
#include "iobench/text_print.h"

void table_line_add(struct table_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        line->used += (size_t)length;
    if (line->used >= sizeof line->text)
        line->used = sizeof line->text - 1;
}

/* Copies one character from *from, made harmless; returns the bytes used in to (at most 8). */
static size_t harmless(const struct table_page *page, const char **from, size_t left, char to[8])
{
    const unsigned char *at = (const unsigned char *)*from;
    size_t length = byte_out_utf8_length(at, left);
    /* C1 controls, too: terminals obey them. */
    bool control = length == 0 || *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
    *from += length ? length : 1;
    if (control) {
        to[0] = '?';
        return 1;
    }
    size_t used = 0;
    if (page->style->markdown && length == 1 && strchr("\\`*_|<>[]", *at))
        to[used++] = '\\';
    memcpy(to + used, at, length);
    return used + length;
}

const char *table_name(const struct table_page *page, const char *name, size_t width, char to[TABLE_NAME])
{
    size_t used = 0, columns = 0;
    const char *end = name + strlen(name);
    while (name < end && used < TABLE_NAME - 10) {
        if (width > 0 && columns + 1 == width && name + 1 < end) {
            to[used++] = '~';
            break;
        }
        used += harmless(page, &name, (size_t)(end - name), to + used);
        columns++;
    }
    to[used] = '\0';
    return to;
}

void table_row(const struct table_page *page, const struct table_line *line)
{
    size_t length = line->used;
    while (length > 0 && line->text[length - 1] == ' ')
        length--;
    (void)fwrite(line->text, 1, length, page->out);
    fputc('\n', page->out);
}

/* Columns of a text, counting a UTF-8 character as one. */
static size_t columns_of(const char *text, size_t bytes)
{
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static void print_word(const struct table_page *page, const char *word, size_t bytes)
{
    const char *end = word + bytes;
    while (word < end) {
        char character[8];
        size_t length = harmless(page, &word, (size_t)(end - word), character);
        (void)fwrite(character, 1, length, page->out);
    }
}

void table_paragraph(const struct table_page *page, const char *heading, const struct table_line *line)
{
    size_t indent = columns_of(heading, strlen(heading)), column = indent;
    size_t bare = strlen(heading);
    while (bare > 0 && heading[bare - 1] == ' ')
        bare--;
    if (page->style->markdown && bare > 0)
        fprintf(page->out, "- **%.*s**: ", (int)bare, heading);
    else
        fputs(heading, page->out);
    bool first = true;
    for (const char *word = line->text + strspn(line->text, " "); *word;) {
        size_t bytes = strcspn(word, " "), width = columns_of(word, bytes);
        if (!first && !page->style->markdown && column + 1 + width > TABLE_COLUMNS) {
            fprintf(page->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', page->out);
            column++;
        }
        print_word(page, word, bytes);
        column += width;
        first = false;
        word += bytes;
        word += strspn(word, " ");
    }
    fputc('\n', page->out);
    if (page->style->markdown && !heading[0])
        fputc('\n', page->out);
}

void table_heading(const struct table_page *page, const char *text)
{
    struct table_line line = {0};
    table_line_add(&line, "%s", text);
    if (page->style->markdown) {
        fputs("\n## ", page->out);
        print_word(page, line.text, line.used);
        fputs("\n\n", page->out);
        return;
    }
    fputc('\n', page->out);
    table_paragraph(page, "", &line);
    size_t width = columns_of(line.text, line.used);
    for (size_t i = 0; i < width && i < TABLE_COLUMNS; i++)
        fputc('-', page->out);
    fputc('\n', page->out);
}

const char *table_ratio(const struct table_page *page, double log_ratio, int digits, char to[TABLE_NUMBER])
{
    double ratio = exp(log_ratio);
    if (page->style->unit == TABLE_SPEEDUP) {
        int places = ratio < 9.9995 ? 3 : ratio < 99.995 ? 2 : ratio < 9999.5 ? 0 : -1;
        text_print(to, TABLE_NUMBER, places < 0 ? "%.*e" : "%.*f", places < 0 ? 0 : places + (places > 0 ? digits : 0), ratio);
        return to;
    }
    double percent = page->style->unit == TABLE_CHANGE ? 100 * expm1(log_ratio) : 100 * ratio;
    const char *sign = page->style->unit == TABLE_CHANGE ? "+" : "";
    if (fabs(percent) >= 99999.5)
        text_print(to, TABLE_NUMBER, *sign ? "%+.0e" : "%.0e", percent);
    else if (fabs(percent) >= 999.95)
        text_print(to, TABLE_NUMBER, *sign ? "%+.0f" : "%.0f", percent);
    else
        text_print(to, TABLE_NUMBER, *sign ? "%+.*f" : "%.*f", 1 + digits, percent);
    return to;
}

const char *table_ratio_sign(const struct table_page *page)
{
    return page->style->unit == TABLE_SPEEDUP ? "x" : "%";
}

static const char *three_digits(double value, char to[TABLE_NUMBER])
{
    int places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    text_print(to, TABLE_NUMBER, value < 999999.5 ? "%.*f" : "%.*e", places, value);
    return to;
}

const char *table_rate(double bytes_per_second, char to[TABLE_NUMBER])
{
    return three_digits(bytes_per_second / 1e6, to);
}

const char *table_seconds(double seconds, char to[TABLE_NUMBER])
{
    return three_digits(seconds, to);
}

const char *table_state(enum compare_state state)
{
    static const char *const names[] = {
        [COMPARE_MEASURED] = NULL, [COMPARE_MISSING] = "-", [COMPARE_MARKED] = "marked", [COMPARE_FAILED] = "failed"};
    return names[state];
}

char table_verdict_mark(enum statistics_verdict verdict)
{
    static const char marks[VERDICTS] = {' ', '=', '-', '+', '?'};
    return marks[verdict];
}

const char *table_ratio_cell(const struct table_page *page, const struct compare_ratio *ratio,
                             const struct statistics_estimate *estimate, int digits, char to[TABLE_RATIO_CELL])
{
    char middle[TABLE_NUMBER], low[TABLE_NUMBER], high[TABLE_NUMBER];
    int width = digits > 0 ? 6 : 5;
    table_ratio(page, estimate->estimate, digits, middle);
    table_ratio(page, estimate->low, 0, low);
    table_ratio(page, estimate->high, 0, high);
    if (estimate->count > 1 || estimate->interval)
        text_print(to, TABLE_RATIO_CELL, estimate->interval ? "%*s [%5s,%5s]" : "%*s (%5s,%5s)", width, middle, low, high);
    else
        text_print(to, TABLE_RATIO_CELL, "%*s", width, middle);
    char marks[] = {table_verdict_mark(ratio->verdict), ratio->survives ? '*' : ' ', ratio->noisier ? 'n' : ' ', '\0'};
    size_t length = 3;
    while (length > 0 && marks[length - 1] == ' ')
        marks[--length] = '\0';
    if (estimate == &ratio->rate)
        text_print(to + strlen(to), TABLE_RATIO_CELL - strlen(to), "%s", marks);
    return to;
}

/* Calm around 100%, warmer the more is lost. The digits say the same, so nothing depends on the colour. */
void table_color_add(const struct table_page *page, struct table_line *line, double log_ratio, const char *text)
{
    double percent = 100 * exp(log_ratio);
    int background = percent < 80 ? 210 : percent < 90 ? 216 : percent < 98 ? 229 : percent <= 102 ? 254 : 157;
    if (page->style->color)
        table_line_add(line, "\033[48;5;%d;38;5;16m%s\033[0m", background, text);
    else
        table_line_add(line, "%s", text);
}
