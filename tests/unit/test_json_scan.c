/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON reader against texts that RFC 8259 allows and forbids, compared with another parser, and the writer's strings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <jansson.h>
#include <unistd.h>

#include "iobench/byte_out.h"
#include "iobench/json_scan.h"
#include "tests/unit/synthetic_result.h"

/* From memory of exactly that size, so that a sanitizer sees a byte too far. */
static bool accepts(const char *text, size_t size)
{
    struct json_scan scan;
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    json_scan_init(&scan, copy, size);
    bool good = json_scan_skip(&scan) && json_scan_end(&scan);
    assert_true(good || (scan.failed && scan.why && scan.failed_at <= size));
    free(copy);
    return good;
}

static void allowed_texts_are_read(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"0", "-0", "1.5e+10", " [ ] ", "{}", "[1,2]", "{\"a\":{\"b\":[{},[],null]}}", "true",
                                        "\"\"", "\"\\u0041\\ud83d\\ude00\\/\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"", "[[[[1]]]]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!accepts(texts[i], strlen(texts[i])))
            fail_msg("%s is refused", texts[i]);
}

static void forbidden_texts_are_refused(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"", " ", "01", "-", "1.", ".5", "1e", "+1", "nul", "tru", "[1,]", "[,1]", "[1 2]", "{\"a\"}",
                                        "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "[", "{", "]", "[}", "{]", "\"", "\"\\", "\"\\x\"",
                                        "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\t\"",
                                        "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc3", "1 1", "'a'",
                                        "NaN", "Infinity", "/* */ 1", "\"\\u0000\""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (accepts(texts[i], strlen(texts[i])))
            fail_msg("%s is accepted", texts[i]);
}

/* Random texts from pieces of JSON: what this reader accepts, the other parser accepts too. */
static void another_parser_agrees(void **unused)
{
    (void)unused;
    static const char *const pieces[] = {"{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-2.5e3", "true", "null", " ", "\"\\n\""};
    uint64_t state = 17;
    size_t accepted = 0;
    for (int i = 0; i < 50000; i++) {
        char text[128] = "";
        size_t count = 1 + synthetic_random(&state) % 9;
        for (size_t n = 0; n < count; n++)
            strcat(text, pieces[synthetic_random(&state) % (sizeof pieces / sizeof pieces[0])]);
        json_error_t error;
        json_t *other = json_loads(text, JSON_DECODE_ANY, &error);
        bool good = accepts(text, strlen(text));
        bool overflow = !other && json_error_code(&error) == json_error_numeric_overflow; /* well formed all the same */
        if (good != (other != NULL) && !(good && overflow))
            fail_msg("%s: %s here, %s there", text, good ? "accepted" : "refused", other ? "accepted" : "refused");
        accepted += good;
        json_decref(other);
    }
    assert_true(accepted > 1000);
}

static void values_are_taken_within_their_limits(void **unused)
{
    (void)unused;
    struct json_scan scan;
    char text[8], key[8];
    uint64_t number;
    int64_t whole;
    bool flag;
    static const char json[] = "{\"n\":18446744073709551615, \"i\" : -9223372036854775807,\"t\":\"caf\xc3\xa9\",\"f\":false,"
                               "\"a key too long\":[1, 2]}";
    json_scan_init(&scan, json, sizeof json - 1);
    assert_true(json_scan_object(&scan));
    assert_true(json_scan_member(&scan, key, sizeof key) && strcmp(key, "n") == 0);
    assert_true(json_scan_u64(&scan, UINT64_MAX, &number) && number == UINT64_MAX);
    assert_true(json_scan_member(&scan, key, sizeof key) && json_scan_i64(&scan, &whole) && whole == -INT64_MAX);
    assert_true(json_scan_member(&scan, key, sizeof key) && json_scan_text(&scan, text, sizeof text));
    assert_string_equal(text, "caf\xc3\xa9");
    assert_true(json_scan_member(&scan, key, sizeof key) && json_scan_bool(&scan, &flag) && !flag);
    assert_true(json_scan_member(&scan, key, sizeof key) && key[0] == '\0');
    assert_true(json_scan_array(&scan));
    for (uint64_t i = 1; json_scan_element(&scan); i++)
        assert_true(json_scan_u64(&scan, 2, &number) && number == i);
    assert_false(json_scan_member(&scan, key, sizeof key));
    assert_true(json_scan_end(&scan));

    static const char *const wrong[] = {"18446744073709551616", "-1", "1.0", "1e3", "\"1\"", "", "01"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_scan_init(&scan, wrong[i], strlen(wrong[i]));
        assert_false(json_scan_u64(&scan, UINT64_MAX, &number));
        assert_non_null(scan.why);
    }
    json_scan_init(&scan, "\"12345678\"", 10);
    assert_false(json_scan_text(&scan, text, sizeof text));
    assert_non_null(strstr(scan.why, "longer"));
}

/* Any bytes in a name come back as they were, or as U+FFFD where they were no UTF-8. */
static void written_strings_are_read_back(void **unused)
{
    (void)unused;
    static struct byte_out out;
    uint64_t state = 23;
    for (int i = 0; i < 2000; i++) {
        char text[32], json[512], back[512];
        int ends[2];
        struct json_scan scan;
        size_t length = synthetic_random(&state) % 31;
        for (size_t n = 0; n < length; n++)
            text[n] = (char)(1 + synthetic_random(&state) % (i % 2 ? 127 : 255));
        text[length] = '\0';
        assert_int_equal(pipe(ends), 0);
        byte_out_init(&out, ends[1]);
        byte_out_json_string(&out, text);
        assert_int_equal(byte_out_finish(&out), 0);
        ssize_t size = read(ends[0], json, sizeof json);
        close(ends[0]);
        close(ends[1]);
        assert_true(size > 0);
        json_scan_init(&scan, json, (size_t)size);
        assert_true(json_scan_text(&scan, back, sizeof back) && json_scan_end(&scan));
        if (i % 2)
            assert_string_equal(text, back);
    }
}

static void numbers_and_hash_are_written_exactly(void **unused)
{
    (void)unused;
    static struct byte_out out;
    char text[128] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    byte_out_init(&out, ends[1]);
    assert_true(byte_out_hash(&out) == BYTE_OUT_HASH_START);
    byte_out_text(&out, "foobar");
    assert_true(byte_out_hash(&out) == UINT64_C(0x85944171f73967e8)); /* from the reference vectors of FNV-1a */
    byte_out_u64(&out, UINT64_MAX);
    byte_out_i64(&out, INT64_MIN);
    byte_out_u64(&out, 0);
    byte_out_csv_field(&out, "a,\"b\"");
    assert_int_equal(byte_out_finish(&out), 0);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_string_equal(text, "foobar18446744073709551615-92233720368547758080\"a,\"\"b\"\"\"");
    close(ends[0]);
    byte_out_init(&out, -1);
    byte_out_text(&out, "x");
    assert_true(byte_out_finish(&out) < 0);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowed_texts_are_read),
        cmocka_unit_test(forbidden_texts_are_refused),
        cmocka_unit_test(another_parser_agrees),
        cmocka_unit_test(values_are_taken_within_their_limits),
        cmocka_unit_test(written_strings_are_read_back),
        cmocka_unit_test(numbers_and_hash_are_written_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
