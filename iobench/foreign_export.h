/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of results in the words of other benchmarks, for programs that read those: the throughput report of IOzone, and JSON
 * with fio's keys where their meaning is the same. Failed samples have no figures and are left out of the first, an "error" in the
 * second. One block, or job, a sample. Not thread-safe; errors stay in the stream.
 */
#ifndef CALF_IOBENCH_FOREIGN_EXPORT_H
#define CALF_IOBENCH_FOREIGN_EXPORT_H

#include <stdio.h>

#include "iobench/compare.h"

/* kB are 1024 bytes, as IOzone's. "Parent sees" is bytes by time to the last worker's end, "Children see" the sum of what each
 * worker reached. Tests that IOzone has not are left out. */
void foreign_export_iozone(FILE *out, const struct comparison *c);

/* Times in ns but "runtime" (ms); "bw" in KiB a second. Latencies stand in lat_ns, since they are of whole operations. */
void foreign_export_fio(FILE *out, const struct comparison *c);

#endif
