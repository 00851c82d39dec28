/* SPDX-License-Identifier: Apache-2.0
 *
 * The wire schema: every record and message that crosses a connection or stands in the journal, listed once. Data only.
 * wire.h makes structures, encoders, decoders and printers from it; the programs make their dispatch tables from it (a
 * message without a handler does not build); docs/protocol.md, round-trip tests and fuzz seeds come from it too.
 *
 * F(kind, name, limit, meaning)      one field. Kinds: u8 u16 u32 u64 i64; bytes, str (limit: bytes; a str has no NUL);
 *                                    rec_X one record X; list_X a list of records X (limit: how many).
 * R(name, meaning)                   a record; its fields are WIRE_FIELDS_name.
 * M(name, number, class, request payload limit, reply payload limit, meaning)
 *                                    a message; its fields are WIRE_FIELDS_name, its reply's WIRE_FIELDS_name_reply.
 *                                    class: query (changes nothing), change (goes to the journal before its reply) or
 *                                    derived (a change that goes to the journal as records of another type, which hold
 *                                    what was decided; doing it twice is the same as doing it once).
 *
 * Numbers are little-endian and packed. Times are nanoseconds since 1970. How to add a message: HACKING.md.
 */
#ifndef CALF_WIRE_SCHEMA_H
#define CALF_WIRE_SCHEMA_H

#include "common/wire_schema_bench.h"

enum {
    WIRE_PROTOCOL = 5,
    WIRE_NAME_LIMIT = 255,          /* NAME_MAX */
    WIRE_TARGET_LIMIT = 4095,       /* PATH_MAX - 1 */
    WIRE_XATTR_LIMIT = 65536,       /* XATTR_SIZE_MAX */
    WIRE_COPIES_LIMIT = 16,         /* copies of a chunk */
    WIRE_IO_LIMIT = 1 << 20,        /* bytes of one read or write request */
    WIRE_BLOCK_BYTES = 4096,        /* what one checksum covers */
    WIRE_BLOCKS_LIMIT = 258,        /* blocks one request can touch: 1 MiB that starts and ends inside a block */
    WIRE_PAYLOAD_LIMIT = 258 * 4096,
    WIRE_BODY_LIMIT = 512 * 1024,
    WIRE_DIRENTS_LIMIT = 1024,
    WIRE_REPORT_LIMIT = 8192,
    WIRE_COMMANDS_LIMIT = 256,
    WIRE_HOST_LIMIT = 255,
    WIRE_MEMORY_LIMIT = 256 << 20,  /* bytes of memory that a client shares for one purpose */
    WIRE_ALONE_MS = 1000, /* how long a client that is alone may believe a reply, from when it asked */
};

/* ---- records ---------------------------------------------------------------------------------------------------- */

#define WIRE_RECORDS(R)                                                                                              \
    R(server, "a chunkserver and where it is reached")                                                              \
    R(failed_server, "a chunkserver that a client could not use")                                                   \
    R(attr, "what stat(2) shows of an inode, and what caches need")                                                 \
    R(dirent, "a directory entry with its attributes")                                                              \
    R(released_lease, "a write lease on one chunk of a file: what was written under it, and whether it is given back") \
    R(ended_open, "opens of a file that are over")                                                                   \
    R(chunk_report, "a chunk that a chunkserver holds")                                                             \
    R(command, "what the master tells a chunkserver to do")                                                         \
    R(command_result, "what became of a command")                                                                   \
    R(counters, "what a chunkserver has served since it started")                                                   \
    R(server_state, "a chunkserver as the master sees it")                                                          \
    R(chunk_copy, "a copy of a chunk of a file")

#define WIRE_FIELDS_server(F)                                                                                        \
    F(u32, id, 0, "given by the master, for good")                                                                   \
    F(str, host, WIRE_HOST_LIMIT, "name or address, as the server advertises it")                                     \
    F(u16, port, 0, "")
#define WIRE_FIELDS_failed_server(F)                                                                                 \
    F(u32, id, 0, "")                                                                                                \
    F(u16, status, 0, "the wire status that was seen")
#define WIRE_FIELDS_attr(F)                                                                                          \
    F(u64, ino, 0, "inode number; 1 is the root")                                                                    \
    F(u32, mode, 0, "type and permission bits as in st_mode")                                                        \
    F(u32, nlink, 0, "")                                                                                             \
    F(u32, uid, 0, "")                                                                                               \
    F(u32, gid, 0, "")                                                                                               \
    F(u32, rdev, 0, "for device nodes")                                                                              \
    F(u64, size, 0, "published length in bytes")                                                                     \
    F(u64, used_bytes, 0, "of the blocks that were written, once; as far as it was published")                        \
    F(i64, atime, 0, "ns")                                                                                           \
    F(i64, mtime, 0, "ns")                                                                                           \
    F(i64, ctime, 0, "ns")                                                                                           \
    F(u64, change, 0, "rises with every change of content, length, entries or attributes")                          \
    F(u32, size_epoch, 0, "rises whenever the length is cut; a length learned under an older one is void")          \
    F(u8, goal, 0, "copies wanted for each chunk")                                                                   \
    F(u8, xattrs, 0, "1: it has extended attributes")
#define WIRE_FIELDS_dirent(F)                                                                                        \
    F(u64, cookie, 0, "where to go on after this entry, 16 or more; stays valid while others come and go")           \
    F(str, name, WIRE_NAME_LIMIT, "")                                                                                \
    F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_released_lease(F)                                                                                \
    F(u32, index, 0, "of the chunk in the file")                                                                     \
    F(u8, written, 0, "1 if a write under this lease was acknowledged")                                              \
    F(u8, kept, 0, "1: the lease is not given back, this only tells the blocks")                                     \
    F(u32, version, 0, "of the chunk; under another one the blocks do not count")                                    \
    F(u32, blocks, 0, "that the chunk has since the last write; WIRE_BLOCKS_UNKNOWN: not known")
#define WIRE_FIELDS_ended_open(F)                                                                                    \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, count, 0, "opens to count back")
#define WIRE_FIELDS_chunk_report(F)                                                                                  \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(u8, damaged, 0, "1: header or a block does not match its checksum")
#define WIRE_FIELDS_command(F)                                                                                       \
    F(u64, number, 0, "names the command in its result; never reused within a registration")                        \
    F(u8, action, 0, "enum wire_action")                                                                             \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "delete: the version the copy must have, 0: any, WIRE_QUARANTINED: only what has a damaged " \
                       "header; set_version: the oldest it may have; copy: the one it gets")                         \
    F(u32, new_version, 0, "set_version: the one it has afterwards; a copy that has it already is done, not refused") \
    F(u32, keep_bytes, 0, "set_version: what lies at or above reads as zero afterwards; WIRE_KEEP_ALL: keep all")  \
    F(u8, create, 0, "set_version: 1 if an absent chunk is made, empty")                                             \
    F(rec_server, source, 0, "copy: who has a good copy")
#define WIRE_FIELDS_command_result(F)                                                                                \
    F(u64, number, 0, "")                                                                                            \
    F(u16, status, 0, "wire status")                                                                                 \
    F(u32, blocks, 0, "set_version: blocks that the chunk has now; WIRE_BLOCKS_UNKNOWN: not known")
#define WIRE_FIELDS_counters(F)                                                                                      \
    F(u64, read_bytes, 0, "")                                                                                        \
    F(u64, read_requests, 0, "")                                                                                     \
    F(u64, write_bytes, 0, "")                                                                                       \
    F(u64, write_requests, 0, "")                                                                                    \
    F(u64, damaged_blocks, 0, "blocks that did not match their checksum when read or checked")                      \
    F(u64, bad_frames, 0, "connections closed because of what they sent")                                           \
    F(u64, tcp_clients, 0, "connections of clients over a network that are open now")                                \
    F(u64, shm_clients, 0, "likewise, that exchange data through shared memory")
#define WIRE_FIELDS_server_state(F)                                                                                  \
    F(rec_server, server, 0, "")                                                                                     \
    F(u8, connected, 0, "1 if it is registered and polls")                                                           \
    F(u64, total_bytes, 0, "")                                                                                       \
    F(u64, used_bytes, 0, "")                                                                                        \
    F(u64, chunks, 0, "")                                                                                            \
    F(rec_counters, counters, 0, "as of its last poll")                                                              \
    F(u64, since_poll_ms, 0, "")                                                                                     \
    F(u8, draining, 0, "1: it gets no new chunks, and its copies move off")                                          \
    F(u64, to_move, 0, "draining, to administrators: copies it still has to be a holder of; with 0 it may be stopped")
#define WIRE_FIELDS_chunk_copy(F)                                                                                    \
    F(u32, index, 0, "of the chunk in the file")                                                                     \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(rec_server, server, 0, "id 0: no copy is known")                                                               \
    F(u8, state, 0, "enum wire_copy_state")

/* ---- every connection ------------------------------------------------------------------------------------------- */

#define WIRE_COMMON_MESSAGES(M)                                                                                      \
    M(hello, 1, query, 0, 0, "first on every stream connection; a refusal carries its reason as the status")

#define WIRE_FIELDS_hello(F)                                                                                         \
    F(u32, protocol, 0, "WIRE_PROTOCOL")                                                                             \
    F(u8, role, 0, "enum wire_role of the sender")                                                                   \
    F(u64, cluster, 0, "0: not known yet")                                                                           \
    F(u64, session, 0, "to a master: 0 asks for a new session, else joins that one")                                \
    F(u32, slot, 0, "which of the session's connections; a changing request repeated on a slot is done once")       \
    F(u32, server, 0, "to a chunkserver: whom the sender means, who may have gone from this address; 0: whoever is there") \
    F(u8, exclusive, 0, "new session: 1 asks to be the only writing one")                                            \
    F(str, node, WIRE_HOST_LIMIT, "the sender's name, for people")                                                   \
    F(bytes, auth, 256, "room for mutual authentication; empty and ignored")
#define WIRE_FIELDS_hello_reply(F)                                                                                   \
    F(u64, cluster, 0, "")                                                                                           \
    F(u64, session, 0, "")                                                                                           \
    F(u32, chunk_bytes, 0, "geometry of the cluster")                                                                \
    F(u32, block_bytes, 0, "")                                                                                       \
    F(u32, session_timeout_ms, 0, "a session that is silent for longer ends")                                       \
    F(str, journal, 16, "\"always\" or \"interval\"")

/* ---- client to master ------------------------------------------------------------------------------------------- */

#define WIRE_MASTER_MESSAGES(M)                                                                                      \
    M(keepalive, 2, query, 0, 0, "the session lives")                                                                \
    M(lookup, 3, query, 0, 0, "find an entry")                                                                       \
    M(getattr, 4, query, 0, 0, "")                                                                                   \
    M(setattr, 5, change, 0, 0, "chmod, chown, utimens, truncate")                                                   \
    M(mknod, 6, change, 0, 0, "new file, directory, fifo, socket or device node")                                    \
    M(create, 7, change, 0, 0, "new or existing regular file, opened")                                               \
    M(symlink, 8, change, 0, 0, "")                                                                                  \
    M(readlink, 9, query, 0, 0, "")                                                                                  \
    M(link, 10, change, 0, 0, "")                                                                                    \
    M(unlink, 11, change, 0, 0, "remove an entry that is no directory")                                              \
    M(rmdir, 12, change, 0, 0, "remove an empty directory")                                                          \
    M(rename, 13, change, 0, 0, "as renameat2(2)")                                                                   \
    M(readdir, 14, query, 0, 0, "entries with attributes, in a stable order")                                        \
    M(statfs, 15, query, 0, 0, "")                                                                                   \
    M(getxattr, 16, query, 0, 0, "")                                                                                 \
    M(setxattr, 17, change, 0, 0, "")                                                                                \
    M(listxattr, 18, query, 0, 0, "")                                                                                \
    M(removexattr, 19, change, 0, 0, "")                                                                             \
    M(open, 20, change, 0, 0, "counts an open of the inode by the session, which keeps it when unlinked")            \
    M(release, 21, change, 0, 0, "counts opens back")                                                                \
    M(chunk_locate, 22, query, 0, 0, "where a chunk is read")                                                        \
    M(chunk_lease, 23, derived, 0, 0, "where a chunk is written; makes it if there is none")                          \
    M(chunk_recover, 24, derived, 0, 0, "a write failed on some copies: go on with the others, under a new version") \
    M(publish, 25, change, 0, 0, "length and time after acknowledged writes; gives leases back")                     \
    M(append_begin, 26, change, 0, 0, "waits for and takes the file's append lock; publish gives it back")           \
    M(set_goal, 27, change, 0, 0, "copies wanted; of a directory: for what is made in it")                           \
    M(file_chunks, 28, query, 0, 0, "the copies of a file's chunks, for people")                                     \
    M(server_list, 29, query, 0, 0, "the chunkservers, for counters")                                                \
    M(session_end, 30, derived, 0, 0, "the client is done: its session ends now")                                    \
    M(lock_set, 36, change, 0, 0, "takes or gives back a lock of fcntl(2) or flock(2); LOCKED if another has it")    \
    M(lock_get, 37, query, 0, 0, "who stands in the way of a lock")                                                  \
    M(lock_events, 38, query, 0, 0, "waits until something was freed that this session was refused")                 \
    M(releases, 39, change, 0, 0, "counts opens of several files back; those of files that are gone are passed over")

#define WIRE_FIELDS_keepalive(F)
#define WIRE_FIELDS_keepalive_reply(F)
#define WIRE_FIELDS_lookup(F)                                                                                        \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")
#define WIRE_FIELDS_lookup_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_getattr(F) F(u64, ino, 0, "")
#define WIRE_FIELDS_getattr_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_setattr(F)                                                                                       \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, valid, 0, "bits of enum wire_setattr_bits: which of the following count")                                     \
    F(u32, mode, 0, "permission bits")                                                                               \
    F(u32, uid, 0, "")                                                                                               \
    F(u32, gid, 0, "")                                                                                               \
    F(u64, size, 0, "")                                                                                              \
    F(i64, atime, 0, "ns")                                                                                           \
    F(i64, mtime, 0, "ns")
#define WIRE_FIELDS_setattr_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_mknod(F)                                                                                         \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")                                                                                \
    F(u32, mode, 0, "type and permission bits, umask applied")                                                       \
    F(u32, rdev, 0, "")                                                                                              \
    F(u32, uid, 0, "")                                                                                               \
    F(u32, gid, 0, "ignored in a set-group-id directory")
#define WIRE_FIELDS_mknod_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_create(F)                                                                                        \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")                                                                                \
    F(u32, mode, 0, "permission bits, umask applied")                                                                \
    F(u32, flags, 0, "bits of enum wire_open_bits")                                                                       \
    F(u32, uid, 0, "")                                                                                               \
    F(u32, gid, 0, "")
#define WIRE_FIELDS_create_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_symlink(F)                                                                                       \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")                                                                                \
    F(str, target, WIRE_TARGET_LIMIT, "")                                                                            \
    F(u32, uid, 0, "")                                                                                               \
    F(u32, gid, 0, "")
#define WIRE_FIELDS_symlink_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_readlink(F) F(u64, ino, 0, "")
#define WIRE_FIELDS_readlink_reply(F) F(str, target, WIRE_TARGET_LIMIT, "")
#define WIRE_FIELDS_link(F)                                                                                          \
    F(u64, ino, 0, "")                                                                                               \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")
#define WIRE_FIELDS_link_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_unlink(F)                                                                                        \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")
#define WIRE_FIELDS_unlink_reply(F)
#define WIRE_FIELDS_rmdir(F)                                                                                         \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")
#define WIRE_FIELDS_rmdir_reply(F)
#define WIRE_FIELDS_rename(F)                                                                                        \
    F(u64, parent, 0, "")                                                                                            \
    F(str, name, WIRE_NAME_LIMIT, "")                                                                                \
    F(u64, new_parent, 0, "")                                                                                        \
    F(str, new_name, WIRE_NAME_LIMIT, "")                                                                            \
    F(u32, flags, 0, "0, RENAME_NOREPLACE (1) or RENAME_EXCHANGE (2)")
#define WIRE_FIELDS_rename_reply(F)
#define WIRE_FIELDS_readdir(F)                                                                                       \
    F(u64, ino, 0, "")                                                                                               \
    F(u64, cookie, 0, "0: from the start; else after the entry with that cookie")                                   \
    F(u32, max_entries, 0, "at most WIRE_DIRENTS_LIMIT")
#define WIRE_FIELDS_readdir_reply(F)                                                                                 \
    F(list_dirent, entries, WIRE_DIRENTS_LIMIT, "without . and ..")                                                  \
    F(u8, end, 0, "1 if nothing follows")                                                                            \
    F(u64, parent, 0, "inode of ..")
#define WIRE_FIELDS_statfs(F)
#define WIRE_FIELDS_statfs_reply(F)                                                                                  \
    F(u64, total_bytes, 0, "of the chunkservers that are there") F(u64, free_bytes, 0, "")                           \
    F(u64, files, 0, "inodes in use")                                                                                \
    F(u8, more_expected, 0, "1: chunkservers with room may be on their way back")
#define WIRE_FIELDS_getxattr(F)                                                                                      \
    F(u64, ino, 0, "")                                                                                               \
    F(str, name, WIRE_NAME_LIMIT, "")
#define WIRE_FIELDS_getxattr_reply(F) F(bytes, value, WIRE_XATTR_LIMIT, "")
#define WIRE_FIELDS_setxattr(F)                                                                                      \
    F(u64, ino, 0, "")                                                                                               \
    F(str, name, WIRE_NAME_LIMIT, "")                                                                                \
    F(bytes, value, WIRE_XATTR_LIMIT, "")                                                                            \
    F(u32, flags, 0, "0, XATTR_CREATE (1) or XATTR_REPLACE (2)")
#define WIRE_FIELDS_setxattr_reply(F)
#define WIRE_FIELDS_listxattr(F) F(u64, ino, 0, "")
#define WIRE_FIELDS_listxattr_reply(F) F(bytes, names, WIRE_XATTR_LIMIT, "each with its NUL, as listxattr(2)")
#define WIRE_FIELDS_removexattr(F)                                                                                   \
    F(u64, ino, 0, "")                                                                                               \
    F(str, name, WIRE_NAME_LIMIT, "")
#define WIRE_FIELDS_removexattr_reply(F)
#define WIRE_FIELDS_open(F)                                                                                          \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, flags, 0, "bits of enum wire_open_bits")
#define WIRE_FIELDS_open_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_release(F)                                                                                       \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, count, 0, "opens to count back")
#define WIRE_FIELDS_release_reply(F)
#define WIRE_FIELDS_releases(F) F(list_ended_open, opens, 64, "")
#define WIRE_FIELDS_releases_reply(F)
#define WIRE_FIELDS_chunk_locate(F)                                                                                  \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, index, 0, "of the chunk in the file")
#define WIRE_FIELDS_chunk_locate_reply(F)                                                                            \
    F(u64, chunk_id, 0, "0: a hole")                                                                                 \
    F(u32, version, 0, "")                                                                                           \
    F(u8, absent_ok, 0, "1: no write was ever acknowledged, so a server without it answers zeros; not to be cached") \
    F(list_server, servers, WIRE_COPIES_LIMIT, "valid copies that can be reached now; may be empty")
#define WIRE_FIELDS_chunk_lease(F)                                                                                   \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, index, 0, "")
#define WIRE_FIELDS_chunk_lease_reply(F)                                                                             \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(u8, create, 0, "1: the first write makes the chunk where it is absent")                                        \
    F(u32, size_epoch, 0, "goes into publish")                                                                       \
    F(list_server, servers, WIRE_COPIES_LIMIT, "the chain, head first")
#define WIRE_FIELDS_chunk_recover(F)                                                                                 \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, index, 0, "")                                                                                             \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "under which the write failed")                                                               \
    F(u8, written, 0, "1: another write under this lease was acknowledged")                                          \
    F(list_failed_server, failed, WIRE_COPIES_LIMIT, "")
#define WIRE_FIELDS_chunk_recover_reply(F) WIRE_FIELDS_chunk_lease_reply(F)
#define WIRE_FIELDS_publish(F)                                                                                       \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, size_epoch, 0, "if it is not the file's, the length is ignored")                                          \
    F(u64, length, 0, "the file is at least this long; 0 changes nothing")                                           \
    F(i64, mtime, 0, "ns of the last write; 0: nothing was written")                                                 \
    F(u8, sync, 0, "1: answer when it is as durable as the journal mode promises")                                   \
    F(u8, append_end, 0, "1: gives the append lock back")                                                            \
    F(list_released_lease, released, 1024, "")
#define WIRE_FIELDS_publish_reply(F) F(rec_attr, attr, 0, "")
#define WIRE_FIELDS_append_begin(F) F(u64, ino, 0, "")
#define WIRE_FIELDS_append_begin_reply(F) F(rec_attr, attr, 0, "attr.size is where to append")
#define WIRE_FIELDS_set_goal(F)                                                                                      \
    F(u64, ino, 0, "")                                                                                               \
    F(u8, goal, 0, "1 to WIRE_COPIES_LIMIT")
#define WIRE_FIELDS_set_goal_reply(F)
#define WIRE_FIELDS_file_chunks(F)                                                                                   \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, first, 0, "index to start with")
#define WIRE_FIELDS_file_chunks_reply(F)                                                                             \
    F(list_chunk_copy, copies, 1024, "by index")                                                                     \
    F(u32, next, 0, "index to go on with; 0: that was all")
#define WIRE_FIELDS_server_list(F)
#define WIRE_FIELDS_server_list_reply(F) F(list_server_state, servers, 1024, "")
#define WIRE_FIELDS_session_end(F)
#define WIRE_FIELDS_session_end_reply(F)
#define WIRE_FIELDS_lock_set(F)                                                                                      \
    F(u64, ino, 0, "")                                                                                               \
    F(u64, owner, 0, "within the session; its own locks are not in its way")                                         \
    F(u64, start, 0, "")                                                                                             \
    F(u64, end, 0, "the last byte")                                                                                  \
    F(u32, pid, 0, "for people")                                                                                     \
    F(u8, type, 0, "enum wire_lock_type; WIRE_LOCK_NONE gives back")                                                 \
    F(u8, flock, 0, "1: of flock(2), which the others do not see")                                                   \
    F(u8, wait, 0, "1: if refused, lock_events is to tell when it may be had")
#define WIRE_FIELDS_lock_set_reply(F) F(rec_attr, attr, 0, "what whoever has the lock may rely on")
#define WIRE_FIELDS_lock_get(F)                                                                                      \
    F(u64, ino, 0, "")                                                                                               \
    F(u64, owner, 0, "")                                                                                             \
    F(u64, start, 0, "")                                                                                             \
    F(u64, end, 0, "the last byte")                                                                                  \
    F(u8, type, 0, "")                                                                                               \
    F(u8, flock, 0, "")
#define WIRE_FIELDS_lock_get_reply(F)                                                                                \
    F(u8, type, 0, "WIRE_LOCK_NONE: it could be had")                                                                \
    F(u64, start, 0, "of the lock in the way")                                                                       \
    F(u64, end, 0, "")                                                                                               \
    F(u32, pid, 0, "")
#define WIRE_FIELDS_lock_events(F)                                                                                   \
    F(u64, seen, 0, "the count of the last reply; 0 at first")                                                       \
    F(u32, wait_ms, 0, "answer by then, whatever happened")
#define WIRE_FIELDS_lock_events_reply(F) F(u64, count, 0, "another one than seen: ask for the locks again")

/* ---- client (or chunkserver) to chunkserver --------------------------------------------------------------------- */

#define WIRE_CHUNK_MESSAGES(M)                                                                                       \
    M(chunk_read, 40, query, 0, WIRE_PAYLOAD_LIMIT, "whole blocks with their checksums; the data is the payload")     \
    M(chunk_write, 41, change, WIRE_PAYLOAD_LIMIT, 0, "any bytes of a chunk, acknowledged by the whole chain")       \
    M(chunk_map, 42, query, 0, 0, "which blocks were ever written")                                                  \
    M(server_counters, 43, query, 0, 0, "what was served, now")                                                      \
    M(chunk_share, 56, query, 0, 0, "a chunk's file, to read from without asking: its descriptor comes with the reply") \
    M(memory_share, 57, query, 0, 0, "memory of the client, whose descriptor comes with the request")                \
    M(shared_write, 58, change, 0, 0, "chunk_write whose data lies in the memory given for it")

#define WIRE_FIELDS_chunk_read(F)                                                                                    \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(u8, absent_ok, 0, "1: zeros if there is no such chunk")                                                        \
    F(u8, verify, 0, "1: the server checks the blocks itself first: a reader saw a mismatch and asks again")         \
    F(u32, offset, 0, "multiple of the block size")                                                                  \
    F(u32, length, 0, "likewise, at least one block")                                                                \
    F(bytes, ticket, 128, "reserved")
#define WIRE_FIELDS_chunk_read_reply(F) F(bytes, checksums, WIRE_BLOCKS_LIMIT * 8, "u64 each block")
#define WIRE_FIELDS_chunk_write(F)                                                                                   \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(u8, flags, 0, "bits of enum wire_write_bits")                                                                       \
    F(u32, offset, 0, "any")                                                                                         \
    F(u32, length, 0, "any; the payload is this long, or absent with WIRE_WRITE_ZERO")                              \
    F(bytes, checksums, WIRE_BLOCKS_LIMIT * 8, "u64 for each piece that the range has in a block; none with ZERO") \
    F(list_server, chain, WIRE_COPIES_LIMIT, "who gets it next, in order")                                          \
    F(bytes, ticket, 128, "reserved")
#define WIRE_FIELDS_chunk_write_reply(F)                                                                             \
    F(u32, failed_server, 0, "with an error: whose; 0: the answering one's")                                         \
    F(u32, blocks, 0, "that the chunk has now, those of this write among them")
#define WIRE_FIELDS_chunk_map(F)                                                                                     \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")
#define WIRE_FIELDS_chunk_map_reply(F) F(bytes, written, 2048, "a bit for each block, lowest first")
#define WIRE_FIELDS_server_counters(F)
#define WIRE_FIELDS_server_counters_reply(F) F(rec_counters, counters, 0, "")
#define WIRE_FIELDS_chunk_share(F)                                                                                   \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")
#define WIRE_FIELDS_chunk_share_reply(F)                                                                             \
    F(u32, guard_at, 0, "where three u64 lie in the file; while the first and the third of them are")               \
    F(u64, guard_first, 0, "this")                                                                                   \
    F(u64, guard_third, 0, "and this, what was read before is of that chunk in that version")                       \
    F(u32, table_at, 0, "where a u64 for each block lies: its checksum, or 0 or 1: the block is zeros")            \
    F(u32, data_at, 0, "where the blocks lie")
#define WIRE_FIELDS_memory_share(F)                                                                                  \
    F(u8, purpose, 0, "enum wire_memory_purpose; what was given for it before is given up")                         \
    F(u32, bytes, 0, "its size, which it must be sealed to; a multiple of 4096, at most WIRE_MEMORY_LIMIT")
#define WIRE_FIELDS_memory_share_reply(F)
#define WIRE_FIELDS_shared_write(F)                                                                                  \
    F(u32, at, 0, "where the data lies in the memory")                                                               \
    WIRE_FIELDS_chunk_write(F)
#define WIRE_FIELDS_shared_write_reply(F) WIRE_FIELDS_chunk_write_reply(F)

/* ---- control plane (nng): chunkserver to master, admin to master ------------------------------------------------- */

#define WIRE_CONTROL_MESSAGES(M)                                                                                     \
    M(server_register, 60, query, 0, 0, "a chunkserver comes, with what it holds")                                   \
    M(server_poll, 61, query, 0, 0, "it lives and reports; answered at once with commands, or within a second")      \
    M(admin_status, 62, query, 0, 0, "")                                                                             \
    M(admin_servers, 63, query, 0, 0, "")                                                                            \
    M(admin_drain, 66, query, 0, 0, "a chunkserver is to be emptied, or not any more; answered when that is recorded")

#define WIRE_FIELDS_server_register(F)                                                                               \
    F(u32, protocol, 0, "WIRE_PROTOCOL")                                                                             \
    F(u64, cluster, 0, "of its store; 0: an empty store that joins")                                                 \
    F(u64, node, 0, "random, made with the store: its identity")                                                     \
    F(u64, start, 0, "random, made when the process started or registers anew: tells registrations apart")         \
    F(str, host, WIRE_HOST_LIMIT, "where clients reach it")                                                          \
    F(u16, port, 0, "")                                                                                              \
    F(u64, total_bytes, 0, "")                                                                                       \
    F(u64, used_bytes, 0, "")                                                                                        \
    F(u8, first, 0, "1: the first part of the report")                                                               \
    F(u8, last, 0, "1: the last part; registered when it is answered")                                               \
    F(list_chunk_report, chunks, WIRE_REPORT_LIMIT, "")                                                              \
    F(bytes, auth, 256, "room for mutual authentication; empty and ignored")
#define WIRE_FIELDS_server_register_reply(F)                                                                         \
    F(u64, cluster, 0, "")                                                                                           \
    F(u32, server_id, 0, "")                                                                                         \
    F(u32, chunk_bytes, 0, "geometry; an empty store takes it, another refuses to serve with a different one")      \
    F(u32, block_bytes, 0, "")
#define WIRE_FIELDS_server_poll(F)                                                                                   \
    F(u32, server_id, 0, "")                                                                                         \
    F(u64, start, 0, "as in its registration")                                                                       \
    F(u64, total_bytes, 0, "")                                                                                       \
    F(u64, used_bytes, 0, "")                                                                                        \
    F(u64, chunks, 0, "")                                                                                            \
    F(rec_counters, counters, 0, "")                                                                                 \
    F(list_command_result, results, WIRE_COMMANDS_LIMIT, "of earlier commands; repeated until a poll was answered") \
    F(list_chunk_report, damaged, WIRE_COMMANDS_LIMIT, "found damaged since the last answered poll")                 \
    F(u8, leaving, 0, "1: it ends now; answered at once, without commands")
#define WIRE_FIELDS_server_poll_reply(F)                                                                             \
    F(u8, register_again, 0, "1: the master does not know this registration")                                        \
    F(list_command, commands, WIRE_COMMANDS_LIMIT, "")
#define WIRE_FIELDS_admin_status(F)
#define WIRE_FIELDS_admin_status_reply(F)                                                                            \
    F(u64, cluster, 0, "")                                                                                           \
    F(u64, uptime_ms, 0, "")                                                                                         \
    F(str, journal, 16, "")                                                                                          \
    F(u64, total_bytes, 0, "")                                                                                       \
    F(u64, used_bytes, 0, "")                                                                                        \
    F(u32, servers, 0, "known")                                                                                      \
    F(u32, servers_connected, 0, "")                                                                                 \
    F(u32, sessions, 0, "")                                                                                          \
    F(u64, files, 0, "inodes that are no directory")                                                                 \
    F(u64, directories, 0, "")                                                                                       \
    F(u64, chunks, 0, "")                                                                                            \
    F(u64, chunks_missing, 0, "with no valid copy that can be reached")                                              \
    F(u64, chunks_below_goal, 0, "")                                                                                 \
    F(u64, damaged_copies, 0, "reported and not replaced yet")                                                       \
    F(u64, damaged_blocks, 0, "seen by the chunkservers since they started")                                         \
    F(u64, repair_queue, 0, "chunks that wait for a copy, for a copy to go, or for a new version")                    \
    F(u64, journal_bytes, 0, "")                                                                                     \
    F(u64, snapshot_age_ms, 0, "")                                                                                   \
    F(u64, chunks_one_copy, 0, "chunks with one valid copy that can be reached")                                     \
    F(u64, chunks_two_copies, 0, "")                                                                                 \
    F(u64, chunks_more_copies, 0, "with three or more")                                                              \
    F(u64, copies_running, 0, "copies being made now")                                                               \
    F(u64, copies_made, 0, "since the master started")                                                               \
    F(u64, copies_failed, 0, "tries that failed, since the master started")                                          \
    F(u32, snapshot_failures, 0, "tries since the last one that was written")
#define WIRE_FIELDS_admin_servers(F)
#define WIRE_FIELDS_admin_servers_reply(F) F(list_server_state, servers, 1024, "")
#define WIRE_FIELDS_admin_drain(F)                                                                                   \
    F(u32, server_id, 0, "0: the one reached at host and port")                                                      \
    F(str, host, WIRE_HOST_LIMIT, "")                                                                                \
    F(u16, port, 0, "")                                                                                              \
    F(u8, drain, 0, "1: empty it; 0: not any more")
#define WIRE_FIELDS_admin_drain_reply(F) F(u32, server_id, 0, "")

#define WIRE_MESSAGES(M)                                                                                             \
    WIRE_COMMON_MESSAGES(M) WIRE_MASTER_MESSAGES(M) WIRE_CHUNK_MESSAGES(M) WIRE_CONTROL_MESSAGES(M) WIRE_BENCH_MESSAGES(M)

/* ---- journal records without a message of their own: R(name, number, meaning); numbers go on after the messages' -- */

#define WIRE_JOURNAL_RECORDS(J)                                                                                      \
    J(j_session, 80, "a session was opened")                                                                         \
    J(j_session_end, 81, "a session is over: its opens, leases and locks with it")                                   \
    J(j_server, 82, "a chunkserver got its id")                                                                      \
    J(j_lease, 83, "a write lease, with the chunk made for it if there was none")                                    \
    J(j_version, 84, "a chunk's version rises; on these servers it is valid once they have it")                      \
    J(j_copies, 85, "which servers have valid copies of a chunk's version")                                          \
    J(j_epoch, 86, "a new reign over the journal")                                                                   \
    J(j_drain, 90, "a chunkserver is to be emptied, or not any more")                                                \
    J(j_forget, 91, "files without a name are kept no longer")

#define WIRE_FIELDS_j_session(F)                                                                                     \
    F(u64, session, 0, "")                                                                                           \
    F(u8, exclusive, 0, "")                                                                                          \
    F(str, node, WIRE_HOST_LIMIT, "")
#define WIRE_FIELDS_j_session_end(F) F(u64, session, 0, "")
#define WIRE_FIELDS_j_server(F)                                                                                      \
    F(u32, server_id, 0, "")                                                                                         \
    F(u64, node, 0, "")
#define WIRE_FIELDS_j_lease(F)                                                                                       \
    F(u64, ino, 0, "")                                                                                               \
    F(u32, index, 0, "")                                                                                             \
    F(u64, session, 0, "")                                                                                           \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(list_server, servers, WIRE_COPIES_LIMIT, "of a chunk made now; empty: the chunk was there")
#define WIRE_FIELDS_j_version(F)                                                                                     \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "the new one")                                                                                \
    F(u32, keep_bytes, 0, "as in command")                                                                           \
    F(list_server, servers, WIRE_COPIES_LIMIT, "who is told")
#define WIRE_FIELDS_j_copies(F)                                                                                      \
    F(u64, chunk_id, 0, "")                                                                                          \
    F(u32, version, 0, "")                                                                                           \
    F(u32, blocks, 0, "that they have; WIRE_BLOCKS_UNKNOWN: as many as before")                                      \
    F(list_server, servers, WIRE_COPIES_LIMIT, "")
#define WIRE_FIELDS_j_drain(F)                                                                                       \
    F(u32, server_id, 0, "")                                                                                         \
    F(u8, drain, 0, "")
#define WIRE_FIELDS_j_forget(F) F(u32, count, 0, "the oldest so many")
#define WIRE_FIELDS_j_epoch(F) F(u64, epoch, 0, "rises each time a master takes the journal over")

/* ---- numbers inside the fields ----------------------------------------------------------------------------------- */

enum wire_role { WIRE_ROLE_CLIENT = 1, WIRE_ROLE_CHUNKSERVER = 2, WIRE_ROLE_ADMIN = 3, WIRE_ROLE_MASTER = 4 };

enum wire_setattr_bits {
    WIRE_SET_MODE = 1,
    WIRE_SET_UID = 2,
    WIRE_SET_GID = 4,
    WIRE_SET_SIZE = 8,
    WIRE_SET_ATIME = 16,
    WIRE_SET_MTIME = 32,
    WIRE_SET_ATIME_NOW = 64,    /* the master's clock */
    WIRE_SET_MTIME_NOW = 128,
    WIRE_SET_KILL_SUID = 256,   /* not of a directory: clear set-user-id, and set-group-id where group execute is set */
    WIRE_SET_KILL_SGID = 512,   /* likewise: clear set-group-id in any case */
};

enum wire_open_bits {
    WIRE_OPEN_TRUNCATE = 1,
    WIRE_OPEN_EXCLUSIVE = 2, /* create: must not exist */
    WIRE_OPEN_READ_ONLY = 4, /* nothing is written through this handle; the client's own affair */
};

enum wire_lock_type { WIRE_LOCK_NONE = 0, WIRE_LOCK_READ = 1, WIRE_LOCK_WRITE = 2 };

enum wire_memory_purpose {
    WIRE_MEMORY_WRITES = 1, /* data of shared_write */
    WIRE_MEMORY_READS = 2,  /* struct shared_reads: what the client has read without asking */
};

enum wire_write_bits { WIRE_WRITE_CREATE = 1, WIRE_WRITE_ZERO = 2 };
enum wire_action { WIRE_ACTION_SET_VERSION = 1, WIRE_ACTION_DELETE = 2, WIRE_ACTION_COPY = 3 };

enum wire_copy_state {
    WIRE_COPY_VALID = 1,
    WIRE_COPY_AWAY = 2,     /* its server is not connected */
    WIRE_COPY_DAMAGED = 3,
    WIRE_COPY_PENDING = 4,  /* a version change is on its way */
};

#define WIRE_KEEP_ALL 0xffffffffu
#define WIRE_BLOCKS_UNKNOWN 0xffffffffu
#define WIRE_QUARANTINED 0xffffffffu

#endif
