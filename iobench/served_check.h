/* SPDX-License-Identifier: Apache-2.0
 *
 * Does what the cluster served fit what the workers moved? If a cache between them answered, or another load ran, a ratio from
 * this run would compare that. What can be demanded depends on the test and the cache policy: behind a page cache only blocks that are
 * visited once must have come from the servers, with O_DIRECT (or outside the kernel) every operation must have. Pure.
 */
#ifndef CALF_IOBENCH_SERVED_CHECK_H
#define CALF_IOBENCH_SERVED_CHECK_H

#include "iobench/result.h"

/* Why no ratio may be taken from the sample: "served-bytes" (fewer or far more bytes than moved), "served-requests" (fewer
 * requests than direct operations: something put them together, or answered), else "". config: cache, engine, sync, and what
 * says how often blocks are visited. copies: how often the cluster counts a written byte. */
const char *served_check_mark(const struct sample *sample, const struct result *config, uint64_t copies);

/* The same where only sample->server_calls is known (server_calls.h): "served-requests" if direct operations were more than the servers'
 * calls, else "". */
const char *served_check_calls(const struct sample *sample, const struct result *config);

#endif
