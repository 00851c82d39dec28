#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What Docker itself says of the containers: none is privileged, none has a capability but the client's SYS_ADMIN, all
# have a read-only root; the image holds the very programs of the host and nothing else.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

cluster_requires docker-host docker-bridge

# What a container may and may not, in one line.
facts='.[0] | [.HostConfig.Privileged, .HostConfig.CapDrop, (.HostConfig.CapAdd // [] | map(sub("CAP_"; ""))),
    .HostConfig.ReadonlyRootfs, .HostConfig.PidMode, .HostConfig.UTSMode,
    (.HostConfig.Devices // [] | map(.PathOnHost)), .HostConfig.IpcMode,
    (.HostConfig.SecurityOpt | map(select(startswith("apparmor") | not)))]'
daemon='[false,["ALL"],[],true,"","",[],"private",["no-new-privileges"]]'
client='[false,["ALL"],["SYS_ADMIN"],true,"","",["/dev/fuse"],"private",["no-new-privileges"]]'

for scenario in docker-host docker-bridge; do
    cluster up $scenario >/dev/null
    for part in master chunkserver1 chunkserver2 client; do
        step "$scenario: $part"
        docker inspect "$(prefix_of $scenario)-$part" >"$TEST_DIR/inspect"
        process=/proc/$(part_pid_of $scenario $part)
        effective=$(sed -n 's/^CapEff:[[:space:]]*//p' "$process/status")
        if [ $part = client ]; then
            assert_eq "$(jq -c "$facts" "$TEST_DIR/inspect")" "$client" "what the container may"
            assert_eq "$((16#$effective))" $((1 << 21)) "effective capabilities (SYS_ADMIN is bit 21)"
        else
            assert_eq "$(jq -c "$facts" "$TEST_DIR/inspect")" "$daemon" "what the container may"
            assert_eq "$((16#$effective))" 0 "effective capabilities"
            [ "$(stat -c %u "$process")" != 0 ] || fail "$part is root"
        fi
        # The same file, seen through the running process.
        cmp "$process/exe" "$BIN/$(jq -r '.[0].Config.Cmd[0]' "$TEST_DIR/inspect")" ||
            fail "$part does not run the program that was built"
    done
done

step "the image"
image=$(cluster status docker-bridge --json | jq -r .image)
docker save "$image" -o "$TEST_DIR/image.tar"
mkdir "$TEST_DIR/image"
tar -C "$TEST_DIR/image" -xf "$TEST_DIR/image.tar"
for layer in $(jq -r '.[0].Layers[]' "$TEST_DIR/image/manifest.json"); do
    tar -tf "$TEST_DIR/image/$layer"
done | sort >"$TEST_DIR/files"
printf '%s\n' bin/ bin/calf bin/calf-chunkserver bin/calf-master bin/calf-mount bin/iobench >"$TEST_DIR/expected"
diff "$TEST_DIR/expected" "$TEST_DIR/files" || fail "the image holds something else than the programs"
size=$(docker image inspect --format '{{.Size}}' "$image")
[ "$size" -lt 12000000 ] || fail "the image has $size bytes, more than 12 MB"

cluster down --all
assert_nothing_left docker-host
assert_nothing_left docker-bridge
