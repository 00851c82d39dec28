/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: what clients were told, kept outside of the cluster, and what may therefore be read. It is no second file system:
 * a file here is its bytes as acknowledged, and the list of operations since a state that everybody must see.
 *
 * Each file has one writing client, so the order of its operations is known. An operation whose answer never came may have
 * happened or not; its file is retired: nobody writes it again, and every mixture of old and new is accepted. Data that
 * clients write has no zero byte, so a zero is a hole or a fault.
 */
#ifndef CALF_SIM_LEDGER_H
#define CALF_SIM_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum { LEDGER_FILE_LIMIT = 160 * 1024, LEDGER_NAME = 24 };

enum ledger_kind { LEDGER_WRITE, LEDGER_TRUNCATE };

struct ledger_op {
    enum ledger_kind kind;
    uint32_t offset, length; /* truncate: length is the new one */
    uint32_t stamp;          /* its bytes come from it */
    bool done;
};

/* A state of a file that is certain, and how many operations had begun then. */
struct ledger_state {
    uint8_t *value; /* room bytes; zeros from length on */
    uint32_t room, length, ops;
};

struct ledger_file {
    struct ledger_file *next;
    unsigned client; /* whose directory it is in */
    char name[LEDGER_NAME], other_name[LEDGER_NAME]; /* other: where an unanswered rename would have put it */
    uint64_t ino;    /* 0: its creation was not answered */
    bool retired, gone, maybe_gone;
    uint32_t moves;  /* creations, renames, unlinks begun or done */
    struct ledger_state now, closed, synced; /* what the writer sees; what everybody does; what survives a power loss */
    struct ledger_op *ops;
    uint32_t op_count;
    uint32_t power_losses; /* of the master, when it was last synced */
};

/* A record appended to a file that all clients share. */
struct ledger_record {
    uint32_t stamp, length;
    uint64_t at;
    bool done;
};

struct ledger_appends {
    uint64_t ino;
    struct ledger_record *records;
    uint32_t count;
    uint64_t known_length; /* acknowledged, closed */
};

extern struct ledger_file *ledger_files;
extern struct ledger_appends ledger_appends;
extern uint32_t ledger_power_losses;
extern uint64_t ledger_operations; /* that were answered */

/* The byte at position i of what an operation writes: never 0. */
uint8_t ledger_byte(uint32_t stamp, uint32_t i);
void ledger_fill(uint32_t stamp, uint8_t *into, uint32_t length);
uint32_t ledger_stamp(void); /* a new one */

struct ledger_file *ledger_create(unsigned client, const char *name);
struct ledger_file *ledger_find_ino(uint64_t ino);

/* A change begins, and is answered well. */
struct ledger_op *ledger_begin(struct ledger_file *file, enum ledger_kind kind, uint32_t offset, uint32_t length);
void ledger_end(struct ledger_file *file, uint32_t op);

void ledger_closed(struct ledger_file *file);
void ledger_synced(struct ledger_file *file);

/* A copy of a state, for somebody who opens the file now; ledger_drop frees it. */
struct ledger_state ledger_copy(const struct ledger_state *state);
void ledger_drop(struct ledger_state *state);

/* Judges what a read of `wanted` bytes at offset gave, `got` of them, by someone who may rely on base. NULL: it may be so. Else
 * what is wrong. */
const char *ledger_judge(const struct ledger_file *file, const struct ledger_state *base, uint32_t offset, uint32_t wanted,
                         const uint8_t *data, uint32_t got);

/* The state that a reader from now on may rely on, with power losses taken into account. */
const struct ledger_state *ledger_certain(const struct ledger_file *file);

/* Judges the whole content of the shared file. */
const char *ledger_judge_appends(const uint8_t *data, uint64_t length);

#endif
