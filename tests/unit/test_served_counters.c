/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "iobench/served_counters.h"

static struct served_counters parse(const char *text)
{
    struct served_counters counters;
    served_counters_parse(text, strlen(text), &counters);
    return counters;
}

static void what_a_mount_answers(void **state)
{
    (void)state;
    struct served_counters c =
        parse("{\"read_bytes\":4096,\"read_requests\":1,\"write_bytes\":9007199254740993,\"write_requests\":3,"
              "\"servers\":2,\"journal\":\"interval\",\"binary_sha256\":\"ab12\",\"client_pid\":77,\"fuse\":\"uring\","
              "\"later\":{\"x\":[1,2.5,null]},\"write_copies\":2}");
    assert_true(c.known);
    assert_int_equal(c.read_bytes, 4096);
    assert_int_equal(c.write_bytes, INT64_C(9007199254740993));
    assert_int_equal(c.write_requests, 3);
    assert_int_equal(c.servers, 2);
    assert_int_equal(c.write_copies, 2);
    assert_string_equal(c.journal_mode, "interval");
    assert_string_equal(c.fuse, "uring");
    assert_string_equal(c.binary_hash, "ab12");
}

static void copies_are_one_unless_said(void **state)
{
    (void)state;
    assert_int_equal(
        parse("{\"read_bytes\":0,\"read_requests\":0,\"write_bytes\":0,\"write_requests\":0}").write_copies, 1);
}

static void anything_else_is_unknown(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "null",
        "{\"read_bytes\":1,\"read_requests\":1,\"write_bytes\":1}",
        "{\"read_bytes\":1,\"read_requests\":1,\"write_bytes\":1,\"write_requests\":1",
        "{\"read_bytes\":-1,\"read_requests\":1,\"write_bytes\":1,\"write_requests\":1}",
        "{\"read_bytes\":\"1\",\"read_requests\":1,\"write_bytes\":1,\"write_requests\":1}",
        "{\"read_bytes\":1,\"read_requests\":1,\"write_bytes\":1,\"write_requests\":1,\"write_copies\":0}",
        "{\"read_bytes\":1,\"read_requests\":1,\"write_bytes\":1,\"write_requests\":1} x",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct served_counters c = parse(texts[i]);
        assert_false(c.known);
        assert_int_equal(c.read_bytes, 0);
    }
}

static void a_directory_without_the_attribute(void **state)
{
    (void)state;
    struct served_counters c;
    served_counters_read("/", &c);
    assert_false(c.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_mount_answers),
        cmocka_unit_test(copies_are_one_unless_said),
        cmocka_unit_test(anything_else_is_unknown),
        cmocka_unit_test(a_directory_without_the_attribute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
