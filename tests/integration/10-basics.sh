#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What every program expects of a file system: each function below runs on the mount and on a tmpfs, and must print and leave
# the same. What has no equal on tmpfs (space, inode numbers, a new mount) follows.
# timeout: 240
. "$(dirname "$0")/lib.sh"

requires root fuse perl setfattr setpriv
CHUNKSERVER_BYTES=$((384 << 20))
start_cluster 2

BLOCK=4096
CHUNK=$((64 << 20))
PATTERN=$TEST_DIR/pattern
head -c $((CHUNK + 3 * BLOCK)) /dev/urandom >"$PATTERN"

create_and_overwrite() {
    echo hello >a
    cat a
    printf 'HE' | dd of=a conv=notrunc status=none
    cat a
    echo bye >a # open with O_TRUNC
    cat a
    : >empty
    (set -C; echo x >a) 2>&1 | sed 's/.*: //' # O_EXCL
    cat missing
    cat a/b
    mkdir a
    mkdir dir dir
    rmdir dir dir
    head -c 1000000 "$PATTERN" >big
    cmp big <(head -c 1000000 "$PATTERN") && dd if=big bs=333 skip=77 count=1 status=none | sha256sum
    stat -c '%n %s %F %h' a big empty
}

# Every length around the boundaries of a block and of one request.
neighbouring_sizes() {
    local middle size new
    for middle in 1 $BLOCK $((2 * BLOCK)) $((128 << 10)) $((1 << 20)); do
        for size in $((middle - 1)) "$middle" $((middle + 1)); do
            head -c $size "$PATTERN" >"f$size"
            sha256sum "f$size"
            for new in $((middle - 1)) "$middle" $((middle + 1)); do
                cp "f$size" g
                truncate -s $new g
                printf '%d to %d: ' $size $new
                sha256sum <g
                printf x >>g
                truncate -s $((middle + 2 * 4096)) g
                sha256sum <g
            done
        done
    done
}

# What was cut off does not come back, whichever way the file grows again.
cut_and_extend() {
    local cut
    for cut in 0 1 4095 4096 4097 10000; do
        head -c 20000 "$PATTERN" >a
        truncate -s $cut a
        truncate -s 20000 a
        sha256sum a
        head -c 20000 "$PATTERN" >b
        truncate -s $cut b
        printf end | dd of=b bs=1 seek=15000 conv=notrunc status=none
        sha256sum b
    done
}

# The boundary of the first chunk: written across, read across, cut there, one less, one more.
chunk_boundary() {
    local size
    head -c $((CHUNK + 2 * BLOCK)) "$PATTERN" >a
    sha256sum a
    dd if="$PATTERN" of=a bs=10000 count=1 oflag=seek_bytes seek=$((CHUNK - 5000)) conv=notrunc status=none
    dd if=a bs=20000 count=1 iflag=skip_bytes skip=$((CHUNK - 10000)) status=none | sha256sum
    for size in $((CHUNK + 1)) $CHUNK $((CHUNK - 1)) $((CHUNK - BLOCK)); do
        truncate -s $size a
        tail -c 9000 a | sha256sum
        truncate -s $((CHUNK + BLOCK)) a
        tail -c 20000 a | sha256sum
    done
    rm a
}

holes() {
    dd if="$PATTERN" of=a bs=4096 count=1 seek=1000 status=none
    sha256sum a
    dd if="$PATTERN" of=b bs=5000 count=1 oflag=seek_bytes seek=$((3 * CHUNK - 17)) status=none
    truncate -s $((5 * CHUNK + 1)) b
    stat -c %s b
    dd if=b bs=64k iflag=skip_bytes,count_bytes skip=$((3 * CHUNK - 100000)) count=300000 status=none | sha256sum
    tail -c 70000 b | sha256sum
    truncate -s 0 b
    cp --sparse=always a c
    cmp a c
}

appends() {
    local i
    for i in 1 2 3 4 5 6; do
        perl -e 'use Fcntl; sysopen(F, "log", O_WRONLY | O_APPEND | O_CREAT, 0644) or die $!;
            for my $n (1 .. 300) { my $r = sprintf("%d-%04d\n", $ARGV[0], $n); syswrite(F, $r) == length $r or die $! }' $i &
    done
    wait
    wc -l <log
    sort -o log log; sha256sum log
    head -c $((BLOCK - 1)) "$PATTERN" >edge
    echo -n ab >>edge
    sha256sum edge
}

renames() {
    echo 1 >a; echo 2 >b
    mv -f a b; cat b; cat a
    mkdir d1 d2; echo x >d2/x
    mv -T d1 d2
    mv -T d2 d1
    cat d1/x
    mv -T b d1
    mv -T d1 b
    mkdir -p p/q/r
    mv p p/q/r
    perl -e 'rename("p", "p/q/r/s") or print "$!\n"; rename("b", "b") or print "$!\n"; rename("none", "b") or print "$!\n"'
    ln b hard; perl -e 'rename("b", "hard") or print "$!\n"'; ls
    # The replaced file stays readable for who has it open.
    echo old >target; echo new >source
    exec 5<target
    mv -f source target
    cat <&5; cat target
    exec 5<&-
    mv p moved; mv moved/q q; find . | sort
    echo again >q/r/file; mv q/r/file q/file; cat q/file
    perl -e 'rename("q", "d1/q") or print "$!\n"'; ls d1/q
}

links() {
    echo data >a
    ln a b; ln a c
    stat -c '%n %h' a b c
    echo more >>b; cat c
    rm a; stat -c '%n %h' b c
    mkdir d; ln d e; ln b d/f; ls d
    ln b c; ln none x
    ln -s b s; ln -s none dangling; ln -s "$(printf 'n%.0s' {1..4000})" long
    readlink s dangling; readlink long | wc -c
    cat s; cat dangling
    ln -s loop loop; cat loop
    ln -s d sd; ls sd/ ; rm sd; rm b c; cat d/f; stat -c %h d/f
    stat -c '%n %s %F' s long
}

modes_and_owners() {
    local mode
    : >a
    for mode in 0 1 4 7 70 644 755 1777 2755 4755 6711 7777; do
        chmod $mode a; stat -c %a a
    done
    chown 12345:54321 a; stat -c '%u %g %a' a
    chmod 4755 a; chown 1:1 a; stat -c '%u %g %a' a
    mkdir g; chgrp 777 g; chmod 2775 g; : >g/f; mkdir g/d; stat -c '%n %g %a' g/f g/d
    (umask 027; : >m; mkdir md; stat -c '%n %a' m md)
    # As another user: what the bits say.
    chmod 755 .; echo secret >private; chmod 600 private; echo open >public; chmod 644 public
    mkdir closed; echo x >closed/x; chmod 700 closed; mkdir -m 1777 sticky; : >sticky/f
    setpriv --reuid=65534 --regid=65534 --clear-groups sh -c '
        cat private; cat public; cat closed/x; echo y >public; echo y >new; rm -f sticky/f; echo mine >sticky/mine
        chmod 777 public; stat -c "%u %g %a" sticky/mine; rm sticky/mine; test -w public; echo $?'
}

times() {
    touch -d '2001-02-03 04:05:06.123456789 UTC' a; stat -c '%.9Y %.9X' a
    touch -m -d '1965-05-05 05:05:05.5 UTC' a; stat -c '%.9Y %.9X' a
    touch -a -d '2040-01-01 00:00:00.000000001 UTC' a; stat -c '%.9Y %.9X' a
    mkdir d; touch -d '2001-01-01 UTC' d; : >d/f; [ "$(stat -c %Y d)" -gt 1000000000 ] && echo newer
    touch -d '2001-01-01 UTC' d; rm d/f; [ "$(stat -c %Y d)" -gt 1000000000 ] && echo newer
    ln -s a l; touch -h -d '2002-02-02 02:02:02.000000002 UTC' l; stat -c %.9Y l a
}

# Time moves on with what changes a file, and only then.
times_move() {
    local before after
    changes() { # changes FIELD command...
        local field=$1
        shift
        before=$(stat -c %$field a); sleep 0.02; "$@"; after=$(stat -c %$field a)
        if [ "$before" = "$after" ]; then echo "same: $field $*"; else echo "changed: $field $*"; fi
    }
    echo 1 >a
    changes .9Y sh -c 'echo 2 >>a'
    changes .9Y sh -c 'echo 3 >a'
    changes .9Y truncate -s 1 a
    changes .9Y truncate -s 10000 a
    changes .9Y chmod 600 a
    changes .9Z chmod 644 a
    changes .9Z sh -c 'echo 4 >>a'
    changes .9Z truncate -s 2 a
    changes .9Z ln a b
    changes .9Z mv b c
    changes .9Z rm c
    changes .9Y cat a
    changes .9Z setfattr -n user.x -v y a
    changes .9Y setfattr -n user.x -v z a
}

extended_attributes() {
    : >a; mkdir d
    setfattr -n user.one -v 1 a; setfattr -n user.two -v "two words" a; setfattr -n user.empty a
    getfattr -n user.none a; getfattr -d a; getfattr --only-values -n user.two a; echo
    setfattr -n user.one -v changed a; setfattr -x user.two a; setfattr -x user.two a; getfattr -d a
    setfattr -n user.dir -v d d; getfattr -d d
    setfattr -n user.binary -v 0x00ff0a0d a; getfattr -n user.binary -e hex a
    setfattr -n trusted.t -v x a
    cp -a a copy; getfattr -d -m - copy; mv a moved; getfattr -n user.one moved
    setfattr -n nonsense.x -v y copy
    setfattr -n user.large -v "$(head -c 30000 /dev/zero | tr '\0' x)" copy
    getfattr --only-values -n user.large copy | wc -c
}

names() {
    local long
    long=$(printf 'n%.0s' {1..255})
    echo x >"$long"; cat "$long"
    echo x >"${long}n" 2>&1 | sed 's/.*: //'
    perl -e 'open(F, ">", "n" x 256) or print "$!\n"; mkdir("m" x 256) or print "$!\n"; mkdir("m" x 255) or print "$!\n"'
    echo s >'with space'; echo u >'ünïcode-子牛'; echo n >$'new\nline'; echo d >-dash; echo b >'back\slash'; echo q >"quo'te"
    mkdir -p a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p; echo deep >a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/file
    find . -type f -exec cat {} + | sort
    ls -a | sort; ls a/..  | wc -l
    mkdir .hidden; rmdir a; rm -d a/b; rmdir .
}

unlinked_while_open() {
    perl -e 'use Fcntl; sysopen(F, "gone", O_RDWR | O_CREAT, 0600) or die; syswrite(F, "a" x 10000); unlink "gone" or die;
        print -s F, " ", (stat F)[3], "\n"; print -e "gone" ? "there\n" : "not there\n";
        truncate(F, 5000) or print "truncate: $!\n"; sysseek(F, 0, 2); syswrite(F, "b" x 7) == 7 or print "write: $!\n";
        sysseek(F, 4990, 0); my $n = sysread(F, my $data, 100); print "$n $data\n"; close F or print "close: $!\n"'
    # Like other network file systems, ours may say that the directory is stale.
    mkdir d; (cd d && rmdir ../d && echo x >f) 2>&1 | sed 's/.*: //; s/Stale file handle/No such file or directory/'
    perl -e 'open(A, ">", "x"); unlink "x"; open(B, ">", "x"); syswrite(A, "old"); syswrite(B, "new"); close A; close B'
    cat x
}

other_types() {
    mkfifo fifo; (echo through >fifo &) ; cat fifo
    perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("socket")) or print "bind: $!\n"'
    mknod null c 1 3; echo x >null; cat null; mknod block b 7 9
    stat -c '%n %F %t:%T' fifo socket null block
    rm fifo socket null block
}

# Entries come and go while a directory is read: what stays is listed exactly once.
readdir_with_deletes() {
    perl -e 'for my $n (1 .. 2000) { open(F, ">", sprintf("entry-%05d", $n)) or die $!; close F }
        opendir(D, ".") or die; my (%seen, $count);
        while (defined(my $e = readdir D)) {
            next if $e =~ /^\./;
            $seen{$e}++;
            if (++$count % 3 == 0) { unlink $e or print "unlink $e: $!\n" }
            if ($count % 100 == 0) { open(F, ">", "late-$count"); close F }
        }
        for my $n (1 .. 2000) { my $e = sprintf("entry-%05d", $n); print "$e seen ", $seen{$e} // 0, "\n" if ($seen{$e} // 0) != 1 }
        rewinddir D; my @rest = grep { /^entry/ } readdir D; print scalar(@rest), " left\n"'
    find . -type f -name 'late-*' -delete
    ls | wc -l
    perl -e 'opendir(D, "."); while (defined(my $e = readdir D)) { next if $e =~ /^\./; unlink $e } closedir D'
    ls | wc -l
}

# A directory whose entries are the same after another batch: telldir and seekdir.
directory_positions() {
    perl -e 'for my $n (1 .. 500) { open(F, ">", "e$n"); close F }
        opendir(D, "."); readdir D for 1 .. 100; my $p = telldir D; my @a = map { scalar readdir D } 1 .. 50;
        readdir D for 1 .. 200; seekdir(D, $p); my @b = map { scalar readdir D } 1 .. 50;
        print "@a" eq "@b" ? "same\n" : "differ: @a | @b\n"'
}

# Records read and written by many processes at once through one mount.
concurrent_writers() {
    local i
    truncate -s 8000000 shared
    for i in 0 1 2 3 4 5 6 7; do
        dd if="$PATTERN" of=shared bs=10000 skip=$((i * 100)) seek=$((i * 100)) count=100 conv=notrunc status=none &
    done
    wait
    cmp shared <(head -c 8000000 "$PATTERN") && echo same
}

# Who may not keep set-user-id and set-group-id bits takes them off by writing, cutting or a change of owner.
set_ids_are_taken_off() {
    local how nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
    chmod 777 .
    # shellcheck disable=SC2016
    for how in 'printf x >>f' 'printf x 1<>f' ': >f' 'truncate -s 1 f' 'dd if=/dev/zero of=f bs=4096 count=1 conv=notrunc status=none'; do
        rm -f f
        printf abc >f
        chmod 6777 f
        sh -c "$how" && stat -c "root: $how: %a" f
        chmod 6777 f
        $nobody sh -c "$how" && stat -c "nobody: $how: %a %s" f
        chmod 6767 f # set-group-id without group execute
        $nobody sh -c "$how" && stat -c "nobody, no group execute: $how: %a" f
    done
    chmod 6777 f
    chown 65534:65534 f && stat -c 'chown: %a' f
    mkdir d && chmod 6777 d && chown 65534 d && stat -c 'chown of a directory: %a' d
    rm -r d
}

for function in create_and_overwrite neighbouring_sizes cut_and_extend chunk_boundary holes appends renames links \
    modes_and_owners times times_move names unlinked_while_open other_types readdir_with_deletes \
    directory_positions concurrent_writers set_ids_are_taken_off; do
    same_as_tmpfs $function
done

# Older kernels have no user attributes on tmpfs.
step "extended attributes"
mkdir "$MNT/x"
(cd "$MNT/x" && set +e && extended_attributes) 2>&1 | grep -v '^$' >"$TEST_DIR/attributes" || true
diff "$TEST_DIR/attributes" - <<'END' || fail "extended attributes"
a: user.none: No such attribute
# file: a
user.empty=""
user.one="1"
user.two="two words"
two words
setfattr: a: No such attribute
# file: a
user.empty=""
user.one="changed"
# file: d
user.dir="d"
# file: a
user.binary=0x00ff0a0d
# file: copy
trusted.t="x"
user.binary=0sAP8KDQ==
user.empty=""
user.one="changed"
# file: moved
user.one="changed"
setfattr: copy: Operation not supported
30000
END
rm -r "$MNT/x"

step "inode numbers"
: >"$MNT/a"
ln "$MNT/a" "$MNT/b"
assert_eq "$(stat -c %i "$MNT/a")" "$(stat -c %i "$MNT/b")" "inode of a hard link"
mv "$MNT/a" "$MNT/c"
assert_eq "$(stat -c %i "$MNT/c")" "$(stat -c %i "$MNT/b")" "inode after rename"
rm "$MNT/b" "$MNT/c"

step "space"
free_blocks() { stat -f -c %a "$MNT"; }
free_is_at_least() { [ "$(free_blocks)" -ge "$1" ]; }
free_is_below() { [ "$(free_blocks)" -lt "$1" ]; }
[ "$(stat -f -c %b "$MNT")" -gt 0 ] || fail "statfs says that there is no space"
assert_eq "$(stat -f -c %l "$MNT")" 255 "longest name"
size=$(stat -f -c %S "$MNT")
before=$(free_blocks)
head -c $((50 << 20)) "$PATTERN" >"$MNT/space"
wait_for "free space shrinks by 45 MiB" 10 free_is_below $((before - (45 << 20) / size))
rm "$MNT/space"
wait_for "free space comes back" 20 free_is_at_least $((before - (5 << 20) / size))

step "a new mount shows the same"
if [ -z "$PLAIN" ]; then
    mkdir "$MNT/kept" "$REFERENCE/kept"
    cp -a /usr/include/linux "$MNT/kept/tree"
    ln -s target "$MNT/kept/link"
    touch -h -d '2001-02-03 04:05:06.123456789 UTC' "$MNT/kept/link"
    cp -a "$MNT/kept" "$REFERENCE"
    setfattr -n user.kept -v yes "$MNT/kept"
    unmount_calf mnt
    mount_calf mnt
    assert_same_tree "$MNT/kept" "$REFERENCE/kept"
    assert_same_tree "$MNT/kept/tree" /usr/include/linux
    assert_eq "$(getfattr --only-values -n user.kept "$MNT/kept")" yes "attribute after a new mount"
    rm -rf "$MNT/kept"
fi
assert_eq "$(ls -A "$MNT")" "" "what is left in the mount"
