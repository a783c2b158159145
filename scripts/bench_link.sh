#!/usr/bin/env bash
# Training on hosts of a network with a delay and a rate: each rank in a network namespace of its own,
# with a link to all others that bench/link.cpp emulates. Needs root, iproute2, and a build with
# -DOCTET_MPI=ON and -DOCTET_BUILD_BENCH=ON. Prints for each number of hosts microseconds per step and those spent on exchange.
# Usage: bench_link.sh DELAY_US MBIT_PER_SECOND HOSTS... -- OPTION_OF_MNIST_QAT...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -ge 3 ] || { echo "usage: bench_link.sh DELAY_US MBIT_PER_SECOND HOSTS... -- OPTION..." >&2; exit 2; }
delay=$1 rate=$2
shift 2
counts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  counts+=("$1")
  shift
done
[ $# -eq 0 ] || shift
bin=$PWD/build/release/bin
work=$(mktemp -d)

hosts=0 link=
stop() {
  [ -z "$link" ] || kill "$link" 2>/dev/null || true
  link=
  for ((i = 1; i <= hosts; ++i)); do ip netns del "octet$i" 2>/dev/null || true; done
  hosts=0
}
trap 'stop; rm -rf "$work"' EXIT

# What mpirun starts its daemon on another host with: AGENT HOST COMMAND...
cat >"$work/agent" <<'AGENT'
#!/usr/bin/env bash
host=octet${1##*.}
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
AGENT
chmod +x "$work/agent"

start() {
  hosts=$1
  rm -f "$work/ready"
  "$bin/octet_bench_link" "$hosts" "$delay" "$rate" >"$work/ready" &
  link=$!
  for _ in {1..50}; do
    grep -q ready "$work/ready" && break
    sleep 0.1
  done
  for ((i = 1; i <= hosts; ++i)); do
    ip netns add "octet$i"
    ip link set "octet$i" netns "octet$i"
    ip -n "octet$i" link set lo up
    ip -n "octet$i" addr add "10.9.0.$i/24" dev "octet$i"
    # Packets as large as fast networks have.
    ip -n "octet$i" link set "octet$i" mtu 9000 txqueuelen 10000 up
  done
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for count in "${counts[@]}"; do
  start "$count"
  list=$(for ((i = 1; i <= count; ++i)); do echo "10.9.0.$i:1"; done | paste -sd ,)
  ip netns exec octet1 unshare --uts sh -c 'hostname octet1; exec "$@"' sh \
    mpirun -np "$count" --host "$list" --mca plm_rsh_agent "$work/agent" --mca btl tcp,self \
    --mca btl_tcp_if_include 10.9.0.0/24 --mca oob_tcp_if_include 10.9.0.0/24 \
    --mca hwloc_base_binding_policy none --mca mpi_yield_when_idle 1 \
    "$bin/mnist_qat" --out "$work/run" --epochs 1 --qat-epochs 0 --threads 1 --no-progress --profile "$@" \
    >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  awk -v hosts="$count" '
    / img\/s/ && !speed { for (i = 2; i <= NF; ++i) if ($i ~ /^img/) speed = $(i - 1) }
    /^rank/ { table = 1; next }
    table && $1 == "0" { printf "%d host(s): %s us / step, %s exchange, %s B sent, %s img/s\n", hosts, $3, $4, $7, speed; exit }
  ' "$work/log"
  stop
done
