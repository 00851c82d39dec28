/* SPDX-License-Identifier: Apache-2.0
 *
 * Wire status codes: a list of their own, the same on every machine, with one table to errno. Part of every reply header.
 */
#ifndef CALF_WIRE_STATUS_H
#define CALF_WIRE_STATUS_H

#include <stdint.h>

/* S(name, number, errno, text) */
#define WIRE_STATUSES(S)                                                                                            \
    S(OK, 0, 0, "ok")                                                                                               \
    S(NOT_PERMITTED, 1, EPERM, "not permitted")                                                                     \
    S(NO_ENTRY, 2, ENOENT, "no such entry")                                                                         \
    S(IO, 3, EIO, "input/output error")                                                                             \
    S(EXISTS, 4, EEXIST, "exists")                                                                                  \
    S(NOT_DIRECTORY, 5, ENOTDIR, "not a directory")                                                                 \
    S(IS_DIRECTORY, 6, EISDIR, "is a directory")                                                                    \
    S(INVALID, 7, EINVAL, "invalid argument")                                                                       \
    S(NO_SPACE, 8, ENOSPC, "no space left")                                                                         \
    S(NOT_EMPTY, 9, ENOTEMPTY, "directory not empty")                                                               \
    S(NAME_TOO_LONG, 10, ENAMETOOLONG, "name too long")                                                             \
    S(NO_ATTRIBUTE, 11, ENODATA, "no such extended attribute")                                                      \
    S(NOT_SUPPORTED, 12, EOPNOTSUPP, "not supported")                                                               \
    S(TOO_BIG, 13, EFBIG, "file too large")                                                                         \
    S(TOO_MANY_LINKS, 14, EMLINK, "too many links")                                                                 \
    S(LOOP, 15, ELOOP, "would make a loop")                                                                         \
    S(STALE, 16, ESTALE, "inode is gone")                                                                           \
    S(AGAIN, 17, EAGAIN, "try again")                                                                               \
    S(BUSY, 18, EBUSY, "busy")                                                                                      \
    S(TIMED_OUT, 19, ETIMEDOUT, "timed out")                                                                        \
    S(ACCESS, 20, EACCES, "access denied")                                                                          \
    S(READ_ONLY, 21, EROFS, "read-only")                                                                            \
    S(RANGE, 22, ERANGE, "out of range")                                                                            \
    S(UNREACHABLE, 23, EHOSTUNREACH, "not reachable")                                                               \
    S(NO_MEMORY, 24, ENOMEM, "no memory")                                                                           \
    S(TOO_LARGE, 25, E2BIG, "value too large")                                                                      \
    S(LOCKED, 26, EALREADY, "somebody else has the lock")                                                           \
    S(NO_LOCKS, 27, ENOLCK, "too many locks")                                                                       \
    S(BAD_MESSAGE, 40, EBADMSG, "malformed or misplaced message")                                                   \
    S(WRONG_PROTOCOL, 41, EPROTONOSUPPORT, "protocol version not spoken here")                                      \
    S(WRONG_CLUSTER, 42, EXDEV, "belongs to another cluster")                                                       \
    S(NO_SESSION, 43, ENOTCONN, "session is not known or over")                                                     \
    S(EXCLUSIVE, 44, EUSERS, "an exclusive session lasts, or others keep one from being granted")                   \
    S(NO_CHUNK, 45, ENOMEDIUM, "no such chunk here")                                                                \
    S(WRONG_VERSION, 46, EKEYEXPIRED, "chunk has another version")                                                  \
    S(DAMAGED, 47, EUCLEAN, "does not match its checksum")                                                          \
    S(NO_SERVERS, 48, ENOLINK, "no chunkserver can be used")                                                        \
    S(WRONG_GEOMETRY, 49, EPROTO, "chunk geometry differs")                                                         \
    S(WRONG_SERVER, 50, ENXIO, "another chunkserver is at this address now")

enum wire_status {
#define WIRE_STATUS_ENUM(name, number, error, text) WIRE_##name = number,
    WIRE_STATUSES(WIRE_STATUS_ENUM)
#undef WIRE_STATUS_ENUM
};

/* The errno value (positive; 0 for WIRE_OK); EIO for a number not in the list. */
int wire_status_errno(uint16_t status);

/* The status for a negative errno (or 0); WIRE_IO if no row has it. The inverse of wire_status_errno. */
uint16_t wire_status_from_error(int error);

/* For people; never NULL. */
const char *wire_status_text(uint16_t status);

#endif
