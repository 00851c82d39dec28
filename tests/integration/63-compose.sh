#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docker/compose.yaml with docker-compose: up until all is healthy, a file round trip over the mount that the host sees, the
# limits of the containers, a chunkserver restarted by the policy, down; nothing stays.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

requires root fuse docker docker-compose jq
export CALF_DIR=$TEST_DIR/compose CALF_SIZE=128m
PROJECT=calftest$RANDOM
compose() { docker-compose -p $PROJECT -f "$ROOT/docker/compose.yaml" "$@"; }
cleanup_script() {
    compose down --remove-orphans >/dev/null 2>&1 || true
    docker image rm calf:compose >/dev/null 2>&1 || true
    "$ROOT/docker/host_disks.sh" remove "$CALF_DIR" || true
}

step "the file is valid, with four chunkservers too"
assert_eq "$(COMPOSE_PROFILES=four compose config --services | sort | tr '\n' ' ')" \
    "chunkserver1 chunkserver2 chunkserver3 chunkserver4 client master " "services"

step "up"
"$ROOT/docker/host_disks.sh" make "$CALF_DIR" --size 128m
compose build >/dev/null 2>&1 || fail "the image cannot be built"
compose run --rm --no-deps master calf-master --data /data --init --init-only >/dev/null 2>&1 || fail "no new cluster"
compose up -d >"$TEST_DIR/up" 2>&1 || fail "up: $(tail -n 3 "$TEST_DIR/up")"
mnt=$CALF_DIR/mnt/calf
wait_for "the host sees the mount" 20 is_mounted "$mnt"

step "a file written through the client container's mount is readable on the host, and the other way round"
compose exec -T client calf status >/dev/null 2>&1 && fail "the client finds a master at its loopback"
head -c 2000000 /dev/urandom >"$TEST_DIR/data"
cp "$TEST_DIR/data" "$mnt/file"
sync "$mnt/file"
echo 3 >/proc/sys/vm/drop_caches
cmp "$TEST_DIR/data" "$mnt/file" || fail "another content"
compose exec -T client calf check /mnt/calf >/dev/null || fail "the container does not read what the host wrote"

step "what the containers may"
for service in master chunkserver1 chunkserver2 client; do
    id=$(compose ps -q $service)
    expected='[false,["ALL"],[],true]'
    [ $service != client ] || expected='[false,["ALL"],["SYS_ADMIN"],true]'
    assert_eq "$(docker inspect "$id" | jq -c '.[0].HostConfig | [.Privileged, .CapDrop,
        (.CapAdd // [] | map(sub("CAP_"; ""))), .ReadonlyRootfs]')" "$expected" "$service"
    assert_eq "$(docker inspect "$id" | jq -r '.[0].State.Health.Status' | sed s/starting/healthy/)" healthy "health of $service"
done

step "the policy restarts a chunkserver, with its chunks"
id=$(compose ps -q chunkserver1)
old=$(docker inspect --format '{{.State.Pid}}' "$id")
kill -KILL "$old"
restarted() { local pid; pid=$(docker inspect --format '{{.State.Pid}}' "$id"); [ "$pid" != 0 ] && [ "$pid" != "$old" ]; }
wait_for "it runs again" 20 restarted
echo 3 >/proc/sys/vm/drop_caches
cmp "$TEST_DIR/data" "$mnt/file" || fail "another content after the restart"

step "down"
compose down >/dev/null 2>&1 || fail "down"
"$ROOT/docker/host_disks.sh" remove "$CALF_DIR"
[ ! -e "$CALF_DIR" ] || fail "left: $(ls -R "$CALF_DIR")"
assert_eq "$(docker ps -aq --filter "label=com.docker.compose.project=$PROJECT"
    docker network ls -q --filter "label=com.docker.compose.project=$PROJECT")" "" "left in Docker"
