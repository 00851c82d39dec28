# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# Image, network and containers. Sourced by cluster.sh.
#
# No container is privileged. Each has a read-only root and no capability, but for the client's SYS_ADMIN, without
# which nobody mounts; the daemons are not root. Everything made here carries the label calf.home=HOME_DIR, by which
# it is found again however it came to be left.

CONTAINER_USER=65532:65532
DOCKER_SECURITY=

# Docker's command, out of reach of Ctrl-C: what it had begun would otherwise appear after the cleaning.
docker_do() {
    (trap '' INT TERM; exec docker "$@")
}

# Like docker_do, silent unless it fails; then its last line is the message.
docker_must() { # WHAT DOCKER-ARGUMENTS...
    local what=$1 output
    shift
    output=$(docker_do "$@" 2>&1) || die "could not $what: $(tail -n 1 <<<"$output")"
}

image_make() {
    local context
    docker image inspect "$IMAGE" >/dev/null 2>&1 && return
    image_sweep
    context=$(mktemp -d)
    cp "$HERE/Dockerfile" "${PROGRAMS[@]/#/$BIN/}" "$context/"
    docker_must "build the image $IMAGE" build --quiet --tag "$IMAGE" --label calf.image=1 "$context"
    rm -rf "$context"
}

# Images of programs that have been built anew since; one that a container still uses stays (rmi refuses it).
image_sweep() {
    local id
    while read -r id; do
        docker_do rmi "$id" >/dev/null 2>&1 || true
    done < <(docker images --filter label=calf.image=1 --format '{{.Repository}}:{{.Tag}}')
}

docker_network_make() {
    docker_must "create the network $PREFIX" network create --driver bridge --label "calf.home=$HOME_DIR" "$PREFIX"
}

# The host's address on the scenario's network.
docker_network_gateway() {
    local gateway
    gateway=$(docker network inspect --format '{{(index .IPAM.Config 0).Gateway}}' "$PREFIX")
    [ -n "$gateway" ] || die "Docker does not say what the host's address on the network $PREFIX is"
    echo "${gateway%/*}"
}

# Prints the options of a part's container, a word a line.
container_options() { # PART
    printf '%s\n' --name "$PREFIX-$1" --hostname "$1" --label "calf.home=$HOME_DIR" --label "calf.part=$1" \
        --read-only --cap-drop ALL --security-opt no-new-privileges --log-driver json-file --log-opt max-size=10m
    case $NETWORK in
    host) printf '%s\n' --network host ;;
    bridge) printf '%s\n' --network "$PREFIX" ;;
    published)
        # At the host's address on this very network: from outside it cannot be reached.
        printf '%s\n' --network "$PREFIX" --publish "$(part_address "$1"):$(part_port "$1")"
        [ "$1" != master ] || printf '%s\n' --publish "$(control_address):$(part_port control)"
        ;;
    esac
    limits_container_options "$1"
    case $1 in
    client*)
        printf '%s\n' --device /dev/fuse --cap-add SYS_ADMIN \
            --mount "type=bind,source=$(mount_of "$1"),target=$(mount_of "$1"),bind-propagation=rshared"
        [ "$SHARED" = no ] || printf '%s\n' --mount "type=bind,source=$(shared_directory),target=$(shared_directory),readonly"
        [[ $DOCKER_SECURITY != *name=apparmor* ]] || printf '%s\n' --security-opt apparmor=unconfined
        ;;
    *)
        printf '%s\n' --user "$CONTAINER_USER" --restart unless-stopped \
            --mount "type=bind,source=$(part_directory "$1"),target=$(part_directory "$1")"
        [ "$SHARED" = no ] || [ "$1" = master ] ||
            printf '%s\n' --mount "type=bind,source=$(shared_directory),target=$(shared_directory)"
        ;;
    esac
}

container_start() { # PART PROGRAM ARGUMENTS...
    local part=$1 options
    shift
    mapfile -t options < <(container_options "$part")
    docker_must "start the container $PREFIX-$part" run --detach "${options[@]}" "$IMAGE" "$@"
}

# What Docker knew of the scenario's containers when it was asked last, by part. One question for all of them, since
# each costs a process and a round trip.
declare -A CONTAINER_PIDS=() CONTAINER_STATES=()

containers_look() {
    local part pid state names=()
    CONTAINER_PIDS=() CONTAINER_STATES=()
    scenario_uses_docker || return 0
    mapfile -t names < <(scenario_parts | sed "s/^/$PREFIX-/")
    while read -r part state pid; do
        # Names that do not exist leave an empty line.
        [ -n "$pid" ] || continue
        CONTAINER_STATES[${part#"/$PREFIX-"}]=$state
        [ "$pid" = 0 ] || CONTAINER_PIDS[${part#"/$PREFIX-"}]=$pid
    done < <(docker inspect --format '{{.Name}} {{.State.Status}} {{.State.Pid}}' "${names[@]}" 2>/dev/null)
}

# Where the host reaches a container on a bridge network.
container_address() { # PART
    docker inspect --format "{{(index .NetworkSettings.Networks \"$PREFIX\").IPAddress}}" "$PREFIX-$1" 2>/dev/null
}

container_list() {
    docker ps --all --quiet --filter "label=calf.home=$HOME_DIR" 2>/dev/null || true
}

docker_network_list() {
    docker network ls --quiet --filter "label=calf.home=$HOME_DIR" 2>/dev/null || true
}

containers_remove() {
    local ids networks
    if ! docker_usable; then
        # Without a configuration nothing says that there ever were any.
        [ -e "$HOME_DIR/config" ] || return 0
        PROBLEM=
        problem_docker
        say "the containers of $SCENARIO cannot be removed: $PROBLEM"
        return 1
    fi
    mapfile -t ids < <(container_list)
    if [ ${#ids[@]} -gt 0 ]; then
        docker_do stop -t "$GRACE_S" "${ids[@]}" >/dev/null 2>&1 || true
        docker_do rm --force --volumes "${ids[@]}" >/dev/null 2>&1 || true
    fi
    mapfile -t networks < <(docker_network_list)
    [ ${#networks[@]} -eq 0 ] || docker_do network rm "${networks[@]}" >/dev/null 2>&1 || true
    if [ -n "$(container_list)$(docker_network_list)" ]; then
        say "containers or networks of $SCENARIO cannot be removed: docker ps -a --filter label=calf.home=$HOME_DIR"
        return 1
    fi
}
