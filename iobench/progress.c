/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "iobench/text_print.h"

#define TERMINAL_EVERY_NS (200 * NS_PER_MS)
#define PLAIN_EVERY_NS (10 * NS_PER_S)

void progress_init(struct progress *p, uint64_t runs, double estimate_s)
{
    memset(p, 0, sizeof *p);
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    p->color = p->terminal && !(no_color && no_color[0]);
    p->runs = runs;
    p->estimate_total_s = estimate_s;
    p->started_ns = p->shown_ns = clock_mono_ns();
    p->phase = "";
}

double progress_eta_s(const struct progress *p, int64_t now_ns)
{
    double left = p->estimate_total_s - p->estimate_done_s;
    double elapsed = (double)(now_ns - p->started_ns) / 1e9;
    if (p->estimate_done_s > 0 && elapsed > 0)
        left *= elapsed / p->estimate_done_s;
    return left > 0 ? left : 0;
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

static void show(struct progress *p, bool now_please)
{
    int64_t now = clock_mono_ns();
    if (p->quiet)
        return;
    if (now - p->shown_ns < (p->terminal ? TERMINAL_EVERY_NS : PLAIN_EVERY_NS) && !(now_please && p->terminal))
        return;
    p->shown_ns = now;
    uint64_t eta = (uint64_t)progress_eta_s(p, now);
    char line[1024];
    text_print(line, sizeof line, "[%llu/%llu] round %u/%u %s: %s, %s%s%s, ETA %llu:%02llu",
               (unsigned long long)p->run, (unsigned long long)p->runs, p->round + 1, p->rounds, p->scenario,
               p->cell, p->phase, p->detail[0] ? " " : "", p->detail, (unsigned long long)(eta / 60),
               (unsigned long long)(eta % 60));
    if (!p->terminal) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    /* One column short: a full line would wrap in some terminals, and then stay. */
    size_t most = columns() - 1;
    if (strlen(line) > most && most < sizeof line)
        line[most] = '\0';
    fprintf(stderr, "\r%s%s%s\033[K", p->color ? "\033[36m" : "", line, p->color ? "\033[0m" : "");
    p->line_shown = true;
}

void progress_run(struct progress *p, uint64_t run, uint32_t round, uint32_t rounds, const char *scenario,
                  const char *cell)
{
    p->run = run;
    p->round = round;
    p->rounds = rounds;
    text_print(p->scenario, sizeof p->scenario, "%s", scenario);
    text_print(p->cell, sizeof p->cell, "%s", cell);
}

void progress_phase(struct progress *p, const char *phase)
{
    p->phase = phase;
    p->detail[0] = '\0';
    p->p99_ns = 0;
    show(p, true);
}

bool progress_wants_p99(const struct progress *p)
{
    int64_t every = p->terminal ? NS_PER_S : PLAIN_EVERY_NS;
    int64_t due = p->terminal ? p->p99_seen_ns : p->shown_ns;
    return !p->quiet && clock_mono_ns() - due >= every;
}

void progress_p99(struct progress *p, uint64_t p99_ns)
{
    p->p99_ns = p99_ns;
    p->p99_seen_ns = clock_mono_ns();
}

void progress_moving(struct progress *p, uint64_t bytes, int64_t elapsed_ns, const char *stuck)
{
    if (stuck)
        text_print(p->detail, sizeof p->detail, "(%s)", stuck);
    else if (elapsed_ns > 0 && p->p99_ns > 0)
        text_print(p->detail, sizeof p->detail, "%.0f MB/s, p99 %.0f us", (double)bytes * 1e3 / (double)elapsed_ns,
                   (double)p->p99_ns / 1e3);
    else if (elapsed_ns > 0)
        text_print(p->detail, sizeof p->detail, "%.0f MB/s", (double)bytes * 1e3 / (double)elapsed_ns);
    show(p, false);
}

void progress_done(struct progress *p, double estimate_s)
{
    p->estimate_done_s += estimate_s;
}

void progress_skip(struct progress *p, double estimate_s)
{
    p->estimate_total_s -= estimate_s;
}

void progress_clear(struct progress *p)
{
    if (p->line_shown)
        fputs("\r\033[K", stderr);
    p->line_shown = false;
}

void progress_note(struct progress *p, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    progress_clear(p);
    fprintf(stderr, "%s%s%s\n", p->color ? "\033[33m" : "", line, p->color ? "\033[0m" : "");
}
