#!/usr/bin/env bash
# What a GPU machine must show before a change to GPU code lands. Each part ends within 8 minutes.
#
#   scripts/gpu_check.sh BUNDLE DROID_DATASET [part ...]     (default: all but sanitizer and two_gpus*)
#
#   kernels        kernels, graphs and reads of the device against their twins
#   golden         the reference's numbers, and the whole model against its plain twins on the CPU
#   matrix         attention plans, and every option of the step with every other
#   vae            the video VAE against the CPU
#   train_kernels  the optimizer against its plain form
#   sanitizer      compute-sanitizer's memcheck on the kernels' tests
#   resume         runs that are killed and resumed, without a difference
#   curve          300 steps of the tiny model in bf16 with graphs follow those on the CPU in fp32
#   train          a short 5B run
#   bench          the benchmark table
#   two_gpus       on two GPUs: every strategy gives the same bits, a killed rank ends the other
#   two_gpus_5b    a 5B on two GPUs, saved once (67 GB of disk) and resumed without a difference
#
# BUNDLE: what scripts/bundle.sh made with WAM_BUNDLE_TESTS=ON and WAM_BUNDLE_TARGETS="kernel_core_cuda
# kernel_core_ops kernel_core_train kernel_golden kernel_models_vae kernel_models_wam".
# DROID_DATASET: a LeRobot v2 folder in the oxe_droid layout, for resume and train.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bundle=$(realpath "${1:?usage: scripts/gpu_check.sh BUNDLE DROID_DATASET [part ...]}")
droid=$(realpath "${2:?usage: scripts/gpu_check.sh BUNDLE DROID_DATASET [part ...]}")
shift 2
parts=${*:-kernels golden matrix vae train_kernels resume curve train bench}
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
  local last
  last=$(cat "$work/$name-straight/checkpoints/latest")
  grep -h 'resuming' "$work/log" | grep -v "$last" || { echo "$name: the run was not killed before its end"; return 1; }
  cmp "$work/$name-straight/checkpoints/$last/shard_00000_of_00001.safetensors" \
      "$work/$name-killed/checkpoints/$last/shard_00000_of_00001.safetensors"
  diff <(grep -o '"loss":[^,]*' "$work/$name-straight/metrics.jsonl") \
       <(grep -o '"loss":[^,]*' "$work/$name-killed/metrics.jsonl")
  echo "$name: $last is equal bit for bit, and so is every loss"
  rm -rf "$work/$name-straight" "$work/$name-killed"
}

# kernel_tests NAME ARGUMENTS...: a skipped test is a failure here.
kernel_tests() {
  "$bundle/run.sh" "$@" --durations yes | tee "$work/tests"
  if grep SKIPPED: "$work/tests"; then return 1; fi
}

pair() { mpirun --bind-to none ${WAM_MPIRUN_FLAGS:-} -np 2 "$bundle/wamtrain" "$@"; }
two_losses() { grep -oh '"loss":[^,]*' "$work/$1/metrics.jsonl"; }

# pair_equals NAME SETTINGS...: two ranks of the tiny model, whose losses are those of `plain`. (Norms are summed
# shard by shard in double, and differ in their last digit.)
pair_equals() {
  local name=$1
  shift
  pair train "${tiny_pair[@]}" --set "run.dir=$work/$name" "$@" >"$work/log" 2>&1 || { tail -5 "$work/log"; return 1; }
  [[ $name == plain ]] || diff <(two_losses plain) <(two_losses "$name")
  echo "$name: $(two_losses "$name" | grep -c loss) steps"
}

# One of two ranks is killed while they train; they are started without a launcher that would end the other.
killed_pair() {
  local pids=() code=0
  for rank in 0 1; do
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 \
      "$bundle/wamtrain" train "${tiny_pair[@]}" --set "run.dir=$work/killed" --set train.steps=1000000 \
      --set run.timeout_s=15 --set parallel.strategy=full_shard >"$work/killed.$rank" 2>&1 &
    pids+=($!)
  done
  until [[ $(cat "$work/killed/metrics.jsonl" 2>/dev/null | wc -l) -gt 20 ]]; do
    kill -0 "${pids[0]}" && sleep 0.2 || { tail -5 "$work/killed.0"; return 1; }
  done
  kill -KILL "${pids[1]}"
  local start=$SECONDS
  wait "${pids[0]}" || code=$?
  grep -h 'rank 1' "$work/killed.0" | tail -1
  echo "rank 0 left with $code after $((SECONDS - start)) s"
  [[ $code == 3 ]] && grep -q 'rank 1' "$work/killed.0" && ((SECONDS - start < 40))
}

# Mean loss of the last 50 steps of two runs, which may differ by 2 %.
compare_curves() {
  python3 - "$1" "$2" <<'PY'
import json, sys
means = []
for run in sys.argv[1:]:
    with open(f"{run}/metrics.jsonl") as lines:
        losses = [row["loss"] for row in map(json.loads, lines) if "loss" in row]
    means.append(sum(losses[-50:]) / len(losses[-50:]))
    print(f"{run.rsplit('/', 1)[-1]}: {len(losses)} steps, mean loss of the last {len(losses[-50:])}: {means[-1]:.5f}")
difference = abs(means[0] - means[1]) / means[1]
print(f"difference: {100 * difference:.2f} %, at most 2 % allowed")
sys.exit(difference > 0.02)
PY
}

for part in $parts; do
  case $part in
    kernels)
      say "kernels against their twins"
      kernel_tests kernel_core_cuda
      kernel_tests kernel_core_ops
      ;;
    golden)
      say "golden values, and the whole model against its plain twins"
      WAM_GOLDEN_DIR=${WAM_GOLDEN_DIR:-$root/test/golden/files} kernel_tests kernel_golden
      ;;
    matrix)
      say "attention plans and the option matrix"
      kernel_tests kernel_models_wam
      ;;
    vae)
      say "video VAE against the CPU"
      kernel_tests kernel_models_vae
      ;;
    train_kernels)
      say "optimizer against its plain form"
      kernel_tests kernel_core_train
      ;;
    sanitizer)
      say "memcheck on the kernels' tests"
      # Every tensor is an allocation of its own, so that reading past its end shows.
      PYTORCH_NO_CUDA_MEMORY_CACHING=1 \
        "${WAM_SANITIZER:-/usr/local/cuda/bin/compute-sanitizer}" --tool memcheck --target-processes all \
        --error-exitcode 1 "$bundle/run.sh" kernel_core_ops --durations yes
      ;;
    resume)
      say "killed and resumed"
      wamtrain sample --out "$work/world" --pictures images --episodes 16 >/dev/null
      resume_check tiny "$bundle/configs/tiny.yaml" --set run.device=cuda --set precision.compute=bf16 \
        --set "data.datasets=[{path: $work/world, embodiment: tiny}]" \
        --set train.steps=400 --set checkpoint.every=20 --set validate.every=0
      resume_check 5b-6-layers "$bundle/configs/5b_bench.yaml" --set model.layers=6 \
        --set "data.datasets=[{path: $droid, embodiment: oxe_droid}]" --set train.micro_batch=3 \
        --set train.steps=8 --set checkpoint.every=3 --set checkpoint.keep=1
      ;;
    curve)
      say "${WAM_CURVE_STEPS:-300} steps of the tiny model: GPU in bf16 with graphs, CPU in fp32"
      wamtrain sample --out "$work/curve_world" --pictures images >/dev/null
      curve=("$bundle/configs/tiny.yaml" --set "data.datasets=[{path: $work/curve_world, embodiment: tiny}]"
        --set "train.steps=${WAM_CURVE_STEPS:-300}" --set validate.every=0 --set checkpoint.every=0
        --set checkpoint.at_end=false)
      wamtrain train "${curve[@]}" --set "run.dir=$work/gpu-bf16-graphs" --set run.device=cuda \
        --set run.graphs=on --set precision.compute=bf16 >"$work/log" 2>&1 || { tail -5 "$work/log"; exit 1; }
      OMP_WAIT_POLICY=passive wamtrain train "${curve[@]}" --set "run.dir=$work/cpu-fp32" --set run.device=cpu \
        --set precision.compute=fp32 >"$work/log" 2>&1 || { tail -5 "$work/log"; exit 1; }
      compare_curves "$work/gpu-bf16-graphs" "$work/cpu-fp32"
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
    two_gpus)
      say "two ranks: every strategy"
      wamtrain sample --out "$work/pair_world" --pictures images --episodes 16 >/dev/null
      tiny_pair=("$bundle/configs/tiny.yaml" --set "data.datasets=[{path: $work/pair_world, embodiment: tiny}]"
        --set "run.device=${WAM_CHECK_DEVICE:-cuda}" --set precision.compute=${WAM_CHECK_COMPUTE:-bf16} --set train.steps=30
        --set train.global_batch=8 --set train.micro_batch=2 --set validate.every=0 --set checkpoint.every=0
        --set checkpoint.at_end=false)
      pair_equals plain --set parallel.strategy=no_shard
      for strategy in shard_grad_op full_shard hybrid_shard; do
        pair_equals "$strategy" --set "parallel.strategy=$strategy"
      done
      pair_equals no_graphs --set parallel.strategy=full_shard --set run.graphs=off
      for offload in optimizer optimizer+params; do
        for strategy in no_shard full_shard; do
          pair_equals "$strategy-$offload" --set "parallel.strategy=$strategy" --set "parallel.offload=$offload"
        done
      done
      say "one of two ranks is killed"
      killed_pair
      ;;
    two_gpus_5b)
      say "5B on two GPUs, saved at step 3 and resumed"
      five=("$bundle/configs/5b_bench.yaml" --set "data.datasets=[{path: $droid, embodiment: oxe_droid}]"
        --set train.steps=5 --set train.micro_batch=8 --set train.global_batch=32 --set memory.recompute=norms
        --set parallel.strategy=full_shard --set checkpoint.every=3 --set checkpoint.at_end=false
        --set validate.every=0 --set log.state_hash=true --set "run.dir=$work/five")
      pair train "${five[@]}" >"$work/five.1" 2>&1 || { tail -5 "$work/five.1"; exit 1; }
      pair train "${five[@]}" >"$work/five.2" 2>&1 || { tail -5 "$work/five.2"; exit 1; }
      grep -h 'resuming from' "$work/five.2"
      diff <(grep -h 'state hash' "$work/five.1") <(grep -h 'state hash' "$work/five.2")
      grep -h 'state hash' "$work/five.2"
      rm -rf "$work/five"
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
      echo "gpu_check: unknown part $part; the head of this script lists them" >&2
      exit 2
      ;;
  esac
done
