/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "iobench/mount_table.h"
#include "scratch_dir.h"

static const char table[] =
    "1 0 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "2 1 0:5 / /proc rw - proc proc rw\n"
    "30 1 0:40 / /run rw,nosuid shared:3 - tmpfs tmpfs rw,size=100k\n"
    "31 30 0:41 / /run/calf/bare/mnt rw,relatime shared:4 master:1 - fuse.calf bare:7100 rw,user_id=0\n"
    "32 1 0:42 / /with\\040blank rw - xfs /dev/b\\134c rw\n"
    "33 1 0:43 / /over rw - ext4 /dev/first rw\n"
    "34 33 0:44 / /over rw - tmpfs second rw\n"
    "a line that is none\n"
    "35 1 0:45 / /nodash rw ext4 /dev/x rw\n";

static char dir[SCRATCH_PATH], path[2 * SCRATCH_PATH];

static void expect(const char *directory, const char *point, const char *type, const char *source)
{
    struct mount_entry entry;
    assert_int_equal(mount_table_find(path, directory, &entry), 0);
    assert_string_equal(entry.point, point);
    assert_string_equal(entry.fs_type, type);
    assert_string_equal(entry.source, source);
}

static void the_innermost_mount_counts(void **state)
{
    (void)state;
    expect("/", "/", "ext4", "/dev/vda");
    expect("/home/x", "/", "ext4", "/dev/vda");
    expect("/run/calf/bare/mnt", "/run/calf/bare/mnt", "fuse.calf", "bare:7100");
    expect("/run/calf/bare/mnt/a/b", "/run/calf/bare/mnt", "fuse.calf", "bare:7100");
    expect("/run/calf/bare/mnt2", "/run", "tmpfs", "tmpfs");
    expect("/runner", "/", "ext4", "/dev/vda");
}

static void odd_names_and_covered_mounts(void **state)
{
    (void)state;
    expect("/with blank/x", "/with blank", "xfs", "/dev/b\\c");
    expect("/over", "/over", "tmpfs", "second");
    expect("/nodash", "/", "ext4", "/dev/vda");
}

static void a_missing_table_is_an_error(void **state)
{
    (void)state;
    struct mount_entry entry;
    assert_int_equal(mount_table_find("/nonexistent/table", "/", &entry), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_mount_counts),
        cmocka_unit_test(odd_names_and_covered_mounts),
        cmocka_unit_test(a_missing_table_is_an_error),
    };
    scratch_make(dir);
    (void)scratch_path(dir, "mountinfo", path);
    if (scratch_write(dir, "mountinfo", table, strlen(table)) < 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove(dir);
    return failed;
}
