/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/units.h"
#include "iobench/table_parts.h"

static void add_time(struct table_line *line, int64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / 1000000000);
    struct tm fields;
    char text[32];
    if (gmtime_r(&seconds, &fields) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &fields) > 0)
        table_line_add(line, "%s", text);
}

static void print_machine(const struct table_page *page, const struct result_environment *e)
{
    struct table_line line = {0};
    char memory[UNITS_TEXT];
    table_line_add(&line, "%s; %s; %u CPUs, %s", e->hostname, e->cpu_model, e->cpus,
                   units_format_bytes(e->memory_bytes, memory));
    if (e->virtualization[0])
        table_line_add(&line, "; virtualization %s", e->virtualization);
    table_paragraph(page, "machine     ", &line);
    line = (struct table_line){0};
    table_line_add(&line, "kernel %s; %s", e->kernel, e->os);
    if (e->container_runtime[0])
        table_line_add(&line, "; %s", e->container_runtime);
    table_paragraph(page, "system      ", &line);
}

/* On a virtual machine the wake-up of a halted core decides small-block figures, so its setting stands in every table. */
static void print_idle(const struct table_page *page, const struct result_environment *e)
{
    struct table_line line = {0};
    const char *unknown = "unknown";
    table_line_add(&line, "cpuidle %s/%s, frequency governor %s", e->cpuidle_driver[0] ? e->cpuidle_driver : unknown,
                   e->cpuidle_governor[0] ? e->cpuidle_governor : unknown,
                   e->frequency_governor[0] ? e->frequency_governor : unknown);
    /* The parameter exists without its driver too, and then does nothing. */
    if (e->guest_halt_poll_ns > 0 && strcmp(e->cpuidle_driver, "haltpoll") == 0)
        table_line_add(&line, ", guest_halt_poll_ns %lld: idle cores poll before they halt",
                       (long long)e->guest_halt_poll_ns);
    else if (e->guest_halt_poll_ns >= 0)
        table_line_add(&line, ", guest_halt_poll_ns %lld: idle cores halt at once, so figures for small blocks measure the "
                              "hypervisor's wake-up first; compare only what was measured under one setting",
                       (long long)e->guest_halt_poll_ns);
    table_paragraph(page, "idle cores  ", &line);
}

/* "64m a worker", or "8m 32m 64m a worker (by block size)". */
static void add_file_sizes(struct table_line *line, const struct result *r)
{
    char size[UNITS_TEXT];
    table_line_add(line, ", ");
    if (r->file_bytes)
        table_line_add(line, "%s ", units_format_size(r->file_bytes, size));
    for (uint32_t i = 0; r->file_bytes == 0 && i < r->block_count; i++)
        table_line_add(line, "%s ", units_format_size(r->file_bytes_by_block[i], size));
    table_line_add(line, r->file_bytes ? "a worker" : "a worker (by block size)");
}

/* "interval", or "bare interval, other always" where the scenarios differ. */
static void add_journal_modes(struct table_line *line, const struct result *r)
{
    bool same = true;
    for (uint32_t i = 1; i < r->scenario_count; i++)
        same = same && strcmp(r->scenarios[i].journal_mode, r->scenarios[0].journal_mode) == 0;
    table_line_add(line, ", journal ");
    for (uint32_t i = 0; i < r->scenario_count && (i == 0 || !same); i++) {
        const struct scenario_info *s = &r->scenarios[i];
        const char *mode = s->journal_mode[0] ? s->journal_mode : "unknown";
        if (same)
            table_line_add(line, "%s", mode);
        else
            table_line_add(line, "%s%s (%s)", i ? " " : "", mode, s->name);
    }
}

/* What is not as usual about the load. */
static void add_load(struct table_line *line, const struct result *r)
{
    if (r->sync != SYNC_FSYNC)
        table_line_add(line, ", sync %s%s", sync_mode_name(r->sync),
                       r->sync == SYNC_NONE ? " (what was written may still have been in caches)" : "");
    if (r->msync[0])
        table_line_add(line, ", msync %s", r->msync);
    if (r->queue_depth > 1)
        table_line_add(line, ", depth %u", r->queue_depth);
    if (r->shared_file)
        table_line_add(line, ", one shared file");
    if (r->processes)
        table_line_add(line, ", workers are processes");
    if (r->replacement)
        table_line_add(line, ", random blocks with replacement");
    if (r->rate_limit)
        table_line_add(line, ", at most %llu operations/s", (unsigned long long)r->rate_limit);
    if (r->duration_ns)
        table_line_add(line, ", %lld s a run", (long long)(r->duration_ns / NS_PER_S));
    if (r->cpus[0])
        table_line_add(line, ", on CPUs %s", r->cpus);
    if (r->numa_node[0])
        table_line_add(line, ", memory of node %s", r->numa_node);
}

static void print_setting(const struct table_page *page, const struct result *r)
{
    struct table_line line = {0};
    table_line_add(&line, "cache %s", cache_mode_name(r->cache));
    add_journal_modes(&line, r);
    table_line_add(&line, ", engine %s", r->engine[0] ? r->engine : "unknown");
    add_load(&line, r);
    add_file_sizes(&line, r);
    table_line_add(&line, ", %u rounds planned, interleaved", r->rounds_planned);
    if (r->preset[0])
        table_line_add(&line, ", preset %s", r->preset);
    table_line_add(&line, ", seed %llu", (unsigned long long)r->seed);
    table_paragraph(page, "setting     ", &line);
}

/* The same bytes should run everywhere, or a table compares more than deployments. */
static void print_versions(const struct table_page *page, const struct result *r)
{
    struct table_line line = {0};
    const char *hash = NULL;
    bool differ = false;
    table_line_add(&line, "%s", r->version);
    if (r->iobench_hash[0])
        table_line_add(&line, ", sha256 of iobench %.12s", r->iobench_hash);
    for (uint32_t i = 0; i < r->scenario_count; i++) {
        if (!r->scenarios[i].binary_hash[0])
            continue;
        differ = differ || (hash && strcmp(hash, r->scenarios[i].binary_hash) != 0);
        hash = r->scenarios[i].binary_hash;
    }
    if (hash && !differ)
        table_line_add(&line, ", of the client behind the mounts %.12s", hash);
    for (uint32_t i = 0; differ && i < r->scenario_count; i++)
        if (r->scenarios[i].binary_hash[0])
            table_line_add(&line, ", of %s %.12s", r->scenarios[i].name, r->scenarios[i].binary_hash);
    if (differ)
        table_line_add(&line, ": the clients DIFFER, so this compares programs as well as deployments");
    table_paragraph(page, "version     ", &line);
}

static void print_deployments(const struct table_page *page, size_t result_index)
{
    const struct comparison *c = page->comparison;
    for (size_t i = 0; i < c->arm_count; i++) {
        const struct compare_arm *arm = &c->arms[i];
        if (arm->result != c->results[result_index])
            continue;
        const struct scenario_info *s = &arm->result->scenarios[arm->scenario];
        struct table_line line = {0};
        table_line_add(&line, "%s%s%s", arm->name, i == c->baseline ? " (baseline)" : "",
                       arm->noise ? " (the baseline again, for the noise floor)" : "");
        if (s->fs_type[0])
            table_line_add(&line, ": %s", s->fs_type);
        if (s->mount_source[0])
            table_line_add(&line, " from %s", s->mount_source);
        if (s->directory[0])
            table_line_add(&line, " at %s", s->directory);
        if (!arm->noise && i != c->baseline && !arm->paired && !arm->result->earlier_figures)
            table_line_add(&line, " (no pairs with the baseline: rank test, weaker)");
        table_paragraph(page, "deployment  ", &line);
    }
}

static void print_warnings(const struct table_page *page, const struct result *r)
{
    struct table_line line = {0};
    if (r->smoke_test)
        table_line_add(&line, "SMOKE TEST: a quick preset, made to see that everything works. Its figures are no evidence. ");
    if (!r->complete)
        table_line_add(&line, "INCOMPLETE: the sweep was interrupted; what is missing is left out. ");
    if (line.used > 0)
        table_paragraph(page, "", &line);
}

static void print_result(const struct table_page *page, size_t index)
{
    const struct result *r = page->comparison->results[index];
    struct table_line line = {0};
    if (r->earlier_figures) {
        table_line_add(&line, "figures from %s: a CSV of earlier measurements; machine, settings and versions are not in it",
                       r->label);
        table_paragraph(page, "source      ", &line);
        print_deployments(page, index);
        return;
    }
    if (r->label[0]) {
        table_line_add(&line, "%s", r->label);
        table_paragraph(page, "label       ", &line);
    }
    print_machine(page, &r->environment);
    print_idle(page, &r->environment);
    print_setting(page, r);
    print_versions(page, r);
    line = (struct table_line){0};
    add_time(&line, r->started_wall_ns);
    table_line_add(&line, " to ");
    add_time(&line, r->finished_wall_ns);
    table_paragraph(page, "measured    ", &line);
    print_deployments(page, index);
    if (page->style->markdown)
        fputc('\n', page->out);
    print_warnings(page, r);
}

void table_head_print(const struct table_page *page)
{
    const struct comparison *c = page->comparison;
    fprintf(page->out, "%siobench: %zu cells, %zu deployments, up to %zu rounds\n%s", page->style->markdown ? "# " : "",
            c->cell_count, c->arm_count, c->most_rounds, page->style->markdown ? "\n" : "");
    for (size_t i = 0; i < c->result_count; i++) {
        if (i > 0)
            fputc('\n', page->out);
        print_result(page, i);
    }
}
