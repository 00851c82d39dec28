/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client/fs_state.h"
#include "client/publisher.h"
#include "common/check.h"
#include "common/log.h"

int fs_mount(const struct fs_options *options, struct fs **fs)
{
    struct master_session_options session = {
        .master = options->master, .exclusive = options->exclusive, .retry_ns = options->retry_ns,
        .wait_ns = options->wait_ns, .node = options->node};
    struct fs *made = check_alloc(calloc(1, sizeof *made));
    int rc = master_session_create(&session, &made->session);
    if (rc < 0) {
        free(made);
        return rc;
    }
    const struct master_welcome *welcome = master_session_welcome(made->session);
    made->chunk_bytes = welcome->chunk_bytes;
    made->retry_ns = options->retry_ns;
    made->exclusive = options->exclusive;
    made->requests = "none";
    made->connections = chunk_connections_create(welcome->cluster, options->shm_directory);
    made->files = open_files_create();
    made->stamps = content_stamps_create();
    made->no_xattrs = xattr_absence_create();
    made->late_releases = late_releases_create(made);
    made->lock_waits = lock_waits_create(made);
    made->behind = write_behind_create(made);
    publisher_start(made);
    *fs = made;
    return 0;
}

void fs_note_requests(struct fs *fs, const char *how)
{
    fs->requests = how;
}

/* Whoever had handles is gone; what they wrote is published, and the master learns that nothing is open any more. */
static void close_files(struct fs *fs)
{
    struct open_file **files;
    uint32_t count = open_files_take_all(fs->files, &files);
    for (uint32_t i = 0; i < count; i++) {
        struct open_file *file = files[i];
        int rc = publisher_publish(fs, file, PUBLISHER_LEASES | PUBLISHER_SYNC);
        if (rc < 0)
            log_error("the last writes to inode %llu could not be published: %s", (unsigned long long)file->ino,
                      strerror(-rc));
        while (file->first_handle) {
            struct fs_handle *handle = file->first_handle;
            file->first_handle = handle->next;
            free(handle);
            file->handles--;
            open_files_put(file);
        }
        open_files_put(file);
    }
    free(files);
}

void fs_unmount(struct fs *fs)
{
    if (!fs)
        return;
    lock_waits_destroy(fs->lock_waits);
    publisher_stop(fs);
    close_files(fs);
    late_releases_destroy(fs->late_releases);
    write_behind_destroy(fs->behind);
    master_session_destroy(fs->session);
    chunk_connections_destroy(fs->connections);
    open_files_destroy(fs->files);
    content_stamps_destroy(fs->stamps);
    xattr_absence_destroy(fs->no_xattrs);
    free(fs);
}
