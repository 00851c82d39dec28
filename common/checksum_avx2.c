/* SPDX-License-Identifier: Apache-2.0
 *
 * The Makefile compiles this file alone with -mavx2; nothing of it may be called elsewhere than behind a question.
 */
#include "common/checksum_avx2.h"

#ifdef CHECKSUM_HAS_AVX2
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t checksum_avx2_hash(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}
#endif
