/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fs_calls.h"

#include <errno.h>

#include "client/fs_state.h"

int fs_calls_name(const char *name, struct wire_bytes *bytes)
{
    *bytes = wire_text(name);
    return bytes->length > WIRE_NAME_LIMIT ? -ENAMETOOLONG : 0;
}

int fs_calls_make(struct fs *fs, uint16_t type, const union wire_any *request, struct master_call *call)
{
    return master_session_call(fs->session, MASTER_ANY_GENERATION, type, request, call);
}

int fs_calls_attr(struct fs *fs, uint16_t type, const union wire_any *request, struct wire_attr *attr)
{
    struct master_call call;
    int rc = fs_calls_make(fs, type, request, &call);
    if (rc < 0)
        return rc;
    /* Replies that are one attr record have it at the same place. */
    *attr = call.reply.getattr_reply.attr;
    master_session_finish(fs->session, &call);
    return 0;
}

int fs_calls_plain(struct fs *fs, uint16_t type, const union wire_any *request)
{
    struct master_call call;
    int rc = fs_calls_make(fs, type, request, &call);
    if (rc == 0)
        master_session_finish(fs->session, &call);
    return rc;
}
