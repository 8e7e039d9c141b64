#!/usr/bin/env bash
# torchrun as the launcher (a cluster whose tools expect it), the same command on every machine:
#
#   scripts/launch/torchrun.sh RECIPE [--set KEY=VALUE ...]
#
# NODES: machines (default 1). RANKS: GPUs of each (default: all). HEAD: host:port of one of them,
# where they meet (default localhost:29500). WAMTRAIN: the program (default: the one on PATH).
set -euo pipefail
(($# > 0)) || { echo "usage: scripts/launch/torchrun.sh RECIPE [--set KEY=VALUE ...]" >&2; exit 2; }

options=(
  --no-python  # the program is not a Python script
  --nnodes "${NODES:-1}"
  --nproc-per-node "${RANKS:-$(nvidia-smi --list-gpus | wc -l)}"
  --rdzv-backend c10d --rdzv-endpoint "${HEAD:-localhost:29500}" --rdzv-id "${JOB:-wamtrain}"
  # torchrun leaves with 1 whatever the program's exit code, so that scripts/restart.sh is of no
  # use: torchrun starts all ranks again itself, after an error of the recipe too.
  --max-restarts 3
)
# torchrun sets OMP_NUM_THREADS=1 where it is not set; run.threads decides here.
exec torchrun "${options[@]}" "$(command -v "${WAMTRAIN:-wamtrain}")" train "$@"
