/* SPDX-License-Identifier: Apache-2.0
 *
 * How a call of the shipped code to the outside is replaced: the linker's --wrap=NAME sends it to __wrap_NAME. The list of
 * names is tests/sim/wrapped.txt; `real` reaches the libc's own.
 */
#ifndef CALF_SIM_WRAP_H
#define CALF_SIM_WRAP_H

#define SIM_WRAP(type, name, ...)                                                                   \
    type __wrap_##name(__VA_ARGS__);                                                                \
    type __wrap_##name(__VA_ARGS__)

/* -1 with errno. */
#define SIM_FAIL(error) (errno = (error), -1)

#endif
