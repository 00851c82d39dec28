/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: renames of every kind, directories that change while they are read, many at once, what is not supported.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "posix_cases.h"

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    MUST(fd >= 0);
    SAME(close(fd), 0);
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* One mount renames a directory that the other knows under its old name. */
static void create_under_an_old_name(const struct place *at)
{
    for (int i = 0; i < 20; i++) {
        SAME(mkdir(posix_path(at->a, "old"), 0755), 0);
        touch(posix_path(at->a, "old/known"));
        MUST(is_there(posix_path(at->a, "old/known")));
        int dir = open(posix_path(at->a, "old"), O_RDONLY | O_DIRECTORY);
        SAME(rename(posix_path(at->b, "old"), posix_path(at->b, "new")), 0);
        FAILS(open(posix_path(at->a, "old/lost"), O_WRONLY | O_CREAT, 0644), ENOENT);
        FAILS(mkdir(posix_path(at->a, "old/lost"), 0755), ENOENT);
        int fd = openat(dir, "found", O_WRONLY | O_CREAT, 0644); /* through the directory itself: where it is now */
        MUST(fd >= 0);
        SAME(close(fd), 0);
        MUST(is_there(posix_path(at->b, "new/found")));
        touch(posix_path(at->a, "new/too"));
        SAME(unlink(posix_path(at->b, "new/too")), 0);
        SAME(unlink(posix_path(at->a, "new/found")), 0);
        SAME(unlink(posix_path(at->b, "new/known")), 0);
        SAME(rmdir(posix_path(at->a, "new")), 0);
        SAME(close(dir), 0);
    }
}

static void rename_onto_a_full_directory(const struct place *at)
{
    SAME(mkdir(posix_path(at->a, "from"), 0755), 0);
    SAME(mkdir(posix_path(at->a, "to"), 0755), 0);
    touch(posix_path(at->a, "from/x"));
    touch(posix_path(at->a, "to/y"));
    FAILS(rename(posix_path(at->a, "from"), posix_path(at->a, "to")), ENOTEMPTY);
    MUST(is_there(posix_path(at->b, "from/x")) && is_there(posix_path(at->b, "to/y")));
    FAILS(rename(posix_path(at->a, "from"), posix_path(at->a, "to/y")), ENOTDIR);
    FAILS(rename(posix_path(at->a, "from/x"), posix_path(at->a, "to")), EISDIR);
    FAILS(rename(posix_path(at->a, "from"), posix_path(at->a, "from/sub")), EINVAL);
    FAILS(rmdir(posix_path(at->a, "to")), ENOTEMPTY);
    SAME(unlink(posix_path(at->a, "to/y")), 0);
    SAME(rename(posix_path(at->a, "from"), posix_path(at->a, "to")), 0);
    MUST(is_there(posix_path(at->b, "to/x")) && !is_there(posix_path(at->b, "from")));
}

static void write_after_rename(const struct place *at)
{
    int fd = posix_open(at, posix_path(at->a, "one"), 0);
    posix_write(fd, 0, 5000, 1);
    SAME(rename(posix_path(at->a, "one"), posix_path(at->a, "two")), 0);
    posix_write(fd, 100, 4000, 2);
    SAME(close(fd), 0);
    fd = posix_open(at, posix_path(at->b, "two"), 0);
    posix_expect(fd, 0, 100, 1);
    posix_expect(fd, 100, 4000, 2);
    posix_expect(fd, 4100, 900, 1);
    SAME(mkdir(posix_path(at->a, "d"), 0755), 0);
    SAME(rename(posix_path(at->a, "d"), posix_path(at->a, "e")), 0);
    touch(posix_path(at->a, "e/x"));
    MUST(is_there(posix_path(at->b, "e/x")));
}

static void rename_flags(const struct place *at)
{
    struct stat one, two, st;
    char a[600], b[600], dir[600];
    (void)snprintf(a, sizeof a, "%s/a", at->a);
    (void)snprintf(b, sizeof b, "%s/b", at->a);
    (void)snprintf(dir, sizeof dir, "%s/dir", at->a);
    touch(a);
    touch(b);
    SAME(mkdir(dir, 0755), 0);
    SAME(stat(a, &one), 0);
    SAME(stat(b, &two), 0);
    FAILS(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE), EEXIST);
    SAME(renameat2(AT_FDCWD, a, AT_FDCWD, posix_path(at->a, "c"), RENAME_NOREPLACE), 0);
    SAME(renameat2(AT_FDCWD, posix_path(at->a, "c"), AT_FDCWD, a, RENAME_NOREPLACE), 0);
    SAME(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), 0);
    SAME(stat(posix_path(at->b, "a"), &st), 0);
    SAME(st.st_ino, two.st_ino);
    SAME(stat(posix_path(at->b, "b"), &st), 0);
    SAME(st.st_ino, one.st_ino);
    SAME(renameat2(AT_FDCWD, a, AT_FDCWD, dir, RENAME_EXCHANGE), 0); /* a file and a directory */
    SAME(stat(posix_path(at->b, "a"), &st), 0);
    MUST(S_ISDIR(st.st_mode));
    FAILS(renameat2(AT_FDCWD, a, AT_FDCWD, posix_path(at->a, "none"), RENAME_EXCHANGE), ENOENT);
    FAILS(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE | RENAME_NOREPLACE), EINVAL);
}

/* ---- reading directories ---- */

enum { MANY = 700 };

static void make_many(const char *dir)
{
    char name[40];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "file-%05d", i);
        touch(posix_path(dir, name));
    }
}

/* Removed while it is read, as rm -r does, through either mount: each name comes once, none is left. */
static void remove_while_reading(const struct place *at)
{
    for (int other = 0; other < 2; other++) {
        char dir[600], copy[600], name[300];
        (void)snprintf(dir, sizeof dir, "%s/%s", at->a, other ? "e" : "d");
        (void)snprintf(copy, sizeof copy, "%s/%s", other ? at->b : at->a, other ? "e" : "d");
        SAME(mkdir(dir, 0755), 0);
        make_many(dir);
        DIR *stream = opendir(dir);
        MUST(stream);
        int removed = 0;
        for (struct dirent *entry; (entry = readdir(stream));) {
            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(name, sizeof name, "%s", entry->d_name);
            SAME(unlink(posix_path(copy, name)), 0);
            removed++;
        }
        SAME(removed, MANY);
        SAME(closedir(stream), 0);
        SAME(rmdir(copy), 0);
    }
}

/* A place in a directory stays what it was while others come and go. */
static void places_in_a_directory(const struct place *at)
{
    long places[MANY + 2];
    char names[MANY + 2][30], name[40];
    int count = 0;
    make_many(at->a);
    DIR *stream = opendir(at->b);
    MUST(stream);
    for (struct dirent *entry;; count++) {
        places[count < MANY + 2 ? count : MANY + 1] = telldir(stream);
        entry = readdir(stream);
        if (!entry)
            break;
        MUST(count < MANY + 2);
        MUST(strlen(entry->d_name) < sizeof names[0]);
        strcpy(names[count], entry->d_name);
    }
    SAME(count, MANY + 2);
    for (int i = 0; i < MANY; i += 3) { /* every third goes, and others come */
        (void)snprintf(name, sizeof name, "file-%05d", i);
        SAME(unlink(posix_path(at->a, name)), 0);
        (void)snprintf(name, sizeof name, "new-%05d", i);
        touch(posix_path(at->a, name));
    }
    for (int i = 2; i < MANY; i += 37) {
        seekdir(stream, places[i]);
        struct dirent *entry = readdir(stream);
        int at_index = i;
        while (strncmp(names[at_index], "file-", 5) == 0 && atoi(names[at_index] + 5) % 3 == 0)
            at_index++; /* that one is gone: the next that is there */
        MUST(entry);
        MUST(strcmp(entry->d_name, names[at_index]) == 0);
    }
    rewinddir(stream);
    for (count = 0; readdir(stream);)
        count++;
    SAME(count, MANY + 2);
    SAME(closedir(stream), 0);
}

/* What stat(2) says of the files that come next, after they were changed while somebody reads their directory. */
static void listed_while_changed(const struct place *at)
{
    struct stat st;
    make_many(at->a);
    DIR *stream = opendir(at->a);
    MUST(stream);
    int seen = 0, gone = 0;
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (entry->d_name[0] == '.')
            continue;
        int number = atoi(entry->d_name + 5);
        int rc = fstatat(dirfd(stream), entry->d_name, &st, 0);
        if (number % 50 == 49 && rc < 0) {
            SAME(errno, ENOENT); /* it may have been read before it went */
            gone++;
        } else {
            SAME(rc, 0);
            SAME(st.st_size, seen && number % 7 == 0 ? 5 : 0);
            SAME(st.st_mode & 0777, seen && number % 7 == 0 ? 0600 : 0644);
        }
        if (seen++ > 0)
            continue;
        MUST(number == 0);
        for (int i = 1; i < MANY; i++) { /* the first of them has been looked at */
            char name[40];
            (void)snprintf(name, sizeof name, "file-%05d", i);
            if (i % 50 == 49)
                SAME(unlink(posix_path(at->b, name)), 0);
            if (i % 50 == 49 || i % 7)
                continue;
            int fd = open(posix_path(at->b, name), O_WRONLY);
            SAME(write(fd, "12345", 5), 5);
            SAME(close(fd), 0);
            SAME(chmod(posix_path(at->b, name), 0600), 0);
        }
    }
    MUST(seen <= MANY && seen >= MANY - MANY / 50);
    MUST(gone <= MANY / 50);
    SAME(closedir(stream), 0);
}

/* ---- many at once ---- */

static void make_and_remove(const struct place *at, int number)
{
    char own[40];
    (void)snprintf(own, sizeof own, "d-%d", number);
    const char *dir = number & 1 ? at->b : at->a;
    for (int i = 0; i < 150; i++) {
        SAME(mkdir(posix_path(dir, own), 0755), 0);
        if (mkdir(posix_path(dir, "common"), 0755) < 0)
            SAME(errno, EEXIST);
        if (rmdir(posix_path(dir, "common")) < 0)
            SAME(errno, ENOENT);
        SAME(rmdir(posix_path(dir, own)), 0);
    }
}

static void directory_storm(const struct place *at)
{
    pid_t children[4];
    for (int i = 0; i < 4; i++)
        children[i] = posix_fork(make_and_remove, at, i);
    for (int i = 0; i < 4; i++)
        posix_join(children[i]);
}

static const char *storm_dirs[2];

static void *change_names(void *argument)
{
    unsigned seed = (unsigned)(intptr_t)argument;
    const char *dir = storm_dirs[seed & 1];
    char one[40], two[40];
    for (int i = 0; i < 250; i++) {
        (void)snprintf(one, sizeof one, "n%d", rand_r(&seed) % 6);
        (void)snprintf(two, sizeof two, "n%d", rand_r(&seed) % 6);
        int fd = -1, rc = 0;
        switch (rand_r(&seed) % 7) {
        case 0:
            rc = fd = open(posix_path(dir, one), O_RDWR | O_CREAT, 0644);
            break;
        case 1:
            rc = unlink(posix_path(dir, one));
            break;
        case 2:
            rc = rename(posix_path(dir, one), posix_path(dir, two));
            break;
        case 3:
            rc = link(posix_path(dir, one), posix_path(dir, two));
            break;
        case 4:
            rc = chmod(posix_path(dir, one), 0600);
            break;
        case 5:
            rc = truncate(posix_path(dir, one), rand_r(&seed) % 10000);
            break;
        default:
            rc = fd = open(posix_path(dir, one), O_RDONLY);
        }
        MUST(rc >= 0 || errno == ENOENT || errno == EEXIST);
        if (fd >= 0)
            SAME(close(fd), 0);
    }
    return NULL;
}

/* Every call ends with what POSIX allows. */
static void name_storm(const struct place *at)
{
    pthread_t threads[8];
    storm_dirs[0] = at->a;
    storm_dirs[1] = at->b;
    for (intptr_t i = 0; i < 8; i++)
        SAME(pthread_create(&threads[i], NULL, change_names, (void *)i), 0);
    for (int i = 0; i < 8; i++)
        SAME(pthread_join(threads[i], NULL), 0);
}

static void replace_again_and_again(const struct place *at, int number)
{
    char name[40];
    (void)snprintf(name, sizeof name, "t-%d", number);
    for (int i = 0; i < 100; i++) {
        int fd = open(posix_path(number & 1 ? at->b : at->a, name), O_WRONLY | O_CREAT | O_EXCL, 0644);
        SAME(write(fd, "whole\n", 6), 6);
        SAME(close(fd), 0);
        SAME(rename(posix_path(number & 1 ? at->b : at->a, name), posix_path(number & 1 ? at->b : at->a, "name")), 0);
    }
}

/* The kernel looks a name up and opens what it found, which may have been replaced in between: there always is such a name. */
static void read_again_and_again(const struct place *at, int number)
{
    char data[10];
    for (int i = 0; i < 200; i++) {
        int fd = open(posix_path(number & 1 ? at->b : at->a, "name"), O_RDONLY);
        MUST(fd >= 0);
        SAME(read(fd, data, sizeof data), 6);
        SAME(close(fd), 0);
    }
}

static void replaced_while_opened(const struct place *at)
{
    pid_t children[6];
    replace_again_and_again(at, 100);
    for (int i = 0; i < 6; i++)
        children[i] = posix_fork(i < 3 ? replace_again_and_again : read_again_and_again, at, i);
    for (int i = 0; i < 6; i++)
        posix_join(children[i]);
}

/* ---- the rest ---- */

static void removed_working_directory(const struct place *at)
{
    struct stat st;
    for (int other = 0; other < 2; other++) {
        char dir[600];
        (void)snprintf(dir, sizeof dir, "%s/d", at->a);
        SAME(mkdir(dir, 0755), 0);
        SAME(chdir(dir), 0);
        SAME(rmdir(posix_path(other ? at->b : at->a, "d")), 0);
        FAILS(open("x", O_WRONLY | O_CREAT, 0644), ENOENT);
        FAILS(mkdir("x", 0755), ENOENT);
        FAILS(open("none", O_RDONLY), ENOENT);
        FAILS(rename("x", "y"), ENOENT);
        if (stat(".", &st) < 0)
            SAME(errno, ENOENT);
        DIR *stream = opendir(".");
        if (stream) {
            int count = 0;
            errno = 0;
            for (struct dirent *entry; (entry = readdir(stream));)
                count += entry->d_name[0] != '.';
            SAME(count, 0);
            MUST(errno == 0 || errno == ENOENT);
            (void)closedir(stream);
        } else {
            SAME(errno, ENOENT);
        }
        if (chmod(".", 0700) < 0)
            SAME(errno, ENOENT);
        SAME(chdir("/"), 0);
    }
}

static void special_files(const struct place *at)
{
    struct stat st;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    SAME(mkfifo(posix_path(at->a, "fifo"), 0640), 0);
    SAME(stat(posix_path(at->b, "fifo"), &st), 0);
    MUST(S_ISFIFO(st.st_mode) && (st.st_mode & 0777) == 0640);
    int fd = open(posix_path(at->a, "fifo"), O_RDWR | O_NONBLOCK);
    SAME(write(fd, "x", 1), 1);
    SAME(close(fd), 0);
    SAME(mknod(posix_path(at->a, "null"), S_IFCHR | 0666, makedev(1, 3)), 0);
    SAME(stat(posix_path(at->b, "null"), &st), 0);
    MUST(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
    SAME(mknod(posix_path(at->a, "block"), S_IFBLK | 0600, makedev(7, 4000)), 0);
    SAME(stat(posix_path(at->b, "block"), &st), 0);
    MUST(S_ISBLK(st.st_mode) && st.st_rdev == makedev(7, 4000));
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    SAME(chdir(at->a), 0);
    strcpy(address.sun_path, "socket");
    SAME(bind(sock, (struct sockaddr *)&address, sizeof address), 0);
    SAME(listen(sock, 1), 0);
    SAME(stat(posix_path(at->b, "socket"), &st), 0);
    MUST(S_ISSOCK(st.st_mode));
    int other = socket(AF_UNIX, SOCK_STREAM, 0);
    SAME(connect(other, (struct sockaddr *)&address, sizeof address), 0);
}

/* Access control lists are not kept, and every way to ask says so. */
static void no_access_lists(const struct place *at)
{
    static const char *const names[] = {"system.posix_acl_access", "system.posix_acl_default", "system.other"};
    const unsigned char acl[] = {2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 4, 0, 255, 255, 255, 255,
                                 32, 0, 4, 0, 255, 255, 255, 255};
    char value[100];
    for (int i = 0; i < 3; i++) {
        FAILS(setxattr(at->a, names[i], acl, sizeof acl, 0), EOPNOTSUPP);
        FAILS(getxattr(at->a, names[i], value, sizeof value), EOPNOTSUPP);
        FAILS(removexattr(at->a, names[i]), EOPNOTSUPP);
    }
    SAME(setxattr(at->a, "user.name", "value", 5, XATTR_CREATE), 0);
    FAILS(setxattr(at->a, "user.name", "value", 5, XATTR_CREATE), EEXIST);
    FAILS(setxattr(at->a, "user.none", "value", 5, XATTR_REPLACE), ENODATA);
    SAME(getxattr(at->b, "user.name", value, sizeof value), 5);
    FAILS(getxattr(at->b, "user.name", value, 4), ERANGE);
    SAME(listxattr(at->b, value, sizeof value), 10);
    SAME(removexattr(at->b, "user.name"), 0);
    FAILS(removexattr(at->a, "user.name"), ENODATA);
    SAME(listxattr(at->a, value, sizeof value), 0);
}

const struct posix_case posix_name_cases[] = {
    {"create_under_an_old_name", create_under_an_old_name, false},
    {"rename_onto_a_full_directory", rename_onto_a_full_directory, false},
    {"write_after_rename", write_after_rename, false},
    {"rename_flags", rename_flags, false},
    {"remove_while_reading", remove_while_reading, false},
    {"places_in_a_directory", places_in_a_directory, false},
    {"listed_while_changed", listed_while_changed, false},
    {"directory_storm", directory_storm, false},
    {"name_storm", name_storm, false},
    {"replaced_while_opened", replaced_while_opened, false},
    {"removed_working_directory", removed_working_directory, false},
    {"special_files", special_files, false},
    {"no_access_lists", no_access_lists, false},
    {NULL, NULL, false},
};
