#!/usr/bin/env bash
# fresh.sh [SUITE]: the README's two commands as on a new machine: in a bare Debian (bookworm unless
# another is named) made by debootstrap, on the files of HEAD, with nothing cached. Run it before a
# release; it takes as long as a first build and every test. Prints the time of each command, and
# fails if one of them fails. Needs root, debootstrap and the package mirror of this machine's apt;
# where it cannot run it says why and ends with 0. OCTET_MNIST_DIR is passed on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
suite=${1:-bookworm}

skip() {
  echo "fresh: skipped: $*"
  exit 0
}

# The archive that apt here takes packages of the suite from, else any of Debian's.
mirror_of() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(CODENAME) $(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -v suite="$suite" '$1 == suite && $2 == "Debian" { print $3; found = 1; exit }
      $2 == "Debian" && $3 !~ /security/ { other = $3 }
      END { if (!found && other != "") print other }'
}

# What runs in namespaces of its own: its mounts and processes end with it.
# in_namespace ROOT MIRROR: sets the root up, and runs both commands in it.
in_namespace() {
  local root=$1 mirror=$2 name command begin status=0
  mount -t tmpfs tmpfs "$root/mount_test" 2>/dev/null || return 77
  umount "$root/mount_test"
  rmdir "$root/mount_test"
  echo "fresh: debootstrap $suite from $mirror"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 || {
    tail -5 "$root.log"
    echo "fresh: FAILED: debootstrap, see above"
    return 1
  }
  mount -t proc proc "$root/proc" && mkdir -p "$root/dev/shm" "$root/dev/pts" &&
    mount -t tmpfs tmpfs "$root/dev/shm" &&
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" &&
    ln -sf pts/ptmx "$root/dev/ptmx" || return 77
  cp /etc/hosts /etc/resolv.conf "$root/etc/"
  apt-config dump | grep -E '^Acquire::(http|https)::' >"$root/etc/apt/apt.conf.d/90fresh"
  mkdir "$root/octet" && git archive HEAD | tar -x -C "$root/octet" || return 1
  local inside=(env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  for name in http_proxy https_proxy no_proxy; do
    [ -z "${!name:-}" ] || inside+=("$name=${!name}")
  done
  if [ -n "${OCTET_MNIST_DIR:-}" ]; then
    mkdir "$root/mnist"
    mount --bind "$OCTET_MNIST_DIR" "$root/mnist" && inside+=(OCTET_MNIST_DIR=/mnist)
  fi
  for command in scripts/mnist.sh scripts/test.sh; do
    begin=$SECONDS
    if chroot "$root" "${inside[@]}" sh -c "cd /octet && exec $command"; then
      echo "fresh: $command: passed in $((SECONDS - begin)) s"
    else
      echo "fresh: $command: FAILED after $((SECONDS - begin)) s"
      status=1
    fi
  done
  return "$status"
}

if [ "${1:-}" = --in-namespace ]; then
  suite=$4
  in_namespace "$2" "$3"
  exit
fi

[ "$(id -u)" -eq 0 ] || skip "making a root needs the rights of root"
command -v debootstrap >/dev/null || skip "there is no debootstrap (Debian: apt-get install debootstrap)"
command -v git >/dev/null || skip "there is no git to ask for HEAD (Debian: apt-get install git)"
mirror=$(mirror_of)
[ -n "$mirror" ] || skip "apt knows no mirror of Debian here; apt-get update tells it"
unshare --mount --pid --fork true 2>/dev/null || skip "this container permits no namespaces (unshare)"

root=$(mktemp -d "${TMPDIR:-/var/tmp}/octet-fresh.XXXXXX")
child=
# shellcheck disable=SC2317
cleanup() {
  if [ -n "$child" ]; then
    # Its child is the first process of the namespace: when that is gone, all of them are, and
    # nothing writes to the root any more.
    local first
    first=$(cat "/proc/$child/task/$child/children" 2>/dev/null)
    kill -KILL "${first%% *}" 2>/dev/null || kill -KILL "$child" 2>/dev/null
    wait "$child" 2>/dev/null
  fi
  rm -rf --one-file-system "$root" "$root.log" || echo "fresh: could not remove $root" >&2
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# apt downloads as a user of its own, who must get here.
chmod 755 "$root"
mkdir "$root/mount_test"
echo "fresh: $(git log -1 --format='%h %s') in $root"
unshare --mount --pid --fork --kill-child=KILL \
  bash "$PWD/scripts/fresh.sh" --in-namespace "$root" "$mirror" "$suite" &
child=$!
wait "$child"
status=$?
child=
[ "$status" -ne 77 ] || skip "nothing can be mounted here"
exit "$status"
