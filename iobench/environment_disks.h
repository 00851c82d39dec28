/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a machine that IOzone's rules for comparing runs ask for beside processor and memory: its caches, its disks
 * and what they are put together from, the states its idle cores go to. Texts for people, cut to their room; "" where nothing
 * can be found. sys: the root of sysfs, normally "/sys". Main thread.
 */
#ifndef CALF_IOBENCH_ENVIRONMENT_DISKS_H
#define CALF_IOBENCH_ENVIRONMENT_DISKS_H

#include <stddef.h>

/* "L1d 32K, L1i 32K, L2 1024K, L3 32768K for CPUs 0-7". */
void environment_caches(const char *sys, char *text, size_t room);

/* "sda 256 GiB Some Model (rotating), md0 512 GiB of sda sdb". Disks without a medium, RAM and loop devices left out. */
void environment_disks(const char *sys, char *text, size_t room);

/* "POLL, C1, C6 (disabled)". */
void environment_idle_states(const char *sys, char *text, size_t room);

#endif
