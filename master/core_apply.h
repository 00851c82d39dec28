/* SPDX-License-Identifier: Apache-2.0
 *
 * One function for each change of the schema: validates, then changes, then fills the reply. A message of class
 * change or a journal record without its function does not build. Rules of core_apply (core.h) hold for each.
 */
#ifndef CALF_CORE_APPLY_H
#define CALF_CORE_APPLY_H

#include "master/core.h"

#define CORE_APPLY_DECLARE_query(name)
#define CORE_APPLY_DECLARE_derived(name)
#define CORE_APPLY_DECLARE_change(name)                                                                              \
    uint16_t core_apply_##name(struct core *core, const struct core_change *change, const struct wire_##name *request, \
                               struct wire_##name##_reply *reply) __attribute__((warn_unused_result));
#define CORE_APPLY_DECLARE(name, number, class, payload, reply_payload, meaning) CORE_APPLY_DECLARE_##class(name)
WIRE_MASTER_MESSAGES(CORE_APPLY_DECLARE)

#define CORE_APPLY_DECLARE_JOURNAL(name, number, meaning)                                                            \
    uint16_t core_apply_##name(struct core *core, const struct core_change *change, const struct wire_##name *record) \
        __attribute__((warn_unused_result));
WIRE_JOURNAL_RECORDS(CORE_APPLY_DECLARE_JOURNAL)

#endif
