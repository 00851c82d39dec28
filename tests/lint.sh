#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks what can be checked of the tree's conventions (HACKING.md): includes, owners of third-party headers, lengths,
# licence lines, names, a stale protocol document, shell scripts. One line per finding, "FILE:LINE: what"; exit status 1
# when there is any.
#
# usage: lint.sh [TREE]
set -u

cd "${1:-$(dirname "$0")/..}" || exit 2
export LC_ALL=C

FILE_LINES=600     # of a source file
FUNCTION_LINES=70  # from the opening brace to the closing one
FOLDERS='common master chunkserver client iobench'

findings=0
report() { echo "$*"; findings=$((findings + 1)); }

# The tree's own files: what git knows or would add; without git, everything but what is built.
list_files() {
    if ! git ls-files -co --exclude-standard 2>/dev/null; then
        find . \( -name .git -o -path ./build -o -path ./results \) -prune -o -type f -print | sed 's,^\./,,'
    fi | sort -u | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}
mapfile -t files < <(list_files)
[ "${#files[@]}" -gt 0 ] || { echo "lint.sh: no files in $PWD" >&2; exit 2; }

select_files() { # select_files REGEX
    printf '%s\n' "${files[@]}" | grep -E "$1"
}
mapfile -t c_files < <(select_files '\.[ch]$')
mapfile -t shell_files < <(select_files '\.sh$|^\.ci/run$')
mapfile -t source_files < <(select_files '\.([ch]|sh|awk|py|js|css)$|^\.ci/run$|(^|/)(Makefile|Dockerfile)$|\.ya?ml$')

# Each program's folder sees itself and common/; common/ sees itself. A load engine may use the client's library, to
# measure the cluster without the kernel. Tests see everything.
check_includes() {
    local file folder line number target
    for file in "${c_files[@]}"; do
        folder=${file%%/*}
        case " $FOLDERS " in *" $folder "*) ;; *) continue ;; esac
        while IFS=: read -r number line; do
            target=${line#*\"}
            target=${target%%\"*}
            case $target in
            "$folder"/* | common/*) ;;
            client/*) [ "$file" = iobench/engine_calf.c ] || report "$file:$number: includes $target of another program" ;;
            */*) report "$file:$number: includes $target of another program" ;;
            *) report "$file:$number: include is not written from the root: $target" ;;
            esac
        done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$file")
    done
}

# header (a regular expression)   files that may include it (a regular expression)
OWNERS='
nng/            common/control\.c
fuse.*          client/fuse_[a-z_]*\.[ch]|tests/bench/bound_fs\.c
liburing        client/fuse_uring_ring\.h
libaio          chunkserver/store_aio\.c|iobench/engine_aio\.c
mbedtls/        common/sha256\.c
xxhash          common/checksum(_avx2)?\.[ch]
jansson         iobench/[a-z_]*\.[ch]|client/admin_[a-z_]*\.[ch]|tests/.*
cmocka          tests/.*
'
check_owners() {
    local header allowed file
    while read -r header allowed; do
        [ -n "$header" ] || continue
        while read -r file; do
            [[ $file =~ ^($allowed)$ ]] || report "$file: includes <$header...>, which belongs to $allowed"
        done < <(grep -lE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<$header" "${c_files[@]}")
    done <<<"$OWNERS"
}

check_lengths() {
    local file lines finding
    for file in "${source_files[@]}"; do
        lines=$(wc -l <"$file")
        [ "$lines" -le $FILE_LINES ] || report "$file: $lines lines, more than $FILE_LINES: split it by job"
    done
    while read -r finding; do
        report "$finding"
    done < <(awk -v limit=$FUNCTION_LINES '
        FNR == 1 { start = 0 }
        /^[a-zA-Z_].*\(/ { name = $0 }
        /^\{$/ { start = FNR }
        /^\}$/ && start {
            if (FNR - start + 1 > limit)
                print FILENAME ":" start ": function of " FNR - start + 1 " lines, more than " limit ": " name
            start = 0
        }' "${c_files[@]}")
}

check_licence_lines() {
    local file
    for file in "${source_files[@]}"; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
            report "$file: no SPDX-License-Identifier line at the top"
    done
}

check_names() {
    local name
    while read -r name; do
        report "$(printf '%s\n' "${files[@]}" | grep -E "(^|/)$name\$" | tr '\n' ' '): the same file name more than once"
    done < <(printf '%s\n' "${files[@]##*/}" | grep -E '\.([ch]|sh)$' | sort | uniq -d)
    while read -r name; do
        report "$name: a structure hidden behind a typedef"
    done < <(grep -nE '^[[:space:]]*typedef[[:space:]]+(struct|union)\b' "${c_files[@]}" /dev/null |
        grep -v '^common/wire\.h:') # the schema's kinds are names that its macros paste together
}

# Notes to oneself and paths of one machine have no place in the tree. (Written so that this file does not match.)
check_words() {
    local finding
    while read -r finding; do
        report "${finding:0:160}"
    done < <(grep -nIE '\b(TO[D]O|FIX[M]E|X[X]X)\b|/wor[k]/' "${files[@]}" /dev/null)
}

# What a program left in the top directory is easily committed with the rest.
check_top_level() {
    local name
    while read -r name; do
        report "$name: does not belong into the top directory"
    done < <(printf '%s\n' "${files[@]}" | grep -v / | grep -vxE '\.gitignore|LICENSE|Makefile|[A-Z]+\.md')
}

check_protocol_document() {
    local tool=build/release/bin/wire-doc fresh
    if [ ! -f tests/tools/wire_doc.c ]; then
        echo "SKIP lint/protocol: tests/tools/wire_doc.c is missing"
        return
    fi
    fresh=$(mktemp) || exit 1
    if ! make -s $tool >"$fresh" 2>&1; then
        report "docs/protocol.md: cannot be checked, $tool does not build: $(head -n 1 "$fresh")"
    else
        $tool >"$fresh"
        cmp -s "$fresh" docs/protocol.md || report "docs/protocol.md: differs from common/wire_schema.h (run: make protocol)"
    fi
    rm -f "$fresh"
}

check_shell_scripts() {
    local finding
    if ! command -v shellcheck >/dev/null; then
        echo "SKIP lint/shellcheck: shellcheck is not installed"
        return
    fi
    while read -r finding; do
        report "$finding"
    done < <(printf '%s\n' "${shell_files[@]}" |
        xargs -P "$(nproc)" -n 4 shellcheck -S warning -e SC2034,SC2154 -f gcc)
    # What a script takes from a file that it sources, or leaves to it, is not followed: that takes minutes.
}

check_includes
check_owners
check_lengths
check_licence_lines
check_names
check_words
check_top_level
check_protocol_document
check_shell_scripts

echo "lint: ${#files[@]} files, $findings findings"
[ $findings -eq 0 ]
