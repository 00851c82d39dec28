#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034  # what is set here is used in cluster_process.sh
#
# A virtual machine as a deployment: the daemons in a QEMU guest that boots the very static programs of this host from an
# initramfs, the client a process of the host, which reaches them through forwarded ports on loopback. With KVM where it
# works; else under emulation, which only proves that it runs: the deployment is then called vm-emulated, in every result.
# Comparing native, VM, Docker, and Docker in a VM is described in docs/deployments.md. Run it with --help.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
HERE=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# shellcheck source=/dev/null
. "$HERE/cluster_process.sh"

BIN=$(realpath -m -- "${CALF_BIN:-$HERE/../build/release/bin}")
CACHE=${CALF_VM_CACHE:-/var/cache/calf-vm}
STATE=/run/calf
PORT=${CALF_VM_PORT:-7900}
CHUNKSERVERS=2
SIZE=256m
CPUS=2
GRACE_S=5
WAIT_S=${CALF_WAIT_S:-180}
UP_RUNS=no
# What the kernel needs to see a network card of QEMU's, in the order of their dependences.
MODULES=(virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net)

say() { printf 'vm.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
usage_error() { say "$* (see vm.sh --help)"; exit 2; }

print_usage() {
    cat <<'USAGE'
A calf cluster in a virtual machine, its client on this host.

  vm.sh setup                fetch Debian's cloud kernel and busybox into $CALF_VM_CACHE (/var/cache/calf-vm); nothing is installed
  vm.sh up [--chunkservers N] [--size BYTES] [--cpus N] [--state DIR]
                             boots it and prints the mount, DIR/vm-kvm/mnt or, without KVM, DIR/vm-emulated/mnt
  vm.sh down [--state DIR]   unmounts and ends it
  vm.sh status [--state DIR]

The mount takes part in a sweep by its directory: iobench sweep --scenarios bare,vm-kvm=/run/calf/vm-kvm/mnt
Environment: CALF_BIN, CALF_VM_CACHE, CALF_VM_PORT (first port on loopback; default 7900).
Exit status: 0 done, 1 failed, 2 wrong usage.
USAGE
}

is_mount() { awk -v at="$1" '$5 == at { found = 1 } END { exit !found }' /proc/self/mountinfo; }

# Whether KVM is there and this user may use it; a device that cannot be opened is none.
kvm_works() { [ -c /dev/kvm ] && (: <>/dev/kvm) 2>/dev/null; }

choose_deployment() {
    if kvm_works; then SCENARIO=vm-kvm; else SCENARIO=vm-emulated; fi
    HOME_DIR=$STATE/$SCENARIO
    MOUNT=$HOME_DIR/mnt
}

mib_of() { # SIZE
    local number=${1%[mgMG]}
    [[ $1 =~ ^[1-9][0-9]{0,6}[mgMG]$ ]] || usage_error "--size is a number with m or g, not '$1'"
    case $1 in *[gG]) number=$((number * 1024)) ;; esac
    echo "$number"
}

setup() {
    local work kernel
    [ ! -e "$CACHE/vmlinuz" ] || { say "$CACHE is complete"; return 0; }
    command -v dpkg-deb >/dev/null || die "setup needs Debian; elsewhere put vmlinuz, busybox and modules/ into $CACHE"
    work=$(mktemp -d)
    chmod 755 "$work"
    kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2; exit }')
    [ -n "$kernel" ] || die "apt knows no linux-image-cloud-amd64: apt-get update"
    (cd "$work" && apt-get download -q "$kernel" busybox-static >apt.log 2>&1) ||
        die "cannot download: $(grep '^E:' "$work/apt.log" | tail -n 1)"
    for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/files"; done
    mkdir -p "$CACHE/modules"
    cp "$work"/files/bin/busybox "$CACHE/busybox"
    for module in "${MODULES[@]}"; do
        find "$work/files/lib/modules" -name "$module.ko" -exec cp {} "$CACHE/modules/" \;
    done
    cp "$work"/files/boot/vmlinuz-* "$CACHE/vmlinuz"
    rm -rf "$work"
}

# What the guest does: network, RAM disks, one master, the chunkservers. The ports are the same inside and outside, and so is
# the address, 127.0.0.1, by which a chunkserver is known: to the host it is the forwarded port, to another one the guest itself.
write_init() { # FILE
    local i bytes=$(($(mib_of "$SIZE") << 20))
    {
        printf '#!/bin/busybox sh\n/bin/busybox --install -s /bin\nexport PATH=/bin\n'
        printf 'mount -t proc proc /proc\nmount -t sysfs sysfs /sys\nmount -t devtmpfs devtmpfs /dev\nmkdir -p /data\n'
        for module in "${MODULES[@]}"; do printf 'insmod /modules/%s.ko\n' "$module"; done
        printf 'ip link set lo up; ip addr add 10.0.2.15/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.2.2\n'
        printf 'mount -t tmpfs tmpfs /data; mkdir /data/master\n'
        printf 'calf-master --data /data/master --init --listen 0.0.0.0:%s --control 0.0.0.0:%s &\n' "$PORT" $((PORT + 1))
        for ((i = 1; i <= CHUNKSERVERS; i++)); do
            printf 'mkdir /data/ram%s; mount -t tmpfs -o size=%s tmpfs /data/ram%s\n' "$i" $((bytes * 108 / 100 + (4 << 20))) "$i"
            printf 'calf-chunkserver --store /data/ram%s --size %s --master 127.0.0.1:%s --listen 0.0.0.0:%s --advertise 127.0.0.1:%s &\n' \
                "$i" "$bytes" $((PORT + 1)) $((PORT + 9 + i)) $((PORT + 9 + i))
        done
        printf 'wait\npoweroff -f\n'
    } >"$1"
    chmod 755 "$1"
}

make_initramfs() { # FILE
    local root=$HOME_DIR/initramfs
    mkdir -p "$root"/{bin,proc,sys,dev,modules}
    cp "$CACHE/busybox" "$BIN/calf-master" "$BIN/calf-chunkserver" "$root/bin/"
    cp "$CACHE"/modules/*.ko "$root/modules/"
    write_init "$root/init"
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$1"
    rm -rf "$root"
}

guest_start() {
    local forwards="hostfwd=tcp:127.0.0.1:$PORT-:$PORT,hostfwd=tcp:127.0.0.1:$((PORT + 1))-:$((PORT + 1))" i machine=()
    for ((i = 1; i <= CHUNKSERVERS; i++)); do
        forwards+=",hostfwd=tcp:127.0.0.1:$((PORT + 9 + i))-:$((PORT + 9 + i))"
    done
    if [ $SCENARIO = vm-kvm ]; then machine=(-accel kvm -cpu host); else machine=(-accel "tcg,thread=multi" -cpu max); fi
    process_start guest qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot "${machine[@]}" \
        -smp "$CPUS" -m $(($(mib_of "$SIZE") * CHUNKSERVERS * 110 / 100 + 512)) -kernel "$CACHE/vmlinuz" \
        -initrd "$HOME_DIR/initramfs.gz" -append "console=ttyS0 quiet panic=-1 mitigations=off" -serial stdio \
        -netdev "user,id=net,restrict=on,$forwards" -device virtio-net-pci,netdev=net,romfile=
}

wait_until() { # WHAT COMMAND...
    local what=$1 deadline=$((SECONDS + WAIT_S))
    shift
    until "$@" >/dev/null 2>&1; do
        [ -n "$(process_pid guest)" ] || die "the virtual machine ended while waiting for $what: $(tail -n 3 "$HOME_DIR/log/guest.log")"
        [ $SECONDS -lt $deadline ] || die "waited $WAIT_S s for $what; the guest's console is $HOME_DIR/log/guest.log"
        sleep 0.3
    done
}

servers_registered() {
    [ "$("$BIN/calf" --master "127.0.0.1:$((PORT + 1))" servers --json | grep -o '"online": *true' | wc -l)" -ge "$CHUNKSERVERS" ]
}

mount_answers() { is_mount "$MOUNT" && timeout 10 stat "$MOUNT"; }

check() {
    local name
    [ "$(id -u)" = 0 ] || die "this needs root, to mount: run it with sudo"
    command -v qemu-system-x86_64 >/dev/null || die "QEMU is not installed: apt-get install qemu-system-x86"
    command -v cpio >/dev/null || die "cpio is not installed: apt-get install cpio"
    [ -e "$CACHE/vmlinuz" ] || die "there is no kernel in $CACHE: run vm.sh setup"
    for name in calf-master calf-chunkserver calf-mount calf; do
        [ -x "$BIN/$name" ] || die "$BIN/$name is missing: run make (or set CALF_BIN)"
    done
    [ -c /dev/fuse ] || die "there is no /dev/fuse: run modprobe fuse"
}

remove() {
    [ -e "$HOME_DIR" ] || return 0
    ! is_mount "$MOUNT" || timeout 10 umount -c "$MOUNT" 2>/dev/null || umount -c -l "$MOUNT"
    processes_end client guest || return 1
    rm -rf --one-file-system -- "$HOME_DIR"
    rmdir "$STATE" 2>/dev/null || true
}

up() {
    check
    if [ -n "$(process_pid guest)" ] && mount_answers >/dev/null 2>&1; then
        say "$SCENARIO is already up"
        echo "$MOUNT"
        return
    fi
    remove
    mkdir -p "$HOME_DIR"/{mnt,log,procs}
    trap 'trap - EXIT; tail -n 5 "$HOME_DIR/log/guest.log" >&2; remove' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    [ $SCENARIO = vm-kvm ] || say "no KVM here: the guest is emulated, which proves that it runs and measures nothing"
    make_initramfs "$HOME_DIR/initramfs.gz"
    guest_start
    wait_until "the chunkservers in the guest to register" servers_registered
    process_start client "$BIN/calf-mount" --master "127.0.0.1:$PORT" "$MOUNT" -f
    wait_until "the mount to answer" mount_answers
    echo "client $(process_pid client)
guest $(process_pid guest)" >"$HOME_DIR/pids"
    trap - EXIT INT TERM
    echo "$MOUNT"
}

main() {
    local command=${1:-}
    [ $# -gt 0 ] || { print_usage >&2; exit 2; }
    shift
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || usage_error "$1 needs a value"
        case $1 in
        --chunkservers) CHUNKSERVERS=$2 ;;
        --size) SIZE=$2 ;;
        --cpus) CPUS=$2 ;;
        --state) STATE=$(realpath -m -- "$2") ;;
        *) usage_error "there is no option $1" ;;
        esac
        shift 2
    done
    [[ $CHUNKSERVERS =~ ^[1-9]$ ]] || usage_error "--chunkservers is a number from 1 to 9, not '$CHUNKSERVERS'"
    [[ $CPUS =~ ^[1-9][0-9]?$ ]] || usage_error "--cpus is a number, not '$CPUS'"
    mib_of "$SIZE" >/dev/null
    choose_deployment
    case $command in
    setup) setup ;;
    up) up ;;
    down) if [ -e "$HOME_DIR" ]; then remove && say "$SCENARIO is down"; else say "$SCENARIO is already down"; fi ;;
    status) if [ -n "$(process_pid guest)" ] && is_mount "$MOUNT"; then echo "$SCENARIO up $MOUNT"; else echo "$SCENARIO down"; fi ;;
    --help | -h | help) print_usage ;;
    *) usage_error "there is no command '$command'" ;;
    esac
}

main "$@"
