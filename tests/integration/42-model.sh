#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random operations on files, compared with a model in memory after each (tests/model): small chunks, so that boundaries are
# crossed all the time; one mount, two mounts in turns, the exclusive mount; one copy and two. Every seed is new ground:
# MODEL_SEED moves them, MODEL_SEEDS and MODEL_OPS make it longer.
# timeout: 900
. "$(dirname "$0")/lib.sh"

requires root fuse
SEED=${MODEL_SEED:-1} SEEDS=${MODEL_SEEDS:-2} OPS=${MODEL_OPS:-1500}
make -s -C "$ROOT" build/release/bin/model || fail "cannot build the model"
export CHUNKSERVER_BYTES=$((128 << 20))
start_master --geometry small
for number in 1 2; do start_chunkserver $number; done

compare() { # compare WHAT DIR...
    step "$1"
    mkdir -p "$2"
    "$ROOT/build/release/bin/model" "${@:2}" --seed "$SEED" --seeds "$SEEDS" --ops "$OPS" || fail "$1"
}

mount_calf one
compare "one mount" "$TEST_DIR/one/a"
mount_calf two
compare "two mounts in turns" "$TEST_DIR/one/a" "$TEST_DIR/two/a"
unmount_calf two
mkdir "$TEST_DIR/one/b"
[ -n "$PLAIN" ] || calf goal set 2 "$TEST_DIR/one/b" >/dev/null
compare "two copies" "$TEST_DIR/one/b"
unmount_calf one
wait_for "the last session has ended" 40 eval '[ "$(status_number sessions)" = 0 ]'
mount_calf only --exclusive
compare "the exclusive mount, two copies" "$TEST_DIR/only/b"
