#!/usr/bin/env bash
# Several machines, one rank a GPU, started by Open MPI from one of them (ssh to the others without
# a password):
#
#   scripts/launch/mpirun_hosts.sh HOSTFILE RECIPE [--set KEY=VALUE ...]
#
# HOSTFILE has a line a machine: "node1 slots=8", with its number of GPUs. The program, the recipe
# and run.dir lie under the same paths on all of them; in run.dir the ranks find each other, so it
# is a shared folder (or set MASTER_ADDR and MASTER_PORT, and run.dir still holds the checkpoints).
# WAMTRAIN: the program (default: the one on PATH).
set -euo pipefail
(($# > 1)) || { echo "usage: scripts/launch/mpirun_hosts.sh HOSTFILE RECIPE [--set ...]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
hostfile=$1
shift

options=(
  --hostfile "$hostfile"
  --map-by slot   # a machine is filled before the next: local ranks 0, 1, 2, ...
  --bind-to none  # see mpirun.sh; to let Open MPI bind: --map-by slot:PE=CORES
)
export WAM_RESTART_STOP_AS=USR1 # see mpirun.sh
# Ranks on other machines get no variable of this shell but those that are named.
for name in PATH LD_LIBRARY_PATH MASTER_ADDR MASTER_PORT $(compgen -e NCCL_) $(compgen -e WAM_); do
  [[ -z ${!name+set} ]] || options+=(-x "$name")
done
exec "$here/../restart.sh" mpirun "${options[@]}" "${WAMTRAIN:-wamtrain}" train "$@"
