#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docker/vm.sh: the cluster in a virtual machine, its client here: a round trip; the deployment is called emulated where it is.
# Needs what `docker/vm.sh setup` fetches, which is not part of the tests' set-up.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cluster-cases.sh"

requires root fuse cpio
command -v qemu-system-x86_64 >/dev/null || skip "QEMU is not installed"
[ -e "${CALF_VM_CACHE:-/var/cache/calf-vm}/vmlinuz" ] || skip "there is no kernel for a guest: docker/vm.sh setup fetches one"
CALF_VM_PORT=$CALF_PORT_BASE
export CALF_VM_PORT
vm() { "$ROOT/docker/vm.sh" "$@" --state "$STATE"; }
cleanup_script() { vm down || true; }

mnt=$(vm up --size 64m) || fail "up"
name=vm-emulated
[ ! -c /dev/kvm ] || name=$(basename "$(dirname "$mnt")")
assert_eq "$mnt" "$STATE/$name/mnt" "the mount"
round_trip $name
[[ $(vm up 2>&1) == *"already up"* ]] || fail "up again"
vm down
[ ! -e "$STATE" ] || fail "left: $(ls -R "$STATE")"
[[ $(vm down 2>&1) == *"already down"* ]] || fail "down again"
