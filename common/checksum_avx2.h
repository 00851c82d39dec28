/* SPDX-License-Identifier: Apache-2.0
 *
 * XXH3 compiled for processors with AVX2: the same values as the library's, which is built for every x86-64, in a third of the
 * time. Only for checksum.c, which asks the processor first. Any thread.
 */
#ifndef CALF_CHECKSUM_AVX2_H
#define CALF_CHECKSUM_AVX2_H

#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#define CHECKSUM_HAS_AVX2

uint64_t checksum_avx2_hash(const void *data, size_t bytes);
#endif

#endif
