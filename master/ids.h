/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that name what the master keeps. None is ever given twice.
 */
#ifndef CALF_IDS_H
#define CALF_IDS_H

#include <stdint.h>

typedef uint64_t inode_id;   /* 1: the root */
typedef uint64_t chunk_id;   /* from 1 */
typedef uint64_t session_id; /* random; 0: none */
typedef uint32_t server_id;  /* from 1 */

#define ROOT_INODE UINT64_C(1)

#endif
