#!/usr/bin/env bash
# One machine, one rank a GPU, started by Open MPI:
#
#   scripts/launch/mpirun.sh RECIPE [--set KEY=VALUE ...]
#
# RANKS: how many (default: one for each GPU). WAMTRAIN: the program (default: the one on PATH).
# Ctrl-C, or SIGTERM to this script, stops the run with a checkpoint; the same command goes on.
set -euo pipefail
(($# > 0)) || { echo "usage: scripts/launch/mpirun.sh RECIPE [--set KEY=VALUE ...]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
ranks=${RANKS:-$(nvidia-smi --list-gpus | wc -l)}

options=(
  -np "$ranks"
  # Open MPI binds a rank to one core (up to two ranks) or to one socket. Decoding video takes more
  # than a core; unbound ranks share the machine and stay near their GPUs by themselves (run.pin).
  --bind-to none
)
# At SIGTERM or Ctrl-C, Open MPI kills all ranks within a second, too soon for a checkpoint; SIGUSR1
# it passes on to them.
export WAM_RESTART_STOP_AS=USR1
# Starts again after what another start may mend: a rank or a machine that died.
exec "$here/../restart.sh" mpirun "${options[@]}" "${WAMTRAIN:-wamtrain}" train "$@"
