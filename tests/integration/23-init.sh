#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A cluster is made only when asked for: a missing or empty data directory is an error with one clear line, nothing is
# created silently, nothing existing is made anew; the same for stores, mount points and servers of another cluster.
# timeout: 120
. "$(dirname "$0")/lib.sh"

requires root fuse
[ -z "$PLAIN" ] || exit 0
[ -x "$BIN/calf-master" ] || fail "no programs in $BIN (run make)"

# The program must end by itself, with this status, with exactly one line on stderr, which holds the text; what a daemon
# logs as information on its way does not count.
refused() { # refused STATUS TEXT command...
    local expected=$1 text=$2 status=0
    shift 2
    timeout "$(slowed 20)" "$@" </dev/null >"$TEST_DIR/out" 2>"$TEST_DIR/error" || status=$?
    [ $status -eq "$expected" ] || fail "'$*' ended with status $status, expected $expected: $(cat "$TEST_DIR/error")"
    sed -i '/ info: /d' "$TEST_DIR/error"
    assert_eq "$(wc -l <"$TEST_DIR/error")" 1 "lines on stderr of '$*' ($(cat "$TEST_DIR/error"))"
    grep -qiF -- "$text" "$TEST_DIR/error" || fail "'$*' does not say '$text' but: $(cat "$TEST_DIR/error")"
    echo "$(basename "$1"): $(cat "$TEST_DIR/error")"
}

address() { echo "127.0.0.1:$(free_port)"; }
master() { # master DATA [option...]: with ports of its own
    local data=$1
    shift
    refused "${STATUS:-2}" "$data" "$BIN/calf-master" --data "$data" --listen "$(address)" --control "$(address)" "$@"
}

step "a master without data"
master "$TEST_DIR/missing"
[ ! -e "$TEST_DIR/missing" ] || fail "the missing data directory was created"
mkdir "$TEST_DIR/empty"
master "$TEST_DIR/empty"
assert_eq "$(find "$TEST_DIR/empty" -type f -size +0)" "" "files with something in them in the empty directory"
grep -q -- --init "$TEST_DIR/error" || fail "the line does not say what to do (--init)"

step "--init only where nothing is"
mkdir "$TEST_DIR/full"
echo precious >"$TEST_DIR/full/file"
master "$TEST_DIR/full" --init
assert_eq "$(cd "$TEST_DIR/full" && find . -type f -size +0 && cat file)" $'./file\nprecious' "the directory with something in it"
: >"$TEST_DIR/no-directory"
master "$TEST_DIR/no-directory" --init

step "an existing cluster is not made anew, and not served twice"
start_master
stop_part master
master "$TEST_DIR/master-data" --init
restart_master
STATUS=1 master "$TEST_DIR/master-data"
refused 1 "${MASTER#*:}" "$BIN/calf-master" --data "$TEST_DIR/empty" --init --listen "$MASTER" --control "$(address)"

step "stores"
refused 2 "$TEST_DIR/missing" "$BIN/calf-chunkserver" --store "$TEST_DIR/missing" --size 64m --master "$CONTROL" \
    --listen "$(address)"
[ ! -e "$TEST_DIR/missing" ] || fail "the missing store was created"
start_chunkserver 1
refused 1 "$TEST_DIR/store-1" "$BIN/calf-chunkserver" --store "$TEST_DIR/store-1" --size 64m --master "$CONTROL" \
    --listen "$(address)"

step "mount points"
refused 2 "$TEST_DIR/missing" "$BIN/calf-mount" --master "$MASTER" "$TEST_DIR/missing" -f
refused 2 "$TEST_DIR/no-directory" "$BIN/calf-mount" --master "$MASTER" "$TEST_DIR/no-directory" -f

step "a mount waits for its master, says so, and can be ended"
mkdir "$TEST_DIR/point"
nowhere=$(address)
start_part mount-point "$BIN/calf-mount" --master "$nowhere" "$TEST_DIR/point" -f
wait_for "it says for whom it waits" 10 grep -qF "$nowhere" "$TEST_DIR/mount-point.log"
if is_mounted "$TEST_DIR/point"; then fail "mounted without a master"; fi
stop_part mount-point

step "wrong usage"
for program in calf-master calf-chunkserver calf-mount calf; do
    refused 2 "$program" "$BIN/$program" --nonsense
    "$BIN/$program" --help >"$TEST_DIR/out" || fail "$program --help ended with status $?"
    [ "$(wc -l <"$TEST_DIR/out")" -ge 5 ] || fail "$program --help says too little"
    "$BIN/$program" --version | grep -q '^calf [0-9]' || fail "$program --version"
done
nowhere=$(address)
refused 1 "$nowhere" "$BIN/calf" --master "$nowhere" status
