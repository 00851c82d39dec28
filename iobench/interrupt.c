/* SPDX-License-Identifier: Apache-2.0 */
#include "iobench/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "common/clock.h"

static volatile sig_atomic_t interrupt_seen;
static int64_t interrupt_seen_ns; /* only the handler's, which runs in main's thread */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
static const int ignored[] = {SIGPIPE, SIGXFSZ};

/* One Ctrl-C may arrive twice, from the terminal and from the script around. */
#define AGAIN_NS NS_PER_S

static void on_ending(int signal_number)
{
    int64_t now = clock_mono_ns();
    if (!interrupt_seen) {
        interrupt_seen_ns = now;
        interrupt_seen = 1;
    } else if (now - interrupt_seen_ns > AGAIN_NS) {
        (void)signal(signal_number, SIG_DFL);
        (void)raise(signal_number);
    }
}

static void on_wake(int signal_number)
{
    (void)signal_number;
}

void interrupt_install(void)
{
    /* No SA_RESTART: a system call that blocks returns. */
    struct sigaction end = {.sa_handler = on_ending};
    struct sigaction wake = {.sa_handler = on_wake};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigemptyset(&end.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        (void)sigaddset(&end.sa_mask, ending[i]);
    (void)sigemptyset(&wake.sa_mask);
    (void)sigemptyset(&ignore.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        struct sigaction old;
        (void)sigaction(ending[i], &end, &old);
        if (ending[i] == SIGHUP && old.sa_handler == SIG_IGN)
            (void)sigaction(SIGHUP, &old, NULL); /* as nohup(1) wants it */
    }
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)sigaction(ignored[i], &ignore, NULL);
    (void)sigaction(SIGUSR1, &wake, NULL);
}

bool interrupt_requested(void)
{
    return interrupt_seen != 0;
}

void interrupt_block_here(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        (void)sigaddset(&set, ending[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void interrupt_restore_child(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    (void)sigemptyset(&standard.sa_mask);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        (void)sigaction(ignored[i], &standard, NULL);
}
