# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Programs that people run, on any mount: a copy of /usr/include, tar, git, building calf and running its unit tests, sqlite3,
# fio --verify, a sparse file larger than many chunks. What they leave is compared with what they leave on a tmpfs.
# Source it after lib.sh and call
#
#     real_programs DIR [STEP...]     STEP: copy tar git build sqlite fio sparse; none means all
#
# DIR is on the file system under test; everything is made below DIR/real and removed again. It needs about 500 MiB of
# space there, and ends the script (fail) at the first difference.

REAL_CHUNK_BYTES=$((64 << 20)) # the chunk size of the format: data is put across its boundaries
REAL_TRANSACTIONS=10000

# A directory on tmpfs that holds what each step leaves when nothing is wrong; made once for several mounts.
real_reference() {
    REAL_REFERENCE=${REAL_REFERENCE:-$TEST_DIR/reference}
    if ! is_mounted "$REAL_REFERENCE"; then
        mkdir -p "$REAL_REFERENCE"
        mount -t tmpfs -o size=512m calf-test "$REAL_REFERENCE"
    fi
}

real_copy() {
    cp -a /usr/include "$1/include"
    assert_same_tree "$1/include" /usr/include
}

# The archive of the same tree is the same bytes, and what is unpacked from it is the same tree.
real_tar() {
    local source=/usr/include/linux
    local -a options=(--sort=name --format=posix --pax-option='exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime')
    [ -d $source ] || source=/usr/include
    tar -C $source "${options[@]}" -cf "$1/from.tar" .
    mkdir "$1/tree" "$1/again"
    tar -C "$1/tree" -xpf "$1/from.tar"
    assert_same_tree "$1/tree" $source
    tar -C "$1/tree" "${options[@]}" -cf "$1/to.tar" .
    cmp "$1/from.tar" "$1/to.tar" || fail "the archive of the unpacked tree differs"
    # A pipe both ways, with reads and writes at once.
    tar -C "$1/tree" "${options[@]}" -cf - . | tar -C "$1/again" -xpf -
    assert_same_tree "$1/again" "$1/tree"
}

# This repository, or, where the tree has no history, one made of its files.
real_repository() {
    REAL_REPOSITORY=$ROOT
    if ! git -C "$ROOT" rev-parse -q --verify HEAD >/dev/null 2>&1; then
        REAL_REPOSITORY=$REAL_REFERENCE/repository
        [ -d "$REAL_REPOSITORY" ] || {
            mkdir "$REAL_REPOSITORY"
            real_source_tree "$REAL_REPOSITORY"
            git -C "$REAL_REPOSITORY" init -q
            git -C "$REAL_REPOSITORY" add -A
            git -C "$REAL_REPOSITORY" commit -q -m 'The tree as it is'
        }
    fi
}

# The tree's own files, without what is built.
real_source_tree() { # real_source_tree TO
    (cd "$ROOT" && { git ls-files -z -co --exclude-standard 2>/dev/null || find . \( -name .git -o -path ./build \
        -o -path ./results \) -prune -o -type f -print0; }) >"$TEST_DIR/tree.files"
    (cd "$ROOT" && tar --null --ignore-failed-read -T "$TEST_DIR/tree.files" -cf - 2>/dev/null) | tar -C "$1" -xf -
}

real_git() {
    # A repository of another owner and an identity for the commit, without touching the user's own settings.
    printf '[safe]\n\tdirectory = *\n[user]\n\tname = calf\n\temail = calf@localhost\n' >"$TEST_DIR/gitconfig"
    export GIT_CONFIG_GLOBAL=$TEST_DIR/gitconfig GIT_CONFIG_NOSYSTEM=1
    real_repository
    [ -d "$REAL_REFERENCE/clone" ] || git clone -q --no-local "$REAL_REPOSITORY" "$REAL_REFERENCE/clone"
    git clone -q --no-local "$REAL_REPOSITORY" "$1/clone"
    git -C "$1/clone" fsck --full --strict --no-progress
    assert_eq "$(git -C "$1/clone" status --porcelain)" "" "git status of the fresh clone"
    assert_eq "$(git -C "$1/clone" rev-parse HEAD)" "$(git -C "$REAL_REFERENCE/clone" rev-parse HEAD)" HEAD
    diff -r --exclude=.git "$1/clone" "$REAL_REFERENCE/clone" || fail "the clone's files differ"
    echo 'one more line' >>"$1/clone/README.md"
    git -C "$1/clone" add -A
    git -C "$1/clone" commit -q -m 'One more line'
    git -C "$1/clone" repack -q -a -d
    git -C "$1/clone" fsck --full --strict --no-progress
    git clone -q "$1/clone" "$1/second" # by hard links
    git -C "$1/second" fsck --full --strict --no-progress
    assert_eq "$(git -C "$1/second" rev-parse HEAD)" "$(git -C "$1/clone" rev-parse HEAD)" "HEAD of the second clone"
}

# The same sources and the same version text give the same programs, apart from where they were compiled. Nothing is compared
# where sources have changed since the tree's own programs were built.
real_build() {
    local tree=$1/calf program version=unknown
    mkdir "$tree"
    real_source_tree "$tree"
    [ ! -f "$ROOT/build/release/version" ] || version=$(cat "$ROOT/build/release/version")
    make -C "$tree" -j"$(nproc)" VERSION="$version" all >"$TEST_DIR/build.log" 2>&1 ||
        { tail -n 30 "$TEST_DIR/build.log"; fail "calf does not build on the mount"; }
    for program in calf-master calf-chunkserver calf-mount calf iobench; do
        [ -f "$ROOT/build/release/bin/$program" ] || continue
        [ -z "$(find "$ROOT" -maxdepth 2 \( -name '*.[ch]' -o -name Makefile \) \
            -newer "$ROOT/build/release/bin/$program" -print -quit)" ] || continue
        real_bare_program "$ROOT/build/release/bin/$program" "$TEST_DIR/program.expected"
        real_bare_program "$tree/build/release/bin/$program" "$TEST_DIR/program.actual"
        cmp "$TEST_DIR/program.actual" "$TEST_DIR/program.expected" || fail "$program built on the mount differs"
    done
    make -C "$tree" -j"$(nproc)" VERSION="$version" unit >"$TEST_DIR/unit.log" 2>&1 ||
        { tail -n 60 "$TEST_DIR/unit.log"; fail "unit tests fail on the mount"; }
    grep '^unit: ' "$TEST_DIR/unit.log"
}

real_bare_program() { objcopy --strip-all -R .note.gnu.build-id "$1" "$2"; } # real_bare_program FROM TO

real_sqlite() {
    [ -f "$REAL_REFERENCE/sqlite.dump" ] || real_sqlite_run "$REAL_REFERENCE"
    real_sqlite_run "$1"
    cmp "$1/sqlite.dump" "$REAL_REFERENCE/sqlite.dump" || fail "sqlite3: the database differs"
}

# Each transaction by itself, with the default journal mode and its syncs.
real_sqlite_run() {
    local database=$1/test.db
    {
        echo 'CREATE TABLE t(id INTEGER PRIMARY KEY, word TEXT, n INTEGER); CREATE INDEX t_word ON t(word);'
        awk -v count=$REAL_TRANSACTIONS 'BEGIN {
            for (i = 1; i <= count; i++) {
                if (i % 10 == 0)
                    printf "BEGIN; UPDATE t SET n = n + %d WHERE id %% 97 = %d; COMMIT;\n", i, i % 97
                else if (i % 25 == 1)
                    printf "BEGIN; DELETE FROM t WHERE id = %d; COMMIT;\n", int(i / 2)
                else
                    printf "BEGIN; INSERT INTO t VALUES(%d, \"word-%d-%d\", %d); COMMIT;\n", i, i * 7919 % 10007, i, i * i
            }
        }'
    } | sqlite3 -bail "$database"
    assert_eq "$(sqlite3 "$database" 'PRAGMA integrity_check')" ok "sqlite3 integrity_check"
    sqlite3 "$database" 'VACUUM'
    assert_eq "$(sqlite3 "$database" 'PRAGMA integrity_check')" ok "sqlite3 integrity_check after VACUUM"
    sqlite3 "$database" .dump >"$1/sqlite.dump"
}

real_fio() {
    local direct
    for direct in 0 1; do
        fio --name=verify --directory="$1" --rw=randwrite --bs=4k-64k --size=8m --numjobs=4 --direct=$direct \
            --ioengine=psync --fallocate=none --end_fsync=1 --randseed=4711 \
            --verify=xxhash --do_verify=1 --verify_fatal=1 --verify_state_save=0 >"$TEST_DIR/fio.log" 2>&1 ||
            { tail -n 40 "$TEST_DIR/fio.log"; fail "fio --verify with direct=$direct"; }
        rm -f "$1"/verify.*
    done
}

# 5 GiB with data only at the start, across chunk boundaries and at the end; the rest reads as zeros.
real_sparse() {
    [ -f "$REAL_REFERENCE/sparse" ] || real_sparse_make "$REAL_REFERENCE"
    real_sparse_make "$1"
    assert_eq "$(stat -c %s "$1/sparse")" $((5 << 30)) "size of the sparse file"
    cmp "$1/sparse" "$REAL_REFERENCE/sparse" || fail "the sparse file differs"
    [ "$(stat -c %b "$1/sparse")" -lt $((1 << 21)) ] || fail "the sparse file takes more than 1 GiB"
}

real_sparse_make() {
    local offset number=0
    [ -f "$REAL_REFERENCE/pattern" ] || head -c 1000003 /dev/urandom >"$REAL_REFERENCE/pattern"
    for offset in 0 $((REAL_CHUNK_BYTES - 500000)) $((7 * REAL_CHUNK_BYTES - 1)) $((41 * REAL_CHUNK_BYTES - 4097)) \
        $((79 * REAL_CHUNK_BYTES - 1000002)) $(((5 << 30) - 1000003)); do
        number=$((number + 1))
        dd if="$REAL_REFERENCE/pattern" of="$1/sparse" bs=64k oflag=seek_bytes seek=$offset conv=notrunc status=none
    done
    assert_eq $number 6 "pieces written"
}

real_programs() {
    local base=$1/real name
    shift
    [ $# -gt 0 ] || set -- sqlite copy tar git build fio sparse
    requires root tar git make sqlite3 fio objcopy
    real_reference
    mkdir "$base"
    for name in "$@"; do
        mkdir "$base/$name"
        # sqlite3 waits for its syncs most of the time: it runs beside the others.
        if [ "$name" = sqlite ]; then
            start_job sqlite real_timed sqlite "$base/sqlite"
        fi
    done
    for name in "$@"; do
        [ "$name" = sqlite ] || real_timed "$name" "$base/$name"
    done
    if [[ " $* " == *" sqlite "* ]]; then
        job_status sqlite 150 || fail "sqlite3 on the mount (see job-sqlite.log)"
        cat "$TEST_DIR/job-sqlite.log"
        rm -rf "$base/sqlite" "$TEST_DIR/job-sqlite.log"
    fi
    rmdir "$base" || fail "the directory is not empty after everything was removed: $(find "$base" | head -n 5)"
}

real_timed() { # real_timed STEP DIR
    local begin now
    begin=$(date +%s%3N)
    "real_$1" "$2"
    if [ "$1" != sqlite ]; then
        rm -rf "$2"
    fi
    now=$(date +%s%3N)
    printf 'real programs: %-8s %6d ms\n' "$1" $((now - begin))
}
