/* SPDX-License-Identifier: Apache-2.0 */
#include "client/read_path.h"

#include <errno.h>
#include <string.h>

#include "client/fs_state.h"
#include "client/retry.h"
#include "client/thread_buffer.h"
#include "common/check.h"
#include "common/log.h"
#include "common/scope.h"

/* ---- where ---- */

int read_path_refresh(struct fs *fs, struct open_file *file)
{
    struct master_call call;
    union wire_any request = {.getattr = {.ino = file->ino}};
    int rc = master_session_call(fs->session, MASTER_ANY_GENERATION, WIRE_TYPE_getattr, &request, &call);
    if (rc < 0)
        return rc;
    struct wire_attr attr = call.reply.getattr_reply.attr;
    master_session_finish(fs->session, &call);
    open_file_learn(file, &attr);
    return 0;
}

static void take_servers(struct fs *fs, struct wire_list list, struct chunk_location *location)
{
    struct wire_server place;
    location->count = 0;
    while (wire_next_server(&list, &place)) {
        struct chunk_server *server = chunk_connections_server(fs->connections, &place);
        if (server && location->count < WIRE_COPIES_LIMIT)
            location->servers[location->count++] = server;
    }
}

static bool known_location(struct open_file *file, uint32_t index, struct chunk_location *location)
{
    SCOPE_UNLOCK(&file->lock);
    const struct chunk_entry *entry = chunk_locations_find(&file->locations, index);
    if (!entry || !entry->usable)
        return false;
    *location = entry->location;
    return true;
}

/* A location that came after the length was cut belongs to the file as it is now; one that was asked for before may not. */
static void keep_location(struct open_file *file, uint32_t index, const struct chunk_location *location, uint32_t size_epoch)
{
    SCOPE_UNLOCK(&file->lock);
    const struct chunk_entry *entry = chunk_locations_find(&file->locations, index);
    if (file->attr.size_epoch == size_epoch && !(entry && entry->leased))
        (void)chunk_locations_put(&file->locations, index, location, false);
}

int read_path_locate(struct fs *fs, struct open_file *file, uint32_t index, struct chunk_location *location)
{
    if (known_location(file, index, location))
        return 0;
    uint32_t size_epoch = open_file_attr(file).size_epoch;
    struct master_call call;
    union wire_any request = {.chunk_locate = {.ino = file->ino, .index = index}};
    int rc = master_session_call(fs->session, MASTER_ANY_GENERATION, WIRE_TYPE_chunk_locate, &request, &call);
    if (rc < 0)
        return rc;
    const struct wire_chunk_locate_reply *reply = &call.reply.chunk_locate_reply;
    *location = (struct chunk_location){
        .chunk_id = reply->chunk_id, .version = reply->version, .create = reply->absent_ok != 0};
    take_servers(fs, reply->servers, location);
    master_session_finish(fs->session, &call);
    if (location->chunk_id && location->count && !location->create)
        keep_location(file, index, location, size_epoch);
    return 0;
}

/* ---- one chunk ---- */

/* From one copy. A mismatch may be a write that passed by while the server read, so it is read again, and then with the server
 * itself verifying under its lock. */
static int read_copy(struct chunk_server *server, struct wire_chunk_read *request, uint8_t *into)
{
    request->verify = 0;
    int rc = chunk_connections_read(server, request, into);
    if (rc == -EILSEQ)
        rc = chunk_connections_read(server, request, into);
    if (rc == -EILSEQ) {
        request->verify = 1;
        rc = chunk_connections_read(server, request, into);
    }
    return rc == -EILSEQ ? -EUCLEAN : rc;
}

/* From the copies of a location in turn, the first one chosen by the index so that the load is spread. 0; -EUCLEAN: every
 * copy is damaged; or the last other error. */
static int read_copies(const struct chunk_location *location, uint32_t index, struct wire_chunk_read *request, uint8_t *into)
{
    int result = location->count ? -EUCLEAN : -EHOSTUNREACH;
    for (uint32_t i = 0; i < location->count; i++) {
        int rc = read_copy(location->servers[(index + i) % location->count], request, into);
        if (rc == 0)
            return 0;
        if (rc != -EUCLEAN)
            result = rc;
    }
    return result;
}

/* Whole blocks [offset, offset + bytes) of one chunk. */
static int read_chunk(struct fs *fs, struct open_file *file, uint32_t index, uint32_t offset, uint32_t bytes, uint8_t *into)
{
    struct retry retry;
    bool was_damaged = false;
    retry_start(&retry, fs->retry_ns);
    for (;;) {
        struct chunk_location location;
        int rc = read_path_locate(fs, file, index, &location);
        if (rc < 0)
            return rc;
        if (location.chunk_id == 0) {
            memset(into, 0, bytes);
            return 0;
        }
        struct wire_chunk_read request = {.chunk_id = location.chunk_id,
                                          .version = location.version,
                                          .absent_ok = location.create,
                                          .offset = offset,
                                          .length = bytes};
        rc = read_copies(&location, index, &request, into);
        if (rc == 0)
            return 0;
        {
            SCOPE_UNLOCK(&file->lock);
            chunk_locations_outdated(&file->locations, index, &location);
        }
        if (rc == -EUCLEAN && was_damaged) {
            log_error("inode %llu, chunk %u (id %llu): no copy matches its checksums", (unsigned long long)file->ino, index,
                      (unsigned long long)location.chunk_id);
            return -EIO;
        }
        was_damaged = rc == -EUCLEAN;
        rc = retry_wait(&retry);
        if (rc < 0)
            return rc;
    }
}

/* ---- a range of the file ---- */

/* The length, asked for anew if there would be nothing to read: others may have written. */
static int length_for(struct fs *fs, struct open_file *file, uint64_t offset, uint64_t *length)
{
    *length = open_file_length(file);
    if (offset < *length || fs->exclusive)
        return 0;
    int rc = read_path_refresh(fs, file);
    *length = open_file_length(file);
    return rc;
}

int read_path_read(struct fs *fs, struct open_file *file, uint64_t offset, size_t bytes, const uint8_t **data)
{
    uint8_t *buffer = thread_buffer_get();
    uint64_t length;
    CHECK(bytes <= WIRE_IO_LIMIT);
    if (offset > INT64_MAX - WIRE_IO_LIMIT)
        return 0;
    int rc = length_for(fs, file, offset, &length);
    if (rc < 0)
        return rc;
    if (offset >= length || bytes == 0)
        return 0;
    uint64_t end = length - offset < bytes ? length : offset + bytes;
    uint64_t from = offset - offset % WIRE_BLOCK_BYTES;
    uint64_t to = (end + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES * WIRE_BLOCK_BYTES;
    CHECK(to - from <= THREAD_BUFFER_BYTES);
    for (uint64_t at = from; at < to;) {
        uint32_t inside = (uint32_t)(at % fs->chunk_bytes);
        uint64_t piece = to - at < fs->chunk_bytes - inside ? to - at : fs->chunk_bytes - inside;
        rc = read_chunk(fs, file, (uint32_t)(at / fs->chunk_bytes), inside, (uint32_t)piece, buffer + (at - from));
        if (rc < 0)
            return rc;
        at += piece;
    }
    *data = buffer + (offset - from);
    return (int)(end - offset);
}
