#!/usr/bin/env bash
# First contact: from a fresh clone to a small world-action model that was trained on robot data,
# stopped, resumed, validated and exported. Debian or Ubuntu, with or without a GPU; about a quarter
# of an hour on two cores, downloads aside. May be run again: what is done is not done twice.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh
say() { printf '\n== %s\n' "$*"; }

say "1/7  Dependencies (scripts/setup.sh)"
scripts/setup.sh

say "2/7  Building wamtrain (build/release)"
cmake --preset release
cmake --build build/release --target wamtrain
wamtrain=build/release/apps/wamtrain/wamtrain
"$wamtrain" --version

run=runs/quickstart
data=runs/sample_world
say "3/7  Writing a sample dataset: a simulated arm, three cameras, in LeRobot v2.1 ($data)"
"$wamtrain" sample --out "$data"

recipe=(configs/tiny.yaml --set "run.dir=$run" --set "data.datasets=[{path: $data, embodiment: tiny}]")
if [[ ! -e $run/checkpoints/latest ]]; then
  say "4/7  Training the tiny model until its first checkpoint, then stopping it (SIGTERM)"
  "$wamtrain" train "${recipe[@]}" &
  pid=$!
  trap 'kill "$pid" 2>/dev/null || true' EXIT
  while [[ ! -e $run/checkpoints/latest ]] && kill -0 "$pid" 2>/dev/null; do sleep 0.5; done
  kill -TERM "$pid" 2>/dev/null || true
  wait "$pid"
  trap - EXIT
else
  say "4/7  $run has a checkpoint already: going on from it"
fi

say "5/7  Resuming where it stopped, to the end (the same command)"
"$wamtrain" train "${recipe[@]}"

last=$run/checkpoints/$(cat "$run/checkpoints/latest")
say "6/7  Checking and exporting $last"
"$wamtrain" verify "$last"
rm -rf "$run/export"
"$wamtrain" export "$last" --out "$run/export"

say "7/7  Report"
"$wamtrain" report "$run" --picture "$run/actions.svg"

cat <<END

Done. On episodes that it was never trained on:
  $(grep -o 'validation at step.*' "$run/log.txt" | tail -1)

  data        $data
  checkpoints $run/checkpoints
  metrics     $run/metrics.jsonl
  report      $run/report.html (open it in a browser), $run/actions.svg
  export      $run/export (a DreamZero folder: config.json, safetensors, experiment_cfg)
Next: configs/5b_oxe_droid.yaml for the real model, \`$wamtrain plan RECIPE\` before it.
END
