#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh: the life of the scenario docker-host.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires docker-host
lifecycle docker-host
