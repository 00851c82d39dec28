#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docker/stack.yaml on a swarm of this one node: services come up healthy, the client joins the overlay network as a plain container,
# a file goes there and back, a killed chunkserver comes back. The swarm is left again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

requires root fuse docker jq
[ "$(docker info --format '{{.Swarm.LocalNodeState}}')" = inactive ] || skip "this machine is part of a swarm"
gwbridge=$(docker network ls -q --filter name='^docker_gwbridge$')
[ -z "$(docker ps -q --filter network=docker_gwbridge)" ] || skip "docker_gwbridge is in use"
export CALF_DIR=$TEST_DIR/stack CALF_SIZE=128m CALF_IMAGE=calf:swarm$RANDOM
STACK=calftest$RANDOM
joined=no
cleanup_script() {
    docker rm -f $STACK-client >/dev/null 2>&1 || true
    if [ $joined = yes ]; then
        docker stack rm $STACK >/dev/null 2>&1 || true
        docker swarm leave --force >/dev/null 2>&1 || true
        # Its tasks end by and by; until then they hold the image and the network.
        for _ in $(seq 100); do
            [ -n "$(docker ps -aq --filter "label=com.docker.stack.namespace=$STACK")" ] || break
            sleep 0.2
        done
        [ -n "$gwbridge" ] || docker network rm docker_gwbridge >/dev/null 2>&1 || true
    fi
    docker image rm "$CALF_IMAGE" >/dev/null 2>&1 || true
    "$ROOT/docker/host_disks.sh" remove "$CALF_DIR" || true
}

step "a swarm of one node"
docker swarm init --advertise-addr 127.0.0.1 >"$TEST_DIR/swarm" 2>&1 ||
    skip "Docker Swarm is not possible here: $(tail -n 1 "$TEST_DIR/swarm")"
joined=yes
docker node update --label-add calf.master=1 --label-add calf.chunkserver=1 \
    "$(docker info --format '{{.Swarm.NodeID}}')" >/dev/null
docker build -q -t "$CALF_IMAGE" -f "$ROOT/docker/Dockerfile" "$BIN" >/dev/null
"$ROOT/docker/host_disks.sh" make "$CALF_DIR" --size 128m --chunkservers 1
docker run --rm --user 65532:65532 --network none -v "$CALF_DIR/master:/data" "$CALF_IMAGE" \
    calf-master --data /data --init --init-only 2>/dev/null
docker stack deploy -c "$ROOT/docker/stack.yaml" $STACK >"$TEST_DIR/deploy" 2>&1 || {
    grep -q 'vxlan\|overlay' "$TEST_DIR/deploy" && skip "the kernel has no overlay networks"
    fail "deploy: $(tail -n 2 "$TEST_DIR/deploy")"
}
services_run() { [ "$(docker stack services $STACK --format '{{.Replicas}}' | sort -u)" = 1/1 ]; }
wait_for "both services are healthy" 90 services_run

step "a client on the overlay network"
docker run -d --name $STACK-client --network ${STACK}_cluster --read-only --cap-drop ALL --cap-add SYS_ADMIN \
    --device /dev/fuse --security-opt no-new-privileges --security-opt apparmor=unconfined \
    --mount "type=bind,source=$CALF_DIR/mnt,target=/mnt,bind-propagation=rshared" \
    "$CALF_IMAGE" calf-mount --master master:9421 /mnt/calf -f >/dev/null
mnt=$CALF_DIR/mnt/calf
wait_for "the host sees the mount" 30 is_mounted "$mnt"
head -c 2000000 /dev/urandom >"$TEST_DIR/data"
cp "$TEST_DIR/data" "$mnt/file"
sync "$mnt/file"
echo 3 >/proc/sys/vm/drop_caches
cmp "$TEST_DIR/data" "$mnt/file" || fail "another content"

step "the chunkserver is killed: a new task takes over its RAM disk"
task=$(docker ps -q --filter "label=com.docker.swarm.service.name=${STACK}_chunkserver")
kill -KILL "$(docker inspect --format '{{.State.Pid}}' "$task")"
echo 3 >/proc/sys/vm/drop_caches
cmp "$TEST_DIR/data" "$mnt/file" || fail "another content after the restart"
assert_eq "$(docker exec $STACK-client calf --master master:9420 servers --json | jq -c '[.servers | length, .[0].chunks]')" \
    '[1,1]' "servers and chunks"
