#!/usr/bin/env bash
# What a GPU machine must show before a change to GPU code lands: kernels against their twins, a run
# that is killed and resumed without a difference, a short 5B run, and the benchmark table.
#
#   scripts/gpu_check.sh BUNDLE DROID_DATASET [kernels|resume|train|bench ...]     (default: all)
#
# BUNDLE: what scripts/bundle.sh made with WAM_BUNDLE_TESTS=ON WAM_BUNDLE_TARGETS=kernel_core_ops.
# DROID_DATASET: a LeRobot v2 folder in the oxe_droid layout.
set -euo pipefail

bundle=$(realpath "${1:?usage: scripts/gpu_check.sh BUNDLE DROID_DATASET [part ...]}")
droid=$(realpath "${2:?usage: scripts/gpu_check.sh BUNDLE DROID_DATASET [part ...]}")
shift 2
parts=${*:-kernels resume train bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wamtrain() { "$bundle/wamtrain" "$@"; }
say() { printf '\n== %s\n' "$*"; }

# resume_check NAME RECIPE ARGUMENTS...: a run straight, against the same killed after its first
# checkpoint and resumed; last checkpoint and losses must be equal.
resume_check() {
  local name=$1 pid
  shift
  wamtrain train "$@" --set checkpoint.every=0 --set "run.dir=$work/$name-straight" >"$work/log" 2>&1 || { tail -5 "$work/log"; return 1; }
  # The program itself, not a shell around it, is what gets killed.
  "$bundle/wamtrain" train "$@" --set "run.dir=$work/$name-killed" >"$work/log" 2>&1 &
  pid=$!
  while [[ ! -e $work/$name-killed/checkpoints/latest ]] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
  sleep "0.$((RANDOM % 10))"
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  wamtrain train "$@" --set "run.dir=$work/$name-killed" >"$work/log" 2>&1 || { tail -5 "$work/log"; return 1; }
  grep -h 'resuming' "$work/log" || true
  local last
  last=$(cat "$work/$name-straight/checkpoints/latest")
  cmp "$work/$name-straight/checkpoints/$last/shard_00000_of_00001.safetensors" \
      "$work/$name-killed/checkpoints/$last/shard_00000_of_00001.safetensors"
  diff <(grep -o '"loss":[^,]*' "$work/$name-straight/metrics.jsonl") \
       <(grep -o '"loss":[^,]*' "$work/$name-killed/metrics.jsonl")
  echo "$name: $last is equal bit for bit, and so is every loss"
  rm -rf "$work/$name-straight" "$work/$name-killed"
}

for part in $parts; do
  case $part in
    kernels)
      say "kernels against their twins"
      "$bundle/run.sh" kernel_core_ops
      ;;
    resume)
      say "killed and resumed"
      wamtrain sample --out "$work/world" --pictures images --episodes 16 >/dev/null
      resume_check tiny "$bundle/configs/tiny.yaml" --set run.device=cuda --set precision.compute=bf16 \
        --set "data.datasets=[{path: $work/world, embodiment: tiny}]" \
        --set train.steps=40 --set checkpoint.every=5 --set validate.every=0
      resume_check 5b-6-layers "$bundle/configs/5b_bench.yaml" --set model.layers=6 \
        --set "data.datasets=[{path: $droid, embodiment: oxe_droid}]" --set train.micro_batch=3 \
        --set train.steps=8 --set checkpoint.every=3 --set checkpoint.keep=1
      ;;
    train)
      say "5B, 20 steps at micro-batch 8, recompute full"
      wamtrain train "$bundle/configs/5b_bench.yaml" --set "run.dir=$work/run" --set checkpoint.at_end=false \
        --set "data.datasets=[{path: $droid, embodiment: oxe_droid}]"
      rm -rf "$work/run"
      say "5B, one batch repeated with its draws, constant rate"
      wamtrain train "$bundle/configs/5b_bench.yaml" --set "run.dir=$work/run" --set checkpoint.at_end=false --set data.repeat_batch=true \
        --set "data.datasets=[{path: $droid, embodiment: oxe_droid}]" --set train.steps=10
      rm -rf "$work/run"
      ;;
    bench)
      say "transformer forward + backward"
      for setting in "1 none" "8 none" "32 full"; do
        read -r micro policy <<<"$setting"
        wamtrain bench "$bundle/configs/5b_bench.yaml" --set "train.micro_batch=$micro" \
          --set "train.global_batch=$micro" --set "memory.recompute=$policy"
      done
      wamtrain bench "$bundle/configs/14b_bench.yaml" --steps 5
      ;;
    *)
      echo "gpu_check: unknown part $part; expected kernels, resume, train, bench" >&2
      exit 2
      ;;
  esac
done
