/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells the master the length and time of acknowledged writes, and gives leases back: when a file is flushed, synced, cut or
 * closed, and from a background thread for what has been waiting for a second. Publishing comes after the
 * acknowledgement of the data it speaks of, so nobody ever reads below a published length what was not written.
 *
 * Any thread; publisher_publish blocks while the master answers.
 */
#ifndef CALF_PUBLISHER_H
#define CALF_PUBLISHER_H

struct fs;
struct open_file;

enum publisher_bits {
    PUBLISHER_SYNC = 1,       /* return when it is as durable as the journal mode promises */
    PUBLISHER_LEASES = 2,     /* give back the leases that no write is using */
    PUBLISHER_APPEND_END = 4, /* give back the append lock */
};

/* Publishes what the file has to publish; does nothing if there is nothing. 0; -EIO, -EINTR, ...: it is still to be
 * published (unless the session was lost, which the file's handles then report). */
int publisher_publish(struct fs *fs, struct open_file *file, unsigned bits) __attribute__((warn_unused_result));

/* The background thread. Stop ends it; what is dirty then stays so. */
void publisher_start(struct fs *fs);
void publisher_stop(struct fs *fs);

#endif
