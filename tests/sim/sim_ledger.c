/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

struct ledger_file *ledger_files;
struct ledger_appends ledger_appends;
uint32_t ledger_power_losses;
uint64_t ledger_operations;

uint8_t ledger_byte(uint32_t stamp, uint32_t i)
{
    uint32_t h = stamp * UINT32_C(2654435761) ^ (i + 1) * UINT32_C(2246822519);
    return (uint8_t)(1 + (h >> 13) % 255);
}

void ledger_fill(uint32_t stamp, uint8_t *into, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        into[i] = ledger_byte(stamp, i);
}

uint32_t ledger_stamp(void)
{
    static uint32_t last;
    return ++last;
}

static void make_room(struct ledger_state *state, uint32_t room)
{
    if (room <= state->room)
        return;
    state->value = check_alloc(realloc(state->value, room));
    memset(state->value + state->room, 0, room - state->room);
    state->room = room;
}

struct ledger_file *ledger_create(unsigned client, const char *name)
{
    struct ledger_file *file = check_alloc(calloc(1, sizeof *file));
    file->client = client;
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    file->moves = 1;
    file->power_losses = ledger_power_losses; /* its creation is synced */
    file->next = ledger_files;
    ledger_files = file;
    return file;
}

struct ledger_file *ledger_find_ino(uint64_t ino)
{
    struct ledger_file *file = ledger_files;
    while (file && file->ino != ino)
        file = file->next;
    return file;
}

/* ---- changes ---- */

struct ledger_op *ledger_begin(struct ledger_file *file, enum ledger_kind kind, uint32_t offset, uint32_t length)
{
    file->ops = check_alloc(realloc(file->ops, (file->op_count + 1) * sizeof *file->ops));
    struct ledger_op *op = &file->ops[file->op_count++];
    *op = (struct ledger_op){.kind = kind, .offset = offset, .length = length, .stamp = ledger_stamp()};
    return op;
}

static void assign(struct ledger_state *to, const struct ledger_state *from)
{
    make_room(to, from->length);
    if (from->length)
        memcpy(to->value, from->value, from->length);
    if (to->length > from->length)
        memset(to->value + from->length, 0, to->length - from->length);
    to->length = from->length;
    to->ops = from->ops;
}

void ledger_end(struct ledger_file *file, uint32_t number)
{
    struct ledger_op *op = &file->ops[number];
    struct ledger_state *now = &file->now;
    op->done = true;
    now->ops = file->op_count;
    if (op->kind == LEDGER_TRUNCATE) {
        if (op->length < now->length)
            memset(now->value + op->length, 0, now->length - op->length);
        now->length = op->length;
        make_room(now, now->length);
        /* The master itself has it, and all that was published before. */
        assign(&file->closed, now);
        ledger_synced(file);
        return;
    }
    make_room(now, op->offset + op->length);
    /* For the writer only: it may still lie in its client's memory. */
    for (uint32_t i = 0; i < op->length; i++)
        now->value[op->offset + i] = ledger_byte(op->stamp, i);
    if (op->offset + op->length > now->length)
        now->length = op->offset + op->length;
}

void ledger_closed(struct ledger_file *file)
{
    file->now.ops = file->op_count;
    assign(&file->closed, &file->now);
}

void ledger_synced(struct ledger_file *file)
{
    ledger_closed(file);
    assign(&file->synced, &file->now);
    file->power_losses = ledger_power_losses;
}

struct ledger_state ledger_copy(const struct ledger_state *state)
{
    struct ledger_state copy = {0};
    assign(&copy, state);
    return copy;
}

void ledger_drop(struct ledger_state *state)
{
    free(state->value);
    state->value = NULL;
}

const struct ledger_state *ledger_certain(const struct ledger_file *file)
{
    return file->power_losses == ledger_power_losses ? &file->closed : &file->synced;
}

/* ---- judging ---- */

static bool may_hold(const struct ledger_file *file, const struct ledger_state *base, uint32_t at, uint8_t byte)
{
    if (at < base->length && base->value[at] == byte)
        return true;
    for (uint32_t i = base->ops; i < file->op_count; i++) {
        const struct ledger_op *op = &file->ops[i];
        bool inside = at >= op->offset && at - op->offset < op->length;
        if (op->kind == LEDGER_WRITE && inside && ledger_byte(op->stamp, at - op->offset) == byte)
            return true;
        /* A hole: cut off here, or jumped over. */
        if (byte == 0 && op->kind == LEDGER_TRUNCATE && (at >= op->length || at >= base->length))
            return true;
        if (byte == 0 && op->kind == LEDGER_WRITE && at >= base->length && op->offset > at)
            return true;
    }
    return false;
}

static void find_lengths(const struct ledger_file *file, const struct ledger_state *base, uint32_t *low, uint32_t *high)
{
    *low = *high = base->length;
    for (uint32_t i = base->ops; i < file->op_count; i++) {
        const struct ledger_op *op = &file->ops[i];
        uint32_t end = op->kind == LEDGER_WRITE ? op->offset + op->length : op->length;
        if (end > *high)
            *high = end;
        if (op->kind == LEDGER_TRUNCATE && op->length < *low)
            *low = op->length;
    }
}

const char *ledger_judge(const struct ledger_file *file, const struct ledger_state *base, uint32_t offset, uint32_t wanted,
                         const uint8_t *data, uint32_t got)
{
    static char what[200];
    uint32_t low, high;
    find_lengths(file, base, &low, &high);
    uint32_t least = offset >= low ? 0 : low - offset < wanted ? low - offset : wanted;
    if (got < least || (got && offset + got > high)) {
        (void)snprintf(what, sizeof what, "%u bytes at %u of %s (ino %llu), where the length is between %u and %u", got, offset,
                       file->name, (unsigned long long)file->ino, low, high);
        return what;
    }
    for (uint32_t i = 0; i < got; i++) {
        if (may_hold(file, base, offset + i, data[i]))
            continue;
        (void)snprintf(what, sizeof what, "byte %u of %s (ino %llu) is %u%s; certain: %u of length %u, %u operations after it",
                       offset + i, file->name, (unsigned long long)file->ino, data[i],
                       data[i] ? "" : ", a zero that nobody wrote",
                       offset + i < base->length ? base->value[offset + i] : 0, base->length,
                       file->op_count - base->ops);
        return what;
    }
    return NULL;
}

/* ---- appends ---- */

static uint32_t matching(const struct ledger_record *record, const uint8_t *data, uint64_t room)
{
    uint32_t n = 0;
    while (n < record->length && n < room && data[n] == ledger_byte(record->stamp, n))
        n++;
    return n;
}

/* Bytes between acknowledged records: whole or first parts of records that were never answered. */
static const char *judge_gap(const uint8_t *data, uint64_t from, uint64_t to)
{
    static char what[120];
    while (from < to) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < ledger_appends.count; i++) {
            const struct ledger_record *record = &ledger_appends.records[i];
            uint32_t n = record->done ? 0 : matching(record, data + from, to - from);
            best = n > best ? n : best;
        }
        if (best == 0) {
            (void)snprintf(what, sizeof what, "byte %llu of the shared file is %u, which nobody appended there",
                           (unsigned long long)from, data[from]);
            return what;
        }
        from += best;
    }
    return NULL;
}

static int by_place(const void *a, const void *b)
{
    const struct ledger_record *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

const char *ledger_judge_appends(const uint8_t *data, uint64_t length)
{
    static char what[160];
    uint64_t done = 0;
    qsort(ledger_appends.records, ledger_appends.count, sizeof *ledger_appends.records, by_place);
    for (uint32_t i = 0; i < ledger_appends.count; i++) {
        const struct ledger_record *record = &ledger_appends.records[i];
        if (!record->done)
            continue;
        if (record->at < done || record->at + record->length > length ||
            matching(record, data + record->at, record->length) < record->length) {
            (void)snprintf(what, sizeof what, "the record of %u bytes appended at %llu is not there (length %llu, %llu read so far)",
                           record->length, (unsigned long long)record->at, (unsigned long long)length,
                           (unsigned long long)done);
            return what;
        }
        const char *wrong = judge_gap(data, done, record->at);
        if (wrong)
            return wrong;
        done = record->at + record->length;
    }
    return judge_gap(data, done, length);
}
