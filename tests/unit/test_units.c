/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "common/units.h"

static void sizes_with_suffixes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},           {"1", 1},          {"4096", 4096},         {"64k", 65536},      {"64K", 65536},
        {"1m", MIB},        {"2G", 2 * GIB},   {"1t", 1024 * GIB},     {"1MiB", MIB},       {"1mb", MIB},
        {"7kib", 7 * KIB},  {"12b", 12},       {"8388607t", UINT64_C(8388607) << 40},
        {"9223372036854775807", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 77;
        assert_int_equal(units_parse_size(rows[i].text, &bytes), 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void texts_that_are_no_size(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   "k",   "-1",  "+1",   " 1",  "1 ",   "1.5m", "1x",
                                        "1kk", "1kx", "0x10", "1mib ", "mib", "1kibb", "1ki"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t bytes = 77;
        assert_int_equal(units_parse_size(texts[i], &bytes), -EINVAL);
        assert_int_equal(bytes, 77);
    }
}

static void sizes_that_do_not_fit(void **state)
{
    (void)state;
    static const char *const texts[] = {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                                        "8388608t", "9999999999g", "99999999999999999999999k"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t bytes;
        assert_int_equal(units_parse_size(texts[i], &bytes), -ERANGE);
    }
}

static void numbers_and_their_limits(void **state)
{
    (void)state;
    uint64_t n = 77;
    assert_int_equal(units_parse_number("5", 5, 5, &n), 0);
    assert_int_equal(n, 5);
    assert_int_equal(units_parse_number("18446744073709551615", 0, UINT64_MAX, &n), 0);
    assert_true(n == UINT64_MAX);
    n = 77;
    assert_int_equal(units_parse_number("4", 5, 9, &n), -ERANGE);
    assert_int_equal(units_parse_number("10", 5, 9, &n), -ERANGE);
    assert_int_equal(units_parse_number("18446744073709551616", 0, UINT64_MAX, &n), -ERANGE);
    assert_int_equal(units_parse_number("", 0, 9, &n), -EINVAL);
    assert_int_equal(units_parse_number("5 ", 0, 9, &n), -EINVAL);
    assert_int_equal(units_parse_number("-5", 0, 9, &n), -EINVAL);
    assert_int_equal(units_parse_number("5k", 0, 9, &n), -EINVAL);
    assert_int_equal(n, 77);
}

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        uint16_t port;
    } rows[] = {
        {"127.0.0.1:9420", "127.0.0.1", 9420},
        {"master:1", "master", 1},
        {":9", "", 9},
        {"[::1]:65535", "::1", 65535},
        {"[]:0", "", 0},
        {"host:0", "host", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct address address;
        memset(&address, 0xa5, sizeof address);
        assert_int_equal(units_parse_address(rows[i].text, &address), 0);
        assert_string_equal(address.host, rows[i].host);
        assert_int_equal(address.port, rows[i].port);
    }
}

static void texts_that_are_no_address(void **state)
{
    (void)state;
    static const char *const texts[] = {"",       "host",    "host:",     "host:65536", "host:-1",
                                        "::1:9",  "host: 9", "host:9 ",   "host:http",  "[::1]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct address address;
        assert_int_equal(units_parse_address(texts[i], &address), -EINVAL);
    }
    char longest[HOST_LIMIT + 8];
    struct address address;
    memset(longest, 'a', sizeof longest);
    memcpy(longest + HOST_LIMIT, ":9", 3);
    assert_int_equal(units_parse_address(longest, &address), 0);
    assert_int_equal(strlen(address.host), HOST_LIMIT);
    longest[HOST_LIMIT] = 'a';
    memcpy(longest + HOST_LIMIT + 1, ":9", 3);
    assert_int_equal(units_parse_address(longest, &address), -EINVAL);
}

static void sizes_are_printed_as_they_are_written(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0"},           {1, "1"},              {1023, "1023"},  {1024, "1k"},          {1025, "1025"},
        {4096, "4k"},       {MIB, "1024k"},        {2 * MIB, "2048k"}, {8 * MIB, "8m"},       {16 * MIB, "16m"}, {64 * MIB, "64m"},
        {GIB, "1024m"},     {16 * GIB, "16g"},     {MIB + 1, "1048577"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[UNITS_TEXT];
        uint64_t back = 77;
        assert_string_equal(units_format_size(rows[i].bytes, text), rows[i].text);
        assert_int_equal(units_parse_size(text, &back), 0);
        assert_int_equal(back, rows[i].bytes);
    }
}

static void bytes_for_people(void **state)
{
    (void)state;
    char text[UNITS_TEXT];
    assert_string_equal(units_format_bytes(0, text), "0 B");
    assert_string_equal(units_format_bytes(1023, text), "1023 B");
    assert_string_equal(units_format_bytes(1536, text), "1.50 KiB");
    assert_string_equal(units_format_bytes(15 * MIB + MIB / 2, text), "15.5 MiB");
    assert_string_equal(units_format_bytes(512 * GIB, text), "512 GiB");
    assert_string_equal(units_format_bytes(UINT64_MAX, text), "16384 PiB");
}

static void addresses_printed_can_be_parsed(void **state)
{
    (void)state;
    static const char *const texts[] = {"127.0.0.1:9420", "[::1]:80", "master:1", ":9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct address address;
        char text[ADDRESS_TEXT];
        assert_int_equal(units_parse_address(texts[i], &address), 0);
        assert_string_equal(units_format_address(&address, text), texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_with_suffixes),
        cmocka_unit_test(texts_that_are_no_size),
        cmocka_unit_test(sizes_that_do_not_fit),
        cmocka_unit_test(numbers_and_their_limits),
        cmocka_unit_test(addresses),
        cmocka_unit_test(texts_that_are_no_address),
        cmocka_unit_test(sizes_are_printed_as_they_are_written),
        cmocka_unit_test(bytes_for_people),
        cmocka_unit_test(addresses_printed_can_be_parsed),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
