/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounds of what a FUSE file system can reach on a machine, for `make bench-peers`:
 *   bound-fs null MOUNTPOINT           files are in this program's memory: what the kernel's FUSE costs, and nothing else
 *   bound-fs echo MOUNTPOINT PORT      the same, but each read and write goes to a server over TCP, as a message and its answer
 *   bound-fs serve PORT                that server, on loopback: it keeps nothing and checks nothing
 * One directory level, no permissions, no times worth the name, no zeros in holes. Runs in the foreground until it is unmounted or told to end.
 * The loop is set up as calf-mount's is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/check.h"
#include "common/scope.h"

enum { NODES = 4096, NAME_BYTES = 256, IO_BYTES = 1 << 20, WORKERS = 256, IDLE = 16, BACKGROUND = 64 };

#define FILE_ROOM ((size_t)1 << 30) /* address space for each file; memory comes with the first write */
#define CACHED_S 1.0

struct node {
    bool used, is_dir;
    fuse_ino_t parent;
    uint64_t opens, names; /* a removed file lives while it is open */
    char name[NAME_BYTES];
    uint8_t *data; /* null only */
    _Atomic uint64_t size;
    struct timespec mtime;
};

static struct node nodes[NODES]; /* by inode number; 1 is the root */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* all of them but data and size */
static bool echoes;
static uint16_t port;

/* ---- the server, and the way to it ---- */

/* What goes before the data of a write, and before a wish to read. */
struct message {
    uint64_t offset;
    uint32_t length, is_write;
};

static int move_all(int fd, struct iovec *pieces, int count, bool out)
{
    while (count) {
        struct msghdr header = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
        ssize_t n = out ? sendmsg(fd, &header, MSG_NOSIGNAL) : recvmsg(fd, &header, MSG_WAITALL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EPIPE;
        for (size_t left = (size_t)n; count && left >= pieces->iov_len; count--)
            left -= pieces++->iov_len, n = (ssize_t)left;
        if (count) {
            pieces->iov_base = (uint8_t *)pieces->iov_base + n;
            pieces->iov_len -= (size_t)n;
        }
    }
    return 0;
}

static int send_all(int fd, const void *head, size_t head_bytes, const void *data, size_t bytes)
{
    struct iovec pieces[] = {{(void *)(uintptr_t)head, head_bytes}, {(void *)(uintptr_t)data, bytes}};
    return move_all(fd, pieces, bytes ? 2 : 1, true);
}

static int receive_all(int fd, void *data, size_t bytes)
{
    struct iovec piece = {data, bytes};
    return move_all(fd, &piece, 1, false);
}

static void *serve_one(void *argument)
{
    int fd = (int)(intptr_t)argument;
    SCOPE_FREE uint8_t *data = check_alloc(calloc(1, IO_BYTES));
    struct message m;
    while (receive_all(fd, &m, sizeof m) == 0 && m.length <= IO_BYTES) {
        int rc = m.is_write ? receive_all(fd, data, m.length) : 0;
        if (rc == 0)
            rc = send_all(fd, &m, sizeof m, data, m.is_write ? 0 : m.length);
        if (rc < 0)
            break;
    }
    (void)close(fd);
    return NULL;
}

static int tcp_socket(struct sockaddr_in *address)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    }
    return fd;
}

static int serve(void)
{
    struct sockaddr_in address;
    int fd = tcp_socket(&address);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 128) < 0) {
        fprintf(stderr, "bound-fs: port %u: %s\n", port, strerror(errno));
        return 1;
    }
    for (;;) {
        pthread_t thread;
        int one = 1, client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        CHECK(pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)client) == 0);
        (void)pthread_detach(thread);
    }
}

/* Each thread has a connection and a buffer of its own, for good. */
static int connection(void)
{
    static _Thread_local int fd = -1;
    struct sockaddr_in address;
    if (fd >= 0)
        return fd;
    int new = tcp_socket(&address);
    if (new >= 0 && connect(new, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd = new;
    if (new >= 0)
        (void)close(new);
    return -EIO;
}

static uint8_t *buffer(void)
{
    static _Thread_local uint8_t *memory;
    if (!memory)
        memory = check_alloc(aligned_alloc(4096, IO_BYTES));
    return memory;
}

static int exchange(uint64_t offset, uint32_t length, const void *out, void *in)
{
    struct message m = {offset, length, out != NULL};
    int fd = connection();
    if (fd < 0)
        return fd;
    int rc = send_all(fd, &m, sizeof m, out, out ? length : 0);
    if (rc == 0)
        rc = receive_all(fd, &m, sizeof m);
    if (rc == 0 && in)
        rc = receive_all(fd, in, length);
    return rc;
}

/* ---- names ---- */

static struct node *node_of(fuse_ino_t ino)
{
    return ino < NODES && nodes[ino].used ? &nodes[ino] : NULL;
}

static void fill_stat(fuse_ino_t ino, struct stat *st)
{
    const struct node *node = &nodes[ino];
    *st = (struct stat){.st_ino = ino,
                        .st_mode = node->is_dir ? S_IFDIR | 0777 : S_IFREG | 0666,
                        .st_nlink = node->is_dir ? 2 : 1,
                        .st_size = (off_t)node->size,
                        .st_blocks = (blkcnt_t)(node->size / 512),
                        .st_blksize = 4096,
                        .st_mtim = node->mtime,
                        .st_ctim = node->mtime};
}

static void reply_entry(fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi)
{
    struct fuse_entry_param entry = {.ino = ino, .attr_timeout = CACHED_S, .entry_timeout = CACHED_S};
    fill_stat(ino, &entry.attr);
    (void)(fi ? fuse_reply_create(req, &entry, fi) : fuse_reply_entry(req, &entry));
}

static fuse_ino_t find_locked(fuse_ino_t parent, const char *name)
{
    for (fuse_ino_t i = 2; i < NODES; i++)
        if (nodes[i].used && nodes[i].names && nodes[i].parent == parent && strcmp(nodes[i].name, name) == 0)
            return i;
    return 0;
}

static fuse_ino_t add_locked(fuse_ino_t parent, const char *name, bool is_dir)
{
    for (fuse_ino_t i = 2; i < NODES; i++) {
        struct node *node = &nodes[i];
        if (node->used)
            continue;
        uint8_t *data = node->data; /* of a file before it; empty */
        *node = (struct node){.used = true, .is_dir = is_dir, .parent = parent, .names = 1, .data = data};
        (void)snprintf(node->name, sizeof node->name, "%s", name);
        (void)clock_gettime(CLOCK_REALTIME, &node->mtime);
        if (!is_dir && !echoes && !data) {
            void *room = mmap(NULL, FILE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            CHECK(room != MAP_FAILED);
            node->data = (uint8_t *)room;
        }
        return i;
    }
    return 0;
}

/* Memory is kept, for the next file of this number: fresh pages would be most of what a write costs. What a hole shows is
 * whatever was there before. */
static void cut(struct node *node, uint64_t size)
{
    node->size = size;
}

static void let_go_locked(struct node *node)
{
    if (node->names || node->opens)
        return;
    cut(node, 0);
    node->used = false;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    SCOPE_UNLOCK(&lock);
    fuse_ino_t ino = find_locked(parent, name);
    if (ino)
        reply_entry(req, ino, NULL);
    else
        (void)fuse_reply_err(req, ENOENT);
}

static void add(fuse_req_t req, fuse_ino_t parent, const char *name, bool is_dir, const struct fuse_file_info *fi)
{
    SCOPE_UNLOCK(&lock);
    fuse_ino_t ino = find_locked(parent, name);
    if (ino && !fi) {
        (void)fuse_reply_err(req, EEXIST);
        return;
    }
    if (!ino)
        ino = add_locked(parent, name, is_dir);
    if (!ino) {
        (void)fuse_reply_err(req, ENOSPC);
        return;
    }
    if (fi)
        nodes[ino].opens++;
    reply_entry(req, ino, fi);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    (void)mode;
    add(req, parent, name, true, NULL);
}

static void on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
    (void)mode;
    add(req, parent, name, false, fi);
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    SCOPE_UNLOCK(&lock);
    fuse_ino_t ino = find_locked(parent, name);
    if (ino) {
        nodes[ino].names = 0;
        let_go_locked(&nodes[ino]);
    }
    (void)fuse_reply_err(req, ino ? 0 : ENOENT);
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *other, unsigned flags)
{
    SCOPE_UNLOCK(&lock);
    fuse_ino_t ino = find_locked(parent, name), old = find_locked(to, other);
    if (!ino || flags) {
        (void)fuse_reply_err(req, ino ? EINVAL : ENOENT);
        return;
    }
    if (old && old != ino) {
        nodes[old].names = 0;
        let_go_locked(&nodes[old]);
    }
    nodes[ino].parent = to;
    (void)snprintf(nodes[ino].name, NAME_BYTES, "%s", other);
    (void)fuse_reply_err(req, 0);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t room, off_t offset, struct fuse_file_info *fi)
{
    SCOPE_FREE char *text = check_alloc(malloc(room));
    size_t used = 0;
    (void)fi;
    SCOPE_UNLOCK(&lock);
    for (fuse_ino_t i = offset < 2 ? 2 : (fuse_ino_t)offset + 1; i < NODES; i++) {
        if (!nodes[i].used || !nodes[i].names || nodes[i].parent != ino)
            continue;
        struct stat st;
        fill_stat(i, &st);
        size_t bytes = fuse_add_direntry(req, text + used, room - used, nodes[i].name, &st, (off_t)i);
        if (bytes > room - used)
            break;
        used += bytes;
    }
    (void)fuse_reply_buf(req, text, used);
}

/* ---- files ---- */

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;
    (void)fi;
    fill_stat(ino, &st);
    (void)fuse_reply_attr(req, &st, CACHED_S);
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int valid, struct fuse_file_info *fi)
{
    if (valid & FUSE_SET_ATTR_SIZE && (uint64_t)attr->st_size > FILE_ROOM) {
        (void)fuse_reply_err(req, EFBIG);
        return;
    }
    if (valid & FUSE_SET_ATTR_SIZE)
        cut(&nodes[ino], (uint64_t)attr->st_size);
    on_getattr(req, ino, fi);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    SCOPE_UNLOCK(&lock);
    struct node *node = node_of(ino);
    if (!node) {
        (void)fuse_reply_err(req, ESTALE);
        return;
    }
    node->opens++;
    if (fi->flags & O_TRUNC)
        cut(node, 0);
    (void)fuse_reply_open(req, fi);
}

static void on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    SCOPE_UNLOCK(&lock);
    (void)fi;
    nodes[ino].opens--;
    let_go_locked(&nodes[ino]);
    (void)fuse_reply_err(req, 0);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset, struct fuse_file_info *fi)
{
    struct node *node = &nodes[ino];
    uint64_t size = node->size, at = (uint64_t)offset;
    (void)fi;
    if (at >= size)
        bytes = 0;
    else if (bytes > size - at)
        bytes = size - at;
    if (!echoes) {
        (void)fuse_reply_buf(req, (const char *)node->data + at, bytes);
        return;
    }
    int rc = bytes ? exchange(at, (uint32_t)bytes, NULL, buffer()) : 0;
    (void)(rc < 0 ? fuse_reply_err(req, -rc) : fuse_reply_buf(req, (const char *)buffer(), bytes));
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t bytes, off_t offset, struct fuse_file_info *fi)
{
    struct node *node = &nodes[ino];
    uint64_t end = (uint64_t)offset + bytes, size = node->size;
    int rc = end > FILE_ROOM ? -EFBIG : 0;
    (void)fi;
    if (rc == 0 && echoes)
        rc = exchange((uint64_t)offset, (uint32_t)bytes, data, NULL);
    else if (rc == 0)
        memcpy(node->data + offset, data, bytes);
    if (rc < 0) {
        (void)fuse_reply_err(req, -rc);
        return;
    }
    while (size < end && !atomic_compare_exchange_weak(&node->size, &size, end)) {
    }
    (void)fuse_reply_write(req, bytes);
}

static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    (void)fi;
    (void)fuse_reply_err(req, 0);
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void)datasync;
    on_flush(req, ino, fi);
}

static void on_statfs(fuse_req_t req, fuse_ino_t ino)
{
    const struct statvfs fs = {.f_bsize = 4096, .f_frsize = 4096, .f_blocks = 1 << 20, .f_bfree = 1 << 20, .f_bavail = 1 << 20,
                               .f_files = NODES, .f_ffree = NODES, .f_namemax = NAME_BYTES - 1};
    (void)ino;
    (void)fuse_reply_statfs(req, &fs);
}

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
    (void)userdata;
    conn->max_write = conn->max_read = IO_BYTES;
    conn->max_background = BACKGROUND;
    conn->congestion_threshold = BACKGROUND * 3 / 4;
    conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
    conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_AUTO_INVAL_DATA |
                              FUSE_CAP_WRITEBACK_CACHE);
}

static int mount_and_run(const char *program, const char *mountpoint)
{
    const struct fuse_lowlevel_ops ops = {
        .init = on_init, .lookup = on_lookup, .getattr = on_getattr, .setattr = on_setattr, .mkdir = on_mkdir,
        .rmdir = on_unlink, .create = on_create, .unlink = on_unlink, .rename = on_rename, .readdir = on_readdir,
        .open = on_open, .release = on_release, .read = on_read, .write = on_write, .flush = on_flush, .fsync = on_fsync,
        .statfs = on_statfs};
    char name[64], o[] = "-o", options[] = "allow_other,max_read=1048576,fsname=bound,subtype=bound";
    (void)snprintf(name, sizeof name, "%s", program);
    char *argv[] = {name, o, options, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, argv);
    nodes[1] = (struct node){.used = true, .is_dir = true, .names = 1};
    struct fuse_session *session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    fuse_opt_free_args(&args);
    if (!session || fuse_set_signal_handlers(session) < 0 || fuse_session_mount(session, mountpoint) < 0)
        return 1;
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    CHECK(config);
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_idle_threads(config, IDLE);
    fuse_loop_cfg_set_max_threads(config, WORKERS);
    int rc = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return rc < 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    echoes = strcmp(what, "echo") == 0;
    if (strcmp(what, "serve") == 0 && argc == 3) {
        port = (uint16_t)strtoul(argv[2], NULL, 10);
        return serve();
    }
    if ((strcmp(what, "null") == 0 && argc == 3) || (echoes && argc == 4)) {
        port = echoes ? (uint16_t)strtoul(argv[3], NULL, 10) : 0;
        return mount_and_run(argv[0], argv[2]);
    }
    fprintf(stderr, "usage: bound-fs null MOUNTPOINT | echo MOUNTPOINT PORT | serve PORT\n");
    return 2;
}
