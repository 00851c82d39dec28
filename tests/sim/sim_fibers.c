/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_fibers.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/check.h"
#include "tests/sim/sim_switch.h"

/* The libc's own: the calls of this program are wrapped too. */
void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

enum { STACK_BYTES = 512 * 1024, GUARD_BYTES = 4096, FIBERS_LIMIT = 4096, TLS_LIMIT = 512 };

enum fiber_state { FIBER_FREE, FIBER_READY, FIBER_WAITS, FIBER_ENDED };

struct sim_fiber {
    struct sim_context context;
    uint8_t *stack;
    unsigned number, node;
    enum fiber_state state;
    const void *key;
    int64_t wake_ns;
    bool timed_out;
    void *(*run)(void *argument);
    void *argument, *result;
    int saved_errno;
    uint8_t tls[TLS_LIMIT]; /* the program's thread-local variables while another fiber runs */
    void *keys[SIM_KEYS];
};

struct event {
    int64_t ns;
    uint64_t order;
    void (*run)(void *argument);
    void *argument;
};

static struct {
    uint64_t random[4], hash, steps;
    int64_t now_ns;
    bool print, stop;
    struct sim_context scheduler;
    struct sim_fiber *fibers[FIBERS_LIMIT]; /* by number - 1 */
    unsigned fiber_count;
    unsigned alive[FIBERS_LIMIT], alive_count; /* numbers, rising */
    struct sim_fiber *self;
    uint8_t *stacks[FIBERS_LIMIT]; /* for reuse */
    unsigned stack_count;
    struct event *events; /* a heap, the earliest first */
    size_t event_count, event_room;
    uint64_t event_order;
    uint8_t *tls; /* of the real thread: what the program's own _Thread_local variables lie in */
    size_t tls_bytes;
    uint8_t tls_initial[TLS_LIMIT];
    void (*destructors[SIM_KEYS])(void *value);
} world;

/* ---- randomness ---- */

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t sim_random(void)
{
    uint64_t *s = world.random, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t sim_below(uint64_t limit)
{
    return sim_random() % limit;
}

int64_t sim_between(int64_t low, int64_t high)
{
    return low + (int64_t)sim_below((uint64_t)(high - low) + 1);
}

bool sim_chance(unsigned per_mille)
{
    return sim_below(1000) < per_mille;
}

/* ---- trace ---- */

void sim_trace(const char *what, uint64_t a, uint64_t b)
{
    uint64_t text = 0;
    for (const char *at = what; *at; at++)
        text = text * 31 + (uint8_t)*at;
    unsigned fiber = world.self ? world.self->number : 0;
    world.hash = mix(world.hash ^ mix(text ^ mix(a ^ mix(b ^ mix((uint64_t)world.now_ns ^ (uint64_t)fiber << 52)))));
    if (world.print)
        printf("%12.6f node %u fiber %-3u %-12s %" PRIx64 " %" PRIx64 "\n", (double)world.now_ns / 1e9, sim_node(), fiber,
               what, a, b);
}

bool sim_is_printing(void)
{
    return world.print;
}

uint64_t sim_hash(void)
{
    return world.hash;
}

/* ---- events ---- */

int64_t sim_now(void)
{
    return world.now_ns;
}

void sim_pass(int64_t ns)
{
    world.now_ns += ns;
}

static bool is_before(const struct event *a, const struct event *b)
{
    return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

static void swap_events(size_t i, size_t j)
{
    struct event e = world.events[i];
    world.events[i] = world.events[j];
    world.events[j] = e;
}

void sim_at(int64_t ns, void (*run)(void *argument), void *argument)
{
    if (world.event_count == world.event_room) {
        world.event_room = world.event_room ? 2 * world.event_room : 256;
        world.events = check_alloc(realloc(world.events, world.event_room * sizeof *world.events));
    }
    size_t i = world.event_count++;
    world.events[i] = (struct event){ns < world.now_ns ? world.now_ns : ns, world.event_order++, run, argument};
    for (; i && is_before(&world.events[i], &world.events[(i - 1) / 2]); i = (i - 1) / 2)
        swap_events(i, (i - 1) / 2);
}

static struct event take_event(void)
{
    struct event first = world.events[0];
    world.events[0] = world.events[--world.event_count];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < world.event_count && is_before(&world.events[left], &world.events[least]))
            least = left;
        if (right < world.event_count && is_before(&world.events[right], &world.events[least]))
            least = right;
        if (least == i)
            return first;
        swap_events(i, least);
        i = least;
    }
}

static void run_events(void)
{
    while (world.event_count && world.events[0].ns <= world.now_ns && !world.stop) {
        struct event event = take_event();
        event.run(event.argument);
    }
}

/* ---- fibers ---- */

struct sim_fiber *sim_self(void)
{
    return world.self;
}

unsigned sim_node(void)
{
    return world.self ? world.self->node : 0;
}

unsigned sim_fiber_number(const struct sim_fiber *fiber)
{
    return fiber->number;
}

struct sim_fiber *sim_fiber_find(unsigned number)
{
    return number >= 1 && number <= world.fiber_count ? world.fibers[number - 1] : NULL;
}

void **sim_key_slot(unsigned key)
{
    static void *outside[SIM_KEYS];
    CHECK(key < SIM_KEYS);
    return world.self ? &world.self->keys[key] : &outside[key];
}

void sim_key_destructor(unsigned key, void (*destroy)(void *value))
{
    world.destructors[key] = destroy;
}

static void leave(void)
{
    sim_context_switch(&world.self->context, &world.scheduler);
}

static void enter_fiber(void)
{
    struct sim_fiber *self = world.self;
    self->result = self->run(self->argument);
    for (unsigned i = 0; i < SIM_KEYS; i++)
        if (self->keys[i] && world.destructors[i])
            world.destructors[i](self->keys[i]);
    self->state = FIBER_ENDED;
    sim_wake(self);
    leave();
    abort();
}

static uint8_t *take_stack(void)
{
    if (world.stack_count)
        return world.stacks[--world.stack_count];
    uint8_t *stack = __real_mmap64(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(stack != MAP_FAILED && mprotect(stack, GUARD_BYTES, PROT_NONE) == 0);
    return stack;
}

struct sim_fiber *sim_spawn(unsigned node, void *(*run)(void *argument), void *argument)
{
    CHECK(world.fiber_count < FIBERS_LIMIT);
    struct sim_fiber *fiber = check_alloc(calloc(1, sizeof *fiber));
    fiber->number = world.fiber_count + 1;
    fiber->node = node;
    fiber->run = run;
    fiber->argument = argument;
    fiber->state = FIBER_READY;
    fiber->stack = take_stack();
    memcpy(fiber->tls, world.tls_initial, world.tls_bytes);
    sim_context_make(&fiber->context, fiber->stack, STACK_BYTES, enter_fiber);
    world.fibers[world.fiber_count++] = fiber;
    world.alive[world.alive_count++] = fiber->number;
    sim_trace("spawn", fiber->number, node);
    return fiber;
}

static void forget(struct sim_fiber *fiber)
{
    fiber->state = FIBER_FREE;
    world.stacks[world.stack_count++] = fiber->stack;
    fiber->stack = NULL;
}

void *sim_join(struct sim_fiber *fiber)
{
    while (fiber->state != FIBER_ENDED && fiber->state != FIBER_FREE)
        (void)sim_wait(fiber, SIM_NEVER);
    return fiber->result;
}

void sim_yield(void)
{
    if (!world.self)
        return;
    world.now_ns += (int64_t)sim_below(2000);
    leave();
}

bool sim_wait(const void *key, int64_t deadline_ns)
{
    struct sim_fiber *self = world.self;
    CHECK(self);
    self->state = FIBER_WAITS;
    self->key = key;
    self->wake_ns = deadline_ns;
    self->timed_out = false;
    leave();
    return !self->timed_out;
}

void sim_sleep(int64_t ns)
{
    (void)sim_wait(NULL, world.now_ns + (ns > 0 ? ns : 0));
}

static void make_ready(struct sim_fiber *fiber, bool timed_out)
{
    fiber->state = FIBER_READY;
    fiber->timed_out = timed_out;
    fiber->key = NULL;
}

void sim_wake(const void *key)
{
    for (unsigned i = 0; i < world.alive_count; i++) {
        struct sim_fiber *fiber = world.fibers[world.alive[i] - 1];
        if (fiber->state == FIBER_WAITS && fiber->key == key && key)
            make_ready(fiber, false);
    }
}

void sim_wake_one(const void *key)
{
    struct sim_fiber *chosen = NULL;
    uint64_t seen = 0;
    for (unsigned i = 0; i < world.alive_count; i++) {
        struct sim_fiber *fiber = world.fibers[world.alive[i] - 1];
        if (fiber->state == FIBER_WAITS && fiber->key == key && sim_below(++seen) == 0)
            chosen = fiber;
    }
    if (chosen)
        make_ready(chosen, false);
}

void sim_drop_node(unsigned node)
{
    sim_trace("drop", node, 0);
    for (unsigned i = 0; i < world.alive_count; i++) {
        struct sim_fiber *fiber = world.fibers[world.alive[i] - 1];
        if (fiber->node == node && fiber->state != FIBER_FREE)
            fiber->state = FIBER_ENDED;
    }
    if (world.self && world.self->node == node) {
        leave();
        abort();
    }
}

/* ---- the scheduler ---- */

static void switch_to(struct sim_fiber *fiber)
{
    world.self = fiber;
    memcpy(world.tls, fiber->tls, world.tls_bytes);
    errno = fiber->saved_errno;
    world.hash = mix(world.hash ^ fiber->number ^ (uint64_t)world.now_ns << 12);
    sim_context_switch(&world.scheduler, &fiber->context);
    fiber->saved_errno = errno;
    memcpy(fiber->tls, world.tls, world.tls_bytes);
    world.self = NULL;
}

/* Drops who has ended, wakes who has waited long enough, and draws one of those that can run. *next_ns: when the first of
 * the others will. */
static struct sim_fiber *choose(int64_t *next_ns)
{
    struct sim_fiber *chosen = NULL;
    uint64_t ready = 0;
    unsigned kept = 0;
    *next_ns = world.event_count ? world.events[0].ns : SIM_NEVER;
    for (unsigned i = 0; i < world.alive_count; i++) {
        struct sim_fiber *fiber = world.fibers[world.alive[i] - 1];
        if (fiber->state == FIBER_ENDED) {
            forget(fiber);
            continue;
        }
        world.alive[kept++] = fiber->number;
        if (fiber->state == FIBER_WAITS && fiber->wake_ns <= world.now_ns)
            make_ready(fiber, true);
        if (fiber->state == FIBER_WAITS && fiber->wake_ns < *next_ns)
            *next_ns = fiber->wake_ns;
        if (fiber->state == FIBER_READY && sim_below(++ready) == 0)
            chosen = fiber;
    }
    world.alive_count = kept;
    return chosen;
}

void sim_run(void)
{
    while (!world.stop) {
        int64_t next_ns;
        run_events();
        struct sim_fiber *fiber = choose(&next_ns);
        world.steps++;
        if (fiber)
            switch_to(fiber);
        else if (next_ns == SIM_NEVER)
            return;
        else if (next_ns > world.now_ns)
            world.now_ns = next_ns;
    }
}

void sim_stop(void)
{
    world.stop = true;
}

/* Only the program itself: what libraries keep per thread (errno, memory arenas) may be shared by the fibers. */
static int find_tls(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    (void)bytes;
    (void)argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_TLS)
            continue;
        world.tls = info->dlpi_tls_data;
        world.tls_bytes = info->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the program comes first */
}

void sim_begin(uint64_t seed, bool print)
{
    for (unsigned i = 0; i < 4; i++)
        world.random[i] = mix(seed * 4 + i);
    world.print = print;
    world.hash = mix(seed);
    (void)dl_iterate_phdr(find_tls, NULL);
    CHECK(world.tls_bytes <= TLS_LIMIT);
    if (world.tls_bytes)
        memcpy(world.tls_initial, world.tls, world.tls_bytes);
}
