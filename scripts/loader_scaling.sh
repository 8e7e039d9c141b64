#!/usr/bin/env bash
# What the cores of a machine allow the loader: one worker alone, N processes of one worker side by
# side (which share nothing of ours), and one process of N workers.
#
#   scripts/loader_scaling.sh N RECIPE [OPTION]...     options of wamtrain bench --what data
#
# WAMTRAIN: the program (default: wamtrain on PATH). STEPS: global batches of the one worker alone
# (default 4); the others do twice as many each.
# The text of every run stays in the folder that is printed at the end.
set -euo pipefail

if [[ $# -lt 2 ]]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
workers=$1
recipe=$(realpath "$2")
shift 2
program=$(command -v "${WAMTRAIN:-wamtrain}")
program=$(realpath "$program")
steps=${STEPS:-4}
out=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# bench NAME WORKERS STEPS [OPTION]...
bench() {
  local name=$1 count=$2 length=$3
  shift 3
  mkdir -p "$out/$name"
  (cd "$out/$name" &&
    "$program" bench "$recipe" --what data "$@" --steps "$length" --set "data.workers=$count" \
      --set "run.dir=$out/$name/run" > text 2>&1) || {
    echo "wamtrain bench failed:" >&2
    cat "$out/$name/text" >&2
    return 1
  }
}
rate() { awk '/^rate  / {sum += $2} END {print sum}' "$@"; }

bench alone 1 "$steps" "$@"
jobs=()
for ((i = 0; i < workers; ++i)); do
  bench "process$i" 1 "$((2 * steps))" "$@" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
bench together "$workers" "$((2 * steps * workers))" "$@"

awk -v n="$workers" -v one="$(rate "$out/alone/text")" -v apart="$(rate "$out"/process*/text)" \
  -v together="$(rate "$out/together/text")" 'BEGIN {
    printf "one worker alone            %8.2f samples/s\n", one
    printf "%-3d processes side by side  %8.2f samples/s   %5.1f %% of %d times one\n", n, apart, 100 * apart / (n * one), n
    printf "one process, %-3d workers    %8.2f samples/s   %5.1f %% of %d times one, %.1f %% of the processes\n", n, together, 100 * together / (n * one), n, 100 * together / apart
  }'
echo "texts of the runs: $out"
