/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <string.h>

#include "client/fuse_uring_entry.h"

/* As the kernel sees it: two headers of 128 bytes, then flags, number, bytes of payload. */
static uint8_t *headers(const struct fuse_uring_entry *entry)
{
    return entry->pieces[0].iov_base;
}

static uint32_t *payload_bytes(const struct fuse_uring_entry *entry)
{
    return (uint32_t *)(void *)(headers(entry) + 256 + 16);
}

static void leave_request(struct fuse_uring_entry *entry, uint64_t unique, const char *operation, const char *payload)
{
    struct fuse_in_header header = {.len = (uint32_t)(sizeof header + strlen(operation) + strlen(payload)), .unique = unique};
    memcpy(headers(entry), &header, sizeof header);
    memcpy(headers(entry) + 128, operation, strlen(operation));
    memcpy(entry->pieces[1].iov_base, payload, strlen(payload));
    *payload_bytes(entry) = (uint32_t)strlen(payload);
}

static void a_request_becomes_one_piece(void **state)
{
    (void)state;
    struct fuse_uring_entry *entry = fuse_uring_entry_create(NULL);
    size_t bytes = 0;
    assert_int_equal(entry->pieces[0].iov_len, 288);
    leave_request(entry, 77, "operation", "name and data");
    const char *request = fuse_uring_entry_request(entry, &bytes);
    assert_int_equal(bytes, sizeof(struct fuse_in_header) + 9 + 13);
    assert_memory_equal(request + sizeof(struct fuse_in_header), "operationname and data", 22);
    assert_int_equal(entry->unique, 77);
    assert_null(fuse_uring_entry_room(entry)); /* its data would be overwritten */
    leave_request(entry, 78, "operation", "");
    assert_non_null(fuse_uring_entry_request(entry, &bytes));
    assert_ptr_equal(fuse_uring_entry_room(entry), entry->pieces[1].iov_base);
    fuse_uring_entry_destroy(entry);
}

static void a_request_that_makes_no_sense_is_none(void **state)
{
    (void)state;
    struct fuse_uring_entry *entry = fuse_uring_entry_create(NULL);
    struct fuse_in_header header = {.len = sizeof header, .unique = 5};
    size_t bytes;
    memcpy(headers(entry), &header, sizeof header);
    *payload_bytes(entry) = 1;
    assert_null(fuse_uring_entry_request(entry, &bytes));
    *payload_bytes(entry) = 0;
    header.len = sizeof header + 129;
    memcpy(headers(entry), &header, sizeof header);
    assert_null(fuse_uring_entry_request(entry, &bytes));
    *payload_bytes(entry) = UINT32_MAX;
    assert_null(fuse_uring_entry_request(entry, &bytes));
    fuse_uring_entry_destroy(entry);
}

static void a_reply_lies_where_the_kernel_takes_it(void **state)
{
    (void)state;
    struct fuse_uring_entry *entry = fuse_uring_entry_create(NULL);
    struct fuse_out_header header = {.len = sizeof header + 9, .unique = 77}, seen;
    char *payload = entry->pieces[1].iov_base, one[] = "four", two[] = "fives";
    const struct iovec pieces[] = {{&header, sizeof header}, {one, 4}, {two, 5}};
    fuse_uring_entry_reply(entry, pieces, 3);
    assert_true(entry->replied);
    assert_memory_equal(payload, "fourfives", 9);
    assert_int_equal(*payload_bytes(entry), 9);
    /* Data that was read into the entry itself, from its beginning or further on. */
    memcpy(payload, "0123456789", 10);
    const struct iovec shifted[] = {{&header, sizeof header}, {payload + 1, 9}};
    fuse_uring_entry_reply(entry, shifted, 2);
    assert_memory_equal(payload, "123456789", 9);
    entry->unique = 77;
    fuse_uring_entry_fail(entry, -EIO);
    memcpy(&seen, headers(entry), sizeof seen);
    assert_int_equal(seen.error, -EIO);
    assert_int_equal(seen.unique, 77);
    assert_int_equal(*payload_bytes(entry), 0);
    fuse_uring_entry_destroy(entry);
}

static void *reply_to_all(void *argument)
{
    (void)argument;
    struct fuse_out_header header = {.len = sizeof header};
    const struct iovec pieces[] = {{&header, sizeof header}};
    for (header.unique = 13; header.unique >= 11; header.unique--)
        assert_true(fuse_uring_entry_reply_aside(pieces, 1));
    return NULL;
}

static void replies_of_other_threads_find_their_entry(void **state)
{
    (void)state;
    struct fuse_uring_entry *entries[3];
    struct fuse_out_header header = {.len = sizeof header, .unique = 99};
    const struct iovec pieces[] = {{&header, sizeof header}};
    pthread_t thread;
    size_t bytes;
    for (unsigned i = 0; i < 3; i++) {
        entries[i] = fuse_uring_entry_create(NULL);
        leave_request(entries[i], 11 + i, "", "");
        assert_non_null(fuse_uring_entry_request(entries[i], &bytes));
        fuse_uring_entry_put_aside(entries[i]);
    }
    assert_false(fuse_uring_entry_reply_aside(pieces, 1)); /* nobody's */
    assert_int_equal(pthread_create(&thread, NULL, reply_to_all, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        fuse_uring_entry_wait(entries[i]);
        memcpy(&header, headers(entries[i]), sizeof header);
        assert_int_equal(header.unique, 11 + i);
        assert_false(entries[i]->aside);
        assert_false(fuse_uring_entry_reply_aside(pieces, 1));
        fuse_uring_entry_destroy(entries[i]);
    }
    (void)pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_becomes_one_piece),
        cmocka_unit_test(a_request_that_makes_no_sense_is_none),
        cmocka_unit_test(a_reply_lies_where_the_kernel_takes_it),
        cmocka_unit_test(replies_of_other_threads_find_their_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
