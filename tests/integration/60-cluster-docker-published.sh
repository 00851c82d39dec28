#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cluster.sh: the life of the scenario docker-published; nothing of it listens where others could reach it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires docker-published
lifecycle docker-published

step "the client is a process of the host, and its data goes through published ports"
cluster up docker-published --goal 2 >/dev/null
round_trip docker-published
assert_eq "$(cluster status docker-published --json | jq -c '[.parts[] | select(.part == "client") | .container]')" '[null]' \
    "container of the client"
published=$(docker inspect --format '{{json .HostConfig.PortBindings}}' "$(prefix_of docker-published)-chunkserver1")
gateway=$(docker network inspect --format '{{(index .IPAM.Config 0).Gateway}}' "$(prefix_of docker-published)")
assert_eq "$(jq -r '.[][0].HostIp' <<<"$published")" "$gateway" "where the port is published"
assert_eq "$(cluster status docker-published --json | jq -r '.parts[1].address')" \
    "$gateway:$(jq -r '.[][0].HostPort' <<<"$published")" "what the chunkserver advertises"
cluster down docker-published
assert_nothing_left docker-published
