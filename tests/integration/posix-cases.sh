# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The programs of tests/tools/posix_*.c for the scripts that run them on mounts; source it after lib.sh.

CASES=$TEST_DIR/posix-cases

build_posix_cases() {
    cc -O1 -pthread -I"$ROOT/tests/tools" -o "$CASES" "$ROOT"/tests/tools/posix_*cases.c || fail "posix_cases cannot be built"
}

# Chunks of 64 KiB, so that their borders are met often.
start_posix_cluster() { # start_posix_cluster CHUNKSERVERS
    local number
    requires root fuse cc
    build_posix_cases
    CHUNKSERVER_BYTES=$((128 << 20))
    start_master --geometry small
    for number in $(seq "$1"); do start_chunkserver "$number"; done
}

# In a fresh directory of the mount, or the same directory through two.
posix_cases() { # posix_cases LABEL DIR1 DIR2-or-"" [option...]
    local label=$1 one=$2 two=$3
    shift 3
    step "$label"
    mkdir "$one/$label"
    "$CASES" --chunk 65536 "$@" "$one/$label" ${two:+"$two/$label"} || fail "$label: a case failed"
}

FILE_CASES=unlinked_file,cut_at_boundaries,written_over,open_cuts,cut_while_others_read,appenders
FILE_CASES+=,append_without_reading,writers_of_one_file,times,fallocate_modes,seek_data_and_holes,seek_sees_mapped_data,copy_ranges,blocks_of_a_file
NAME_CASES=create_under_an_old_name,rename_onto_a_full_directory,write_after_rename,rename_flags,remove_while_reading
NAME_CASES+=,places_in_a_directory,listed_while_changed,directory_storm,name_storm,replaced_while_opened,removed_working_directory,special_files
NAME_CASES+=,no_access_lists
LOCK_CASES=lock_ranges,lock_conflicts,lock_of_the_dead,lock_waits,lock_wait_is_interrupted,lock_guards_data,many_waiters
LOCK_CASES+=,flock_belongs_to_the_open_file,locks_of_open_files
CACHE_CASES=append_in_turns,overwrite_in_place,made_on_the_other_side,shared_mapping,direct_and_mapped
CACHE_CASES+=,mapping_and_fallocate,write_from_a_mapping
export FILE_CASES NAME_CASES LOCK_CASES CACHE_CASES
