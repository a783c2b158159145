# Sourced by the scripts that measure. Uses bin and results.
# shellcheck shell=bash disable=SC2154

# run NAME=VALUE... -- COMMAND...: measures, or says in a line why it cannot and goes on.
run() {
  local text="$*"
  echo "octet: ${text%% -- *}" >&2
  "$bin/octet_bench_run" "$results" "$@" || true
}
