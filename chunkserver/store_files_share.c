/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of chunk files for readers on this machine, which read without asking. They see a file while it changes, and that
 * is all right: see store_files.h for the order of writes that they rely on.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "chunkserver/store_files.h"

enum { GUARD_AT = offsetof(struct chunk_page, version) };

_Static_assert(offsetof(struct chunk_page, lives) == GUARD_AT + 16, "version and lives are the first and the third word");

/* The chunk is locked. */
static int open_share(struct files_store *f, const struct files_chunk *chunk, struct store_share *share)
{
    char name[FILES_NAME_LIMIT];
    uint64_t guard[3];
    store_files_name(chunk->id, name);
    int rc = store_files_pread(chunk->fd, guard, sizeof guard, GUARD_AT);
    if (rc < 0)
        return rc;
    *share = (struct store_share){.fd = openat(f->chunks, name, O_RDONLY | O_CLOEXEC),
                                  .guard_at = GUARD_AT,
                                  .table_at = CHUNK_FORMAT_PAGE,
                                  .data_at = f->data_offset,
                                  .guard_first = guard[0],
                                  .guard_third = guard[2]};
    if (share->fd < 0)
        return errno == ENOENT ? -EIO : -errno;
    /* What the header says of a damaged version would guard nothing. */
    if (guard[0] == chunk_format_seal(chunk->id, CHUNK_SEAL_VERSION, chunk->version))
        return 0;
    (void)close(share->fd);
    return -EUCLEAN;
}

int store_files_share(struct store *store, chunk_id id, uint32_t version, struct store_share *share)
{
    struct files_store *f = (struct files_store *)store;
    struct files_chunk *chunk;
    if (f->durable)
        return -EOPNOTSUPP; /* blocks go past the page cache, through which readers would look */
    int rc = store_files_enter(f, id, version, false, &chunk);
    if (rc < 0)
        return rc;
    rc = open_share(f, chunk, share);
    store_files_leave(chunk);
    return rc;
}
