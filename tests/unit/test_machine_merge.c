/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of several machines become those of one load, and histograms survive the way between machines, damaged ones do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "iobench/machine_merge.h"
#include "iobench/machine_wire.h"

static struct histogram latencies[3];

static struct sample part_sample(uint64_t bytes, int64_t elapsed_ns, uint64_t least, uint64_t mean, uint64_t most)
{
    return (struct sample){.test = TEST_READ, .threads = 2, .block_bytes = 4096, .bytes = bytes, .operations = bytes / 4096,
                           .elapsed_ns = elapsed_ns, .first_done_ns = elapsed_ns / 2, .first_done_bytes = bytes / 2,
                           .worker_rates = {least, mean, most, 0}, .start_wall_ns = elapsed_ns,
                           .cpu = {.machine_busy_s = 4, .workers_s = 1, .steal_s = 0.5}, .memory = {.machine = 1000, .iobench = 10}};
}

static void figures_add_up(void **unused)
{
    (void)unused;
    const struct sample a = part_sample(4096000, 1000000000, 1000, 2048000, 3000000),
                        b = part_sample(8192000, 2000000000, 500, 2048000, 4000000),
                        c = part_sample(4096000, 4000000000, 2000, 512000, 600000);
    for (int i = 0; i < 3; i++)
        histogram_init(&latencies[i]);
    for (int i = 0; i < 99; i++)
        histogram_record(&latencies[0], 100);
    histogram_record(&latencies[2], 100000);
    const struct machine_part parts[] = {{&a, &latencies[0], "one"}, {&b, &latencies[1], "two"}, {&c, &latencies[2], "one"}};
    struct sample all = {.test = TEST_READ, .threads = 2, .round = 7};
    machine_merge(parts, 3, &all);
    assert_int_equal(all.round, 7);
    assert_int_equal(all.bytes, 16384000);
    assert_int_equal(all.operations, 4000);
    assert_int_equal(all.elapsed_ns, 4000000000);
    assert_int_equal(all.start_wall_ns, 1000000000);
    assert_int_equal(all.worker_rates.min, 500);
    assert_int_equal(all.worker_rates.max, 4000000);
    assert_int_equal(all.worker_rates.mean, (2 * 2048000 + 2 * 2048000 + 2 * 512000) / 6);
    assert_int_equal(all.machine_rates.min, 1024000);
    assert_int_equal(all.machine_rates.max, 4096000);
    assert_int_equal(all.machine_rates.mean_inner, 4096000);
    assert_int_equal(all.instances.count, 3);
    assert_int_equal(all.instances.slowest_permille, 250);
    /* Until half a second: 2048000 of the first; half of the second's and a quarter of the third's first halves. */
    assert_int_equal(all.first_done_ns, 500000000);
    assert_int_equal(all.first_done_bytes, 2048000 + 2048000 + 512000);
    /* Two containers of one machine: its busy time counts once, what the workers used adds up. */
    assert_true(all.cpu.machine_busy_s == 8 && all.cpu.workers_s == 3 && all.cpu.steal_s == 1);
    assert_int_equal(all.memory.machine, 2000);
    assert_int_equal(all.memory.iobench, 30);
    assert_int_equal(all.latency.p50_ns, 100);
    assert_int_equal(all.latency.max_ns, 100000);
    assert_int_equal(all.latency.mean_ns, (99 * 100 + 100000) / 100);
}

static void series_add_up(void **unused)
{
    (void)unused;
    struct sample_interval first[] = {{100, 1000}, {200, 1000}}, second[] = {{150, 300}, {400, 500}};
    struct sample a = part_sample(2000 * 4096, 200, 1, 1, 1), b = part_sample(800 * 4096, 400, 1, 1, 1);
    a.intervals = first;
    b.intervals = second;
    a.interval_count = b.interval_count = 2;
    histogram_init(&latencies[0]);
    const struct machine_part parts[] = {{&a, &latencies[0], ""}, {&b, &latencies[0], ""}};
    struct sample all = {.test = TEST_READ};
    machine_merge(parts, 2, &all);
    assert_int_equal(all.interval_count, 2);
    assert_int_equal(all.intervals[0].end_ns, 150);
    assert_int_equal(all.intervals[0].operations, 1500 + 300);
    assert_int_equal(all.intervals[1].end_ns, 400);
    assert_int_equal(all.intervals[1].operations, 500 + 500);
    sample_fini(&all);
}

static void histograms_travel(void **unused)
{
    (void)unused;
    static uint8_t packed[MACHINE_WIRE_HISTOGRAM];
    static struct histogram back;
    struct histogram *h = &latencies[0];
    histogram_init(h);
    for (int64_t ns = 1; ns < INT64_C(1) << 44; ns *= 3)
        histogram_record(h, ns);
    size_t bytes = machine_wire_pack(h, packed);
    assert_int_equal(machine_wire_unpack(packed, bytes, &back), 0);
    assert_memory_equal(&back, h, sizeof back);
    assert_int_equal(machine_wire_unpack(packed, bytes - 8, &back), -EINVAL);
    assert_int_equal(machine_wire_unpack(packed, bytes - 16, &back), -EINVAL);
    assert_int_equal(machine_wire_unpack(packed, 0, &back), -EINVAL);
    packed[32 + 5] = 1; /* no such slot */
    assert_int_equal(machine_wire_unpack(packed, bytes, &back), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_add_up),
        cmocka_unit_test(series_add_up),
        cmocka_unit_test(histograms_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
