/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/json_scan.h"

#include <string.h>

#include "iobench/byte_out.h"

void json_scan_init(struct json_scan *scan, const char *text, size_t size)
{
    *scan = (struct json_scan){.text = text, .size = size};
}

bool json_scan_fail(struct json_scan *scan, const char *why)
{
    if (!scan->failed) {
        scan->failed = true;
        scan->failed_at = scan->at;
        scan->why = why;
    }
    return false;
}

/* The next byte that is not white space, not consumed; NUL at the end or after a failure. */
static char peek(struct json_scan *scan)
{
    if (scan->failed)
        return '\0';
    while (scan->at < scan->size) {
        char c = scan->text[scan->at];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return c;
        scan->at++;
    }
    return '\0';
}

static bool expect(struct json_scan *scan, char c, const char *why)
{
    if (peek(scan) != c || scan->failed)
        return json_scan_fail(scan, scan->at >= scan->size ? "it ends too early" : why);
    scan->at++;
    return true;
}

bool json_scan_object(struct json_scan *scan)
{
    scan->first = true;
    return expect(scan, '{', "an object was expected");
}

bool json_scan_array(struct json_scan *scan)
{
    scan->first = true;
    return expect(scan, '[', "an array was expected");
}

/* Before a member or an element: eats the comma, or the closing bracket and says false. */
static bool next_item(struct json_scan *scan, char close)
{
    bool first = scan->first;
    scan->first = false;
    if (peek(scan) == close && !scan->failed) {
        scan->at++;
        return false;
    }
    return first ? !scan->failed : expect(scan, ',', "a comma or a closing bracket was expected");
}

bool json_scan_element(struct json_scan *scan)
{
    return next_item(scan, ']');
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits at the current place, consumed; -1 if there are none. */
static int hex_unit(struct json_scan *scan)
{
    int unit = 0;
    if (scan->size - scan->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(scan->text[scan->at + (size_t)i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    scan->at += 4;
    return unit;
}

/* After "\u": the character as UTF-8 in out; its length, 0 for a damaged one. */
static size_t unicode_escape(struct json_scan *scan, char out[4])
{
    int unit = hex_unit(scan);
    if (unit <= 0 || (unit >= 0xdc00 && unit <= 0xdfff))
        return 0;
    unsigned point = (unsigned)unit;
    if (unit >= 0xd800 && unit <= 0xdbff) {
        if (scan->size - scan->at < 2 || memcmp(scan->text + scan->at, "\\u", 2) != 0)
            return 0;
        scan->at += 2;
        int low = hex_unit(scan);
        if (low < 0xdc00 || low > 0xdfff)
            return 0;
        point = 0x10000 + (((unsigned)unit - 0xd800) << 10) + ((unsigned)low - 0xdc00);
    }
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(lead[length] | point);
    return length;
}

/* One character or escape of a string at the current place, as UTF-8; its length, 0 after a failure. */
static size_t string_character(struct json_scan *scan, char out[4])
{
    unsigned char c = (unsigned char)scan->text[scan->at];
    if (c != '\\') {
        size_t length = c < 0x20 ? 0 : byte_out_utf8_length((const unsigned char *)scan->text + scan->at, scan->size - scan->at);
        if (length == 0)
            return json_scan_fail(scan, "a control character or a byte that is no UTF-8 stands in a string");
        memcpy(out, scan->text + scan->at, length);
        scan->at += length;
        return length;
    }
    if (scan->size - scan->at < 2)
        return json_scan_fail(scan, "it ends too early");
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char name = scan->text[scan->at + 1];
    const char *found = name ? strchr(names, name) : NULL;
    if (found) {
        scan->at += 2;
        out[0] = values[found - names];
        return 1;
    }
    if (name == 'u') {
        scan->at += 2;
        size_t length = unicode_escape(scan, out);
        return length ? length : json_scan_fail(scan, "a string holds a wrong \\u escape");
    }
    return json_scan_fail(scan, "a string holds an unknown escape");
}

/* How many characters from the current place on are plain ASCII: they are copied at once. */
static size_t plain_run(const struct json_scan *scan)
{
    size_t at = scan->at;
    while (at < scan->size) {
        unsigned char c = (unsigned char)scan->text[at];
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
            break;
        at++;
    }
    return at - scan->at;
}

/* Reads a string. What does not fit in bytes - 1 is dropped and *fits set to false; text NULL drops all. */
static bool read_string(struct json_scan *scan, char *text, size_t bytes, bool *fits)
{
    size_t used = 0;
    *fits = true;
    if (!expect(scan, '"', "a string was expected"))
        return false;
    while (scan->at < scan->size) {
        if (scan->text[scan->at] == '"') {
            scan->at++;
            if (text)
                text[used] = '\0';
            return true;
        }
        char character[4];
        const char *from = scan->text + scan->at;
        size_t length = plain_run(scan);
        scan->at += length;
        if (length == 0) {
            from = character;
            length = string_character(scan, character);
            if (length == 0)
                return false;
        }
        if (text && used + length < bytes) {
            memcpy(text + used, from, length);
            used += length;
        } else {
            *fits = false;
        }
    }
    return json_scan_fail(scan, "it ends too early");
}

bool json_scan_member(struct json_scan *scan, char *key, size_t key_bytes)
{
    bool fits;
    if (!next_item(scan, '}') || !read_string(scan, key, key_bytes, &fits))
        return false;
    if (!fits)
        key[0] = '\0';
    return expect(scan, ':', "a colon was expected");
}

bool json_scan_text(struct json_scan *scan, char *text, size_t bytes)
{
    bool fits;
    if (!read_string(scan, text, bytes, &fits))
        return false;
    return fits ? true : json_scan_fail(scan, "a text is longer than its field");
}

/* A whole number's sign and digits. */
static bool whole_number(struct json_scan *scan, bool *negative, uint64_t *magnitude)
{
    *negative = peek(scan) == '-';
    if (*negative)
        scan->at++;
    size_t start = scan->at;
    uint64_t value = 0;
    while (!scan->failed && scan->at < scan->size) {
        unsigned digit = (unsigned)(unsigned char)scan->text[scan->at] - '0';
        if (digit > 9)
            break;
        if (value > (UINT64_MAX - digit) / 10)
            return json_scan_fail(scan, "a number is too large");
        value = value * 10 + digit;
        scan->at++;
    }
    if (scan->at == start)
        return json_scan_fail(scan, scan->at >= scan->size ? "it ends too early" : "a number was expected");
    if (scan->at - start > 1 && scan->text[start] == '0')
        return json_scan_fail(scan, "a number starts with 0");
    if (scan->at < scan->size && strchr(".eE", scan->text[scan->at]) && scan->text[scan->at])
        return json_scan_fail(scan, "a whole number was expected");
    *magnitude = value;
    return true;
}

bool json_scan_u64(struct json_scan *scan, uint64_t max, uint64_t *value)
{
    bool negative;
    if (!whole_number(scan, &negative, value))
        return false;
    if (negative && *value > 0)
        return json_scan_fail(scan, "a number is negative");
    return *value <= max ? true : json_scan_fail(scan, "a number is too large");
}

bool json_scan_i64(struct json_scan *scan, int64_t *value)
{
    bool negative;
    uint64_t magnitude;
    if (!whole_number(scan, &negative, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX)
        return json_scan_fail(scan, "a number is too large");
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

static bool literal(struct json_scan *scan, const char *word)
{
    size_t length = strlen(word);
    if (scan->size - scan->at < length || memcmp(scan->text + scan->at, word, length) != 0)
        return json_scan_fail(scan, "an unknown word stands here");
    scan->at += length;
    return true;
}

bool json_scan_bool(struct json_scan *scan, bool *value)
{
    char c = peek(scan);
    if (c != 't' && c != 'f')
        return json_scan_fail(scan, scan->at >= scan->size ? "it ends too early" : "true or false was expected");
    *value = c == 't';
    return literal(scan, c == 't' ? "true" : "false");
}

/* Any number of RFC 8259; its value is not wanted. */
static bool skip_number(struct json_scan *scan)
{
    const char *text = scan->text;
    size_t at = scan->at, size = scan->size;
    bool good = true;
    if (at < size && text[at] == '-')
        at++;
    size_t digits = at;
    while (at < size && text[at] >= '0' && text[at] <= '9')
        at++;
    good = at > digits && !(at - digits > 1 && text[digits] == '0');
    if (good && at < size && text[at] == '.') {
        digits = ++at;
        while (at < size && text[at] >= '0' && text[at] <= '9')
            at++;
        good = at > digits;
    }
    if (good && at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < size && (text[at] == '+' || text[at] == '-'))
            at++;
        digits = at;
        while (at < size && text[at] >= '0' && text[at] <= '9')
            at++;
        good = at > digits;
    }
    scan->at = at;
    return good ? true : json_scan_fail(scan, at >= size ? "it ends too early" : "no JSON value stands here");
}

static bool skip_scalar(struct json_scan *scan)
{
    bool fits;
    switch (peek(scan)) {
    case '"':
        return read_string(scan, NULL, 0, &fits);
    case 't':
        return literal(scan, "true");
    case 'f':
        return literal(scan, "false");
    case 'n':
        return literal(scan, "null");
    default:
        return skip_number(scan);
    }
}

bool json_scan_skip(struct json_scan *scan)
{
    char closing[JSON_SCAN_DEPTH];
    size_t depth = 0;
    char key[4];
    do {
        char c = peek(scan);
        if (c == '{' || c == '[') {
            if (depth == JSON_SCAN_DEPTH)
                return json_scan_fail(scan, "it is nested too deep");
            closing[depth++] = c == '{' ? '}' : ']';
            scan->at++;
            scan->first = true;
        } else if (!skip_scalar(scan)) {
            return false;
        }
        /* Go on to the next value, leaving every object and array that ends here. */
        while (depth > 0) {
            bool more = closing[depth - 1] == '}' ? json_scan_member(scan, key, sizeof key) : json_scan_element(scan);
            if (scan->failed)
                return false;
            if (more)
                break;
            depth--;
        }
    } while (depth > 0);
    scan->first = false;
    return !scan->failed;
}

bool json_scan_end(struct json_scan *scan)
{
    (void)peek(scan);
    if (scan->failed)
        return false;
    return scan->at == scan->size ? true : json_scan_fail(scan, "something stands after its end");
}
