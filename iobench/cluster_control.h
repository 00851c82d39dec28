/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting and stopping scenarios with cluster.sh. Its messages go to our stderr. Main thread; blocks until the
 * script ends.
 */
#ifndef CALF_IOBENCH_CLUSTER_CONTROL_H
#define CALF_IOBENCH_CLUSTER_CONTROL_H

#include <stdint.h>

#define CLUSTER_CONTROL_DEFAULT_STATE "/run/calf"

struct cluster_control {
    const char *state;          /* --state of the script */
    uint64_t chunkservers;      /* 0: the script's default */
    uint64_t chunkserver_bytes; /* of each, likewise */
    uint64_t clients;           /* mounts, likewise */
};

/* Both return 0; the script's exit status; or a negative errno: -EINTR when an interrupt came (the script has
 * then cleaned up; only for up), -ENOENT without a script. */
int cluster_control_up(const struct cluster_control *control, const char *scenario)
    __attribute__((warn_unused_result));
int cluster_control_down(const struct cluster_control *control, const char *scenario)
    __attribute__((warn_unused_result));

/* The script: $CALF_CLUSTER_SH, else docker/cluster.sh of the tree this program was built in. Static storage. */
const char *cluster_control_script(void);

#endif
