/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fuse_device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/fuse_uring.h"
#include "client/write_memory.h"
#include "common/log.h"
#include "common/scope.h"

/* Newer than the headers may be; numbers of the kernel's FUSE protocol. */
#define KILLPRIV_V2 (1u << 28)
#define INIT_EXTENDED (1u << 30)
#define DIRECT_IO_ALLOW_MMAP_2 (1u << 4) /* bit 36, in flags2 */
#define OVER_IO_URING (1u << 9)          /* bit 41 */
#define WRITE_KILL_SUIDGID (1u << 2)
#define OPEN_KILL_SUIDGID (1u << 0)
#define OPENED_PARALLEL_DIRECT_WRITES (1u << 6)

enum { OPTIONS_BYTES = 256, WRITE_HEADERS_BYTES = sizeof(struct fuse_in_header) + sizeof(struct fuse_write_in) };

/* Of fuse_init_in and fuse_init_out, whose later members are not in every header. */
enum { INIT_IN_FLAGS = 12, INIT_IN_FLAGS2 = 16, INIT_OUT_FLAGS = 12, INIT_OUT_FLAGS2 = 32, INIT_OUT_LEAST = 36 };

static atomic_uint offered, offered2; /* by the kernel in its first request */
static _Atomic uint64_t init_unique;  /* which reply answers that; 0: none waits */
static atomic_bool leaves_suid;
static _Thread_local bool kills_suid, opens;
static struct fuse_session *the_session;
static bool wants_uring;
static _Thread_local const uint8_t *write_data; /* of the request in hand; NULL: where libfuse has it */

static uint32_t load_u32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void add_bits(void *at, uint32_t bits)
{
    uint32_t value = load_u32(at) | bits;
    memcpy(at, &value, sizeof value);
}

/* ---- requests ---- */

static void note_init(const struct fuse_in_header *header, const uint8_t *body, size_t bytes)
{
    if (bytes < INIT_IN_FLAGS + 4)
        return;
    uint32_t flags = load_u32(body + INIT_IN_FLAGS);
    atomic_store(&offered, flags);
    if (flags & INIT_EXTENDED && bytes >= INIT_IN_FLAGS2 + 4)
        atomic_store(&offered2, load_u32(body + INIT_IN_FLAGS2));
    atomic_store(&init_unique, header->unique);
}

void fuse_device_note_request(const uint8_t *data, size_t bytes)
{
    struct fuse_in_header header;
    kills_suid = false;
    opens = false;
    if (bytes < sizeof header)
        return;
    memcpy(&header, data, sizeof header);
    const uint8_t *body = data + sizeof header;
    bytes -= sizeof header;
    switch (header.opcode) {
    case FUSE_INIT:
        note_init(&header, body, bytes);
        break;
    case FUSE_WRITE:
        kills_suid = bytes >= sizeof(struct fuse_write_in) &&
                     load_u32(body + offsetof(struct fuse_write_in, write_flags)) & WRITE_KILL_SUIDGID;
        break;
    case FUSE_OPEN: /* fuse_open_in: flags, open_flags */
        kills_suid = bytes >= 8 && load_u32(body) & O_TRUNC && load_u32(body + 4) & OPEN_KILL_SUIDGID;
        break;
    case FUSE_CREATE: /* fuse_create_in: flags, mode, umask, open_flags */
        kills_suid = bytes >= 16 && load_u32(body) & O_TRUNC && load_u32(body + 12) & OPEN_KILL_SUIDGID;
        break;
    }
}

/* What follows the headers of a write is received where it can stay until a chunkserver has it. Other requests are put together
 * again: names and the like, a few bytes. */
static ssize_t receive(int fd, uint8_t *data, size_t room)
{
    const struct write_memory *memory = write_memory_receive();
    struct iovec pieces[2] = {{data, WRITE_HEADERS_BYTES}};
    write_data = NULL;
    if (!memory || room < WRITE_HEADERS_BYTES + WIRE_IO_LIMIT)
        return read(fd, data, room);
    pieces[1] = (struct iovec){memory->received, WIRE_IO_LIMIT};
    ssize_t n = readv(fd, pieces, 2);
    struct fuse_in_header header;
    if (n <= WRITE_HEADERS_BYTES)
        return n;
    memcpy(&header, data, sizeof header);
    if (header.opcode == FUSE_WRITE)
        write_data = memory->received;
    else
        memcpy(data + WRITE_HEADERS_BYTES, memory->received, (size_t)n - WRITE_HEADERS_BYTES);
    return n;
}

const void *fuse_device_write_data(const void *data)
{
    return write_data ? write_data : data;
}

static ssize_t pass_request(int fd, void *data, size_t room, void *userdata)
{
    (void)userdata;
    ssize_t n = receive(fd, data, room);
    if (n > 0)
        fuse_device_note_request((const uint8_t *)data, (size_t)n);
    return n;
}

/* ---- replies ---- */

/* Whether the kernel is told that requests may come by io_uring. */
static bool offers_uring(void)
{
    if (!wants_uring) {
        log_info("requests come by /dev/fuse (--uring off)");
        return false;
    }
    if (!(atomic_load(&offered2) & OVER_IO_URING)) {
        log_info("requests come by /dev/fuse: the kernel does not offer io_uring (/sys/module/fuse/parameters/enable_uring)");
        return false;
    }
    int rc = fuse_uring_prepare(the_session);
    if (rc < 0)
        log_info("requests come by /dev/fuse: io_uring cannot be used here: %s", strerror(-rc));
    return rc == 0;
}

/* True if it says that requests may come by io_uring. */
static bool extend_init(struct iovec *body)
{
    uint8_t *at = (uint8_t *)body->iov_base;
    if (body->iov_len < INIT_OUT_LEAST)
        return false;
    if (atomic_load(&offered) & KILLPRIV_V2) {
        add_bits(at + INIT_OUT_FLAGS, KILLPRIV_V2);
        atomic_store(&leaves_suid, true);
    }
    uint32_t bits = atomic_load(&offered2) & DIRECT_IO_ALLOW_MMAP_2;
    bool uring = offers_uring();
    if (uring)
        bits |= OVER_IO_URING;
    if (bits) {
        add_bits(at + INIT_OUT_FLAGS, INIT_EXTENDED);
        add_bits(at + INIT_OUT_FLAGS2, bits);
    }
    return uring;
}

static ssize_t send_reply(int fd, const struct iovec *pieces, int count)
{
    const struct fuse_out_header *header = (const struct fuse_out_header *)pieces[0].iov_base;
    return fuse_uring_take_reply(pieces, count) ? (ssize_t)header->len : writev(fd, pieces, count);
}

static ssize_t pass_reply(int fd, struct iovec *pieces, int count, void *userdata)
{
    (void)userdata;
    const struct fuse_out_header *header = (const struct fuse_out_header *)pieces[0].iov_base;
    bool starts_uring = false;
    if (count > 1 && header->error == 0) {
        uint64_t unique = header->unique;
        if (opens && pieces[1].iov_len >= 8) /* fuse_open_out stands last; open_flags and padding end it */
            add_bits((uint8_t *)pieces[1].iov_base + pieces[1].iov_len - 8, OPENED_PARALLEL_DIRECT_WRITES);
        else if (unique && atomic_compare_exchange_strong(&init_unique, &unique, 0))
            starts_uring = extend_init(&pieces[1]);
    }
    opens = false;
    ssize_t n = send_reply(fd, pieces, count);
    if (starts_uring)
        fuse_uring_start();
    return n;
}

/* ---- the mount ---- */

int fuse_device_mount(struct fuse_session *session, const char *mountpoint, const char *source, const char *options, bool uring)
{
    static const struct fuse_custom_io io = {.writev = pass_reply, .read = pass_request};
    char text[OPTIONS_BYTES];
    SCOPE_CLOSE int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int n = snprintf(text, sizeof text, "fd=%d,rootmode=40000,user_id=0,group_id=0,%s", fd, options);
    if (n < 0 || (size_t)n >= sizeof text)
        return -EINVAL;
    if (mount(source, mountpoint, "fuse.calf", 0, text) < 0)
        return -errno;
    int rc = fuse_session_custom_io(session, &io, fd);
    if (rc != 0) {
        (void)umount2(mountpoint, MNT_DETACH);
        return rc < 0 ? rc : -EIO;
    }
    fd = -1;
    the_session = session;
    wants_uring = uring;
    write_memory_enable(); /* shared or not: large delayed writes stay in it */
    return 0;
}

void fuse_device_unmount(struct fuse_session *session, const char *mountpoint)
{
    struct pollfd device = {.fd = fuse_session_fd(session)};
    /* The device reports an error once the mount is gone; what is mounted there now is not ours. */
    if (poll(&device, 1, 0) == 1 && device.revents & POLLERR)
        return;
    (void)umount2(mountpoint, MNT_DETACH);
}

bool fuse_device_kills_suid(void)
{
    return kills_suid;
}

bool fuse_device_leaves_suid(void)
{
    return atomic_load(&leaves_suid);
}

void fuse_device_opens(void)
{
    opens = true;
}
