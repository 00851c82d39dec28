/* SPDX-License-Identifier: Apache-2.0
 *
 * A pull reader of JSON (RFC 8259) over a text in memory, for results too large for a tree: the caller asks for the value it
 * expects and fails where something else stands. Strict: no comments, no trailing commas, UTF-8 only, limited depth. The input
 * may be hostile. The first failure sticks, later calls return false at once. Not thread-safe, does not block.
 *
 *     if (json_scan_object(&s))
 *         while (json_scan_member(&s, key, sizeof key))
 *             if (strcmp(key, "x") == 0) json_scan_u64(&s, max, &x); else json_scan_skip(&s);
 */
#ifndef CALF_IOBENCH_JSON_SCAN_H
#define CALF_IOBENCH_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_SCAN_DEPTH = 32 };

struct json_scan {
    const char *text;
    size_t size, at;
    bool first; /* no member or element of the innermost object or array was read yet */
    bool failed;
    size_t failed_at; /* byte offset */
    const char *why;  /* a constant text: what is wrong */
};

/* The text is kept, not copied; it needs no NUL. */
void json_scan_init(struct json_scan *scan, const char *text, size_t size);

/* Marks the input as wrong at the current place; returns false. why is kept, not copied. */
bool json_scan_fail(struct json_scan *scan, const char *why);

/* Enter an object or an array; false if none stands here. */
bool json_scan_object(struct json_scan *scan);
bool json_scan_array(struct json_scan *scan);

/* The next member's key, its value next to be read; false at the end of the object (which is then left) or after a
 * failure. A key that does not fit is cut, so that it equals no key that fits. */
bool json_scan_member(struct json_scan *scan, char *key, size_t key_bytes);

/* True if another element follows; false at the end of the array (which is then left) or after a failure. */
bool json_scan_element(struct json_scan *scan);

/* Values. Text: NUL-terminated, an embedded NUL or one longer than bytes - 1 is a failure. Numbers: whole, within the
 * limits, written without fraction and exponent. */
bool json_scan_text(struct json_scan *scan, char *text, size_t bytes);
bool json_scan_u64(struct json_scan *scan, uint64_t max, uint64_t *value);
bool json_scan_i64(struct json_scan *scan, int64_t *value);
bool json_scan_bool(struct json_scan *scan, bool *value);

/* Reads over any value. */
bool json_scan_skip(struct json_scan *scan);

/* True if nothing but white space is left. */
bool json_scan_end(struct json_scan *scan);

#endif
