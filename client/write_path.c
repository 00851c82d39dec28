/* SPDX-License-Identifier: Apache-2.0 */
#include "client/write_path.h"

#include <errno.h>
#include <string.h>

#include "client/fs_state.h"
#include "client/publisher.h"
#include "client/read_path.h"
#include "client/retry.h"
#include "common/check.h"
#include "common/checksum.h"
#include "common/clock.h"
#include "common/scope.h"

/* Servers that turn out to be full before a write gives up. */
enum { FULL_TRIES = 8 };

/* A range inside one chunk, and under what it is written. */
struct piece {
    uint32_t index;  /* of the chunk in the file */
    uint32_t offset; /* in the chunk */
    uint32_t bytes;
    const uint8_t *data; /* NULL: zeros */
    struct chunk_location location;
    uint32_t size_epoch; /* of the file when the lease was looked up */
    uint32_t sum_count;
    uint64_t sums[WIRE_BLOCKS_LIMIT];
};

/* ---- leases ---- */

/* Counts the write in and copies the location, if there is a lease with a usable one. */
static bool begin_under_lease(struct open_file *file, struct piece *piece)
{
    SCOPE_UNLOCK(&file->lock);
    struct chunk_entry *entry = chunk_locations_find(&file->locations, piece->index);
    if (!entry || !entry->leased || !entry->usable)
        return false;
    entry->writers++;
    piece->location = entry->location;
    piece->size_epoch = file->attr.size_epoch;
    return true;
}

static void end_under_lease(struct open_file *file, const struct piece *piece, bool acknowledged, uint32_t blocks)
{
    SCOPE_UNLOCK(&file->lock);
    if (acknowledged) {
        chunk_locations_end_write(&file->locations, piece->index, piece->location.version, blocks, piece->data == NULL);
        return;
    }
    chunk_locations_failed_write(&file->locations, piece->index);
    chunk_locations_outdated(&file->locations, piece->index, &piece->location);
}

/* Notes what a reply to chunk_lease or chunk_recover says. 0; -EIO if it is of no use. */
static int take_lease(struct fs *fs, struct open_file *file, uint32_t index, const struct wire_chunk_lease_reply *reply)
{
    struct chunk_location location = {.chunk_id = reply->chunk_id, .version = reply->version, .create = reply->create != 0};
    struct wire_list list = reply->servers;
    struct wire_server place;
    while (wire_next_server(&list, &place)) {
        struct chunk_server *server = chunk_connections_server(fs->connections, &place);
        if (!server)
            return -EIO;
        location.servers[location.count++] = server;
    }
    if (location.chunk_id == 0 || location.count == 0)
        return -EIO;
    if (reply->size_epoch != open_file_attr(file).size_epoch) {
        int rc = read_path_refresh(fs, file); /* the length was cut elsewhere */
        if (rc < 0)
            return rc;
    }
    SCOPE_UNLOCK(&file->lock);
    (void)chunk_locations_put(&file->locations, index, &location, true);
    return 0;
}

/* Asks the master for the lease, unless another thread has it by now. */
static int ask_for_lease(struct fs *fs, struct open_file *file, uint32_t index)
{
    SCOPE_UNLOCK(&file->lease);
    {
        SCOPE_UNLOCK(&file->lock);
        const struct chunk_entry *entry = chunk_locations_find(&file->locations, index);
        if (entry && entry->leased && entry->usable)
            return 0;
    }
    struct master_call call;
    union wire_any request = {.chunk_lease = {.ino = file->ino, .index = index}};
    int rc = master_session_call(fs->session, file->generation, WIRE_TYPE_chunk_lease, &request, &call);
    if (rc < 0)
        return rc;
    rc = take_lease(fs, file, index, &call.reply.chunk_lease_reply);
    master_session_finish(fs->session, &call);
    return rc;
}

/* A call that was of use in an older session only: what that one held is lost. */
static int note_lost_session(struct fs *fs, struct open_file *file, int rc)
{
    if (rc != -ENOTCONN)
        return rc;
    open_file_enter_generation(file, master_session_generation(fs->session));
    return -EIO;
}

static int begin(struct fs *fs, struct open_file *file, struct piece *piece)
{
    while (!begin_under_lease(file, piece)) {
        int rc = note_lost_session(fs, file, ask_for_lease(fs, file, piece->index));
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool has_written(struct open_file *file, uint32_t index)
{
    SCOPE_UNLOCK(&file->lock);
    const struct chunk_entry *entry = chunk_locations_find(&file->locations, index);
    return entry && (entry->written || entry->writers);
}

/* A new chunk to which nothing was written because its server is full: it is given back, and the next one may be on another
 * server. Only one that lies above the length goes when it is given back. 0: it did; else why not. */
static int give_up_chunk(struct fs *fs, struct open_file *file, uint32_t index)
{
    uint8_t encoded[16];
    struct wire_out room = wire_out_on(encoded, sizeof encoded);
    union wire_any request = {.publish = {.ino = file->ino}};
    struct wire_released_lease released;
    SCOPE_UNLOCK(&file->lease);
    {
        SCOPE_UNLOCK(&file->lock);
        request.publish.size_epoch = file->attr.size_epoch;
        if ((uint64_t)index * fs->chunk_bytes < file->attr.size ||
            !chunk_locations_take_unwritten(&file->locations, index, &released))
            return -ENOSPC;
    }
    CHECK(wire_append_released_lease(&room, &request.publish.released, &released));
    struct master_call call;
    int rc = master_session_call(fs->session, file->generation, WIRE_TYPE_publish, &request, &call);
    if (rc == 0)
        master_session_finish(fs->session, &call);
    return rc;
}

/* Tells the master that a copy could not be written; it answers with the lease on the others, under a new version. */
static int recover(struct fs *fs, struct open_file *file, const struct piece *piece, uint32_t failed, int error)
{
    uint16_t status = wire_status_from_error(error);
    struct wire_failed_server one = {.id = failed, .status = status == WIRE_IO && error != -EIO ? WIRE_UNREACHABLE : status};
    uint8_t encoded[16];
    struct wire_out room = wire_out_on(encoded, sizeof encoded);
    union wire_any request = {.chunk_recover = {.ino = file->ino,
                                                .index = piece->index,
                                                .chunk_id = piece->location.chunk_id,
                                                .version = piece->location.version}};
    CHECK(wire_append_failed_server(&room, &request.chunk_recover.failed, &one));
    SCOPE_UNLOCK(&file->lease);
    request.chunk_recover.written = has_written(file, piece->index);
    struct master_call call;
    int rc = master_session_call(fs->session, file->generation, WIRE_TYPE_chunk_recover, &request, &call);
    if (rc < 0)
        return rc;
    struct wire_chunk_recover_reply reply = call.reply.chunk_recover_reply;
    struct wire_chunk_lease_reply lease = {.chunk_id = reply.chunk_id,
                                           .version = reply.version,
                                           .create = reply.create,
                                           .size_epoch = reply.size_epoch,
                                           .servers = reply.servers};
    rc = take_lease(fs, file, piece->index, &lease);
    master_session_finish(fs->session, &call);
    return rc;
}

/* ---- one piece ---- */

/* Sends the piece down its chain. */
static int send_piece(const struct piece *piece, uint32_t *failed, uint32_t *blocks)
{
    const struct chunk_location *location = &piece->location;
    uint8_t encoded[WIRE_COPIES_LIMIT * (WIRE_HOST_LIMIT + 16)];
    struct wire_out room = wire_out_on(encoded, sizeof encoded);
    struct wire_chunk_write request = {
        .chunk_id = location->chunk_id,
        .version = location->version,
        .flags = (uint8_t)((location->create ? WIRE_WRITE_CREATE : 0) | (piece->data ? 0 : WIRE_WRITE_ZERO)),
        .offset = piece->offset,
        .length = piece->bytes,
        .checksums = wire_bytes_of(piece->sums, sizeof piece->sums[0] * piece->sum_count)};
    for (uint32_t i = 1; i < location->count; i++) {
        struct wire_server next;
        chunk_connections_describe(location->servers[i], &next);
        CHECK(wire_append_server(&room, &request.chain, &next));
    }
    return chunk_connections_write(location->servers[0], &request, piece->data, failed, blocks);
}

/* What a failed write calls for. 0: try again; else the error to return. If a server is full, the master may find another. A
 * version or chunk that is not there means that the lease is out of date: the first time, asking anew is enough. */
static int after_failure(struct fs *fs, struct open_file *file, const struct piece *piece, uint32_t failed, int error,
                         unsigned tries, struct retry *retry)
{
    bool first = tries == 0;
    if (error == -ENOSPC) {
        if (tries >= FULL_TRIES)
            return error;
        int rc = note_lost_session(fs, file, recover(fs, file, piece, failed, error));
        if (rc == -ENOSPC)
            rc = note_lost_session(fs, file, give_up_chunk(fs, file, piece->index));
        return rc == -EKEYEXPIRED || rc == -ENOMEDIUM || rc == -EINVAL ? 0 : rc;
    }
    bool outdated = error == -EKEYEXPIRED || error == -ENOMEDIUM;
    if (piece->location.count > 1 && !(outdated && first)) {
        int rc = note_lost_session(fs, file, recover(fs, file, piece, failed, error));
        if (rc < 0 && rc != -EKEYEXPIRED && rc != -ENOMEDIUM && rc != -EINVAL)
            return rc;
    } else if (error == -EUCLEAN && !first) {
        return -EIO; /* the only copy is damaged under this write */
    }
    return retry_wait(retry);
}

static int write_piece(struct fs *fs, struct open_file *file, struct piece *piece)
{
    struct retry retry;
    retry_start(&retry, fs->retry_ns);
    for (unsigned tries = 0;; tries++) {
        int rc = begin(fs, file, piece);
        if (rc < 0)
            return rc;
        uint32_t failed, blocks;
        int sent = send_piece(piece, &failed, &blocks);
        end_under_lease(file, piece, sent == 0, blocks);
        if (sent == 0)
            return 0;
        rc = after_failure(fs, file, piece, failed, sent, tries, &retry);
        if (rc < 0)
            return rc;
    }
}

/* ---- ranges of the file ---- */

bool write_path_fits(const struct fs *fs, uint64_t offset, uint64_t bytes)
{
    uint64_t limit = (uint64_t)UINT32_MAX * fs->chunk_bytes;
    if (limit > INT64_MAX)
        limit = INT64_MAX;
    return offset <= limit && bytes <= limit - offset;
}

int write_path_send(struct fs *fs, struct open_file *file, uint64_t offset, const void *data, uint32_t bytes,
                    uint32_t *size_epoch)
{
    struct piece piece;
    piece.index = (uint32_t)(offset / fs->chunk_bytes);
    piece.offset = (uint32_t)(offset % fs->chunk_bytes);
    piece.bytes = bytes;
    piece.data = data;
    CHECK(bytes <= WIRE_IO_LIMIT && bytes <= fs->chunk_bytes - piece.offset);
    piece.sum_count = checksum_pieces(piece.offset, bytes, WIRE_BLOCK_BYTES);
    checksum_range(data, piece.offset, bytes, WIRE_BLOCK_BYTES, piece.sums);
    int rc = write_piece(fs, file, &piece);
    *size_epoch = piece.size_epoch;
    return rc;
}

/* The caller holds the cut lock. */
static int64_t write_range(struct fs *fs, struct open_file *file, uint64_t offset, const uint8_t *data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        uint64_t at = offset + done, room = fs->chunk_bytes - at % fs->chunk_bytes;
        if (room > WIRE_IO_LIMIT)
            room = WIRE_IO_LIMIT;
        uint32_t n = (uint32_t)(bytes - done < room ? bytes - done : room), size_epoch;
        int rc = write_path_send(fs, file, at, data + done, n, &size_epoch);
        if (rc < 0)
            return done ? (int64_t)done : rc;
        done += n;
        open_file_wrote(file, at + n, size_epoch, clock_wall_ns());
    }
    return (int64_t)done;
}

int64_t write_path_write(struct fs *fs, struct open_file *file, uint64_t offset, const void *data, size_t bytes)
{
    if (!write_path_fits(fs, offset, bytes))
        return -EFBIG;
    (void)pthread_rwlock_rdlock(&file->cut);
    int64_t done = write_range(fs, file, offset, data, bytes);
    (void)pthread_rwlock_unlock(&file->cut);
    return done;
}

int64_t write_path_append(struct fs *fs, struct open_file *file, const void *data, size_t bytes, uint64_t *at)
{
    SCOPE_UNLOCK(&file->append);
    int rc = publisher_publish(fs, file, 0); /* what this client wrote counts for where the end is */
    if (rc < 0)
        return rc;
    struct master_call call;
    union wire_any request = {.append_begin = {.ino = file->ino}};
    rc = master_session_call(fs->session, file->generation, WIRE_TYPE_append_begin, &request, &call);
    if (rc < 0)
        return note_lost_session(fs, file, rc);
    struct wire_attr attr = call.reply.append_begin_reply.attr;
    master_session_finish(fs->session, &call);
    open_file_learn(file, &attr);
    *at = open_file_length(file);
    int64_t done = write_path_write(fs, file, *at, data, bytes);
    rc = publisher_publish(fs, file, PUBLISHER_APPEND_END);
    return rc < 0 ? rc : done;
}

/* The part of a chunk that lies in the range, if there is such a chunk. */
static int zero_chunk(struct fs *fs, struct open_file *file, uint32_t index, uint32_t from, uint32_t to)
{
    struct chunk_location location;
    int rc = read_path_locate(fs, file, index, &location);
    if (rc < 0 || location.chunk_id == 0)
        return rc;
    struct piece piece = {.index = index, .offset = from, .bytes = to - from};
    rc = write_piece(fs, file, &piece);
    if (rc == 0)
        open_file_wrote(file, 0, 0, clock_wall_ns());
    return rc;
}

int write_path_zero(struct fs *fs, struct open_file *file, uint64_t offset, uint64_t bytes)
{
    uint64_t length = open_file_length(file);
    if (offset >= length)
        return 0;
    uint64_t end = bytes < length - offset ? offset + bytes : length;
    int rc = 0;
    (void)pthread_rwlock_rdlock(&file->cut);
    for (uint64_t at = offset; at < end && rc == 0;) {
        uint64_t start = at - at % fs->chunk_bytes;
        uint64_t stop = end - start < fs->chunk_bytes ? end : start + fs->chunk_bytes;
        rc = zero_chunk(fs, file, (uint32_t)(at / fs->chunk_bytes), (uint32_t)(at - start), (uint32_t)(stop - start));
        at = stop;
    }
    (void)pthread_rwlock_unlock(&file->cut);
    return rc;
}
