/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "client/fs_calls.h"
#include "client/fs_state.h"
#include "client/read_path.h"
#include "client/write_behind.h"
#include "common/scope.h"

/* What one chunk of the file holds. */
struct chunk_content {
    bool hole; /* all of it */
    uint8_t map[CHUNK_MAP_BYTES];
};

/* Whatever is not certain is data. */
static int learn_content(struct fs *fs, struct open_file *file, uint32_t index, struct chunk_content *content)
{
    struct chunk_location location;
    int rc = read_path_locate(fs, file, index, &location);
    if (rc < 0)
        return rc;
    content->hole = location.chunk_id == 0;
    for (uint32_t i = 0; i < location.count && !content->hole; i++)
        if (chunk_connections_map(location.servers[i], location.chunk_id, location.version, content->map) == 0)
            return 0;
    memset(content->map, 0xff, sizeof content->map);
    return 0;
}

/* A mapping may have changed pages that the kernel has not written back. */
static bool is_unknowable(struct open_file *file)
{
    SCOPE_UNLOCK(&file->lock);
    return file->may_be_mapped && file->writable_handles;
}

/* The first byte in the chunk, from offset in it, that is what is looked for; chunk_bytes if there is none. */
static uint32_t find_in_chunk(const struct chunk_content *content, uint32_t chunk_bytes, uint32_t offset, bool hole)
{
    if (content->hole)
        return hole ? offset : chunk_bytes;
    for (uint32_t block = offset / WIRE_BLOCK_BYTES; block < chunk_bytes / WIRE_BLOCK_BYTES; block++) {
        bool data = content->map[block / 8] >> block % 8 & 1;
        if (data != hole)
            return block * WIRE_BLOCK_BYTES > offset ? block * WIRE_BLOCK_BYTES : offset;
    }
    return chunk_bytes;
}

int fs_seek(struct fs *fs, struct fs_handle *handle, uint64_t offset, bool hole, uint64_t *found)
{
    struct open_file *file = handle->file;
    struct wire_attr attr;
    int rc = fs_handle_revive(fs, handle);
    if (rc == 0)
        rc = write_behind_settle(fs, file, 0, UINT64_MAX);
    if (rc == 0)
        rc = fs_getattr(fs, file->ino, &attr);
    if (rc < 0)
        return rc;
    if (offset >= attr.size)
        return -ENXIO;
    if (is_unknowable(file)) {
        *found = hole ? attr.size : offset;
        return 0;
    }
    while (offset < attr.size) {
        struct chunk_content content;
        uint64_t start = offset - offset % fs->chunk_bytes;
        rc = learn_content(fs, file, (uint32_t)(offset / fs->chunk_bytes), &content);
        if (rc < 0)
            return rc;
        uint32_t at = find_in_chunk(&content, fs->chunk_bytes, (uint32_t)(offset - start), hole);
        offset = start + at;
        if (at < fs->chunk_bytes)
            break;
    }
    if (offset >= attr.size && !hole)
        return -ENXIO;
    *found = offset < attr.size ? offset : attr.size;
    return 0;
}
