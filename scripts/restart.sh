#!/usr/bin/env bash
# Runs a command that trains, and starts it again when it ended in a way that another start may mend:
#
#   scripts/restart.sh wamtrain train RECIPE [--set ...]
#   scripts/restart.sh mpirun -np 8 wamtrain train RECIPE
#
# Again after exit code 3 (machine or network) and after a signal (128 and above); the run then goes
# on from its newest checkpoint. Not after 0 (done, or stopped on request), 1 (it ended by itself:
# among others, run.max_crashes starts crashed at the same step), 2 (recipe or data), 4 (a bug).
# SIGTERM, SIGINT and SIGUSR1 go to the command, and no start follows.
#
# WAM_RESTART_WAIT_S: seconds between an end and the next start (default 10).
# WAM_RESTART_STOP_AS: as which signal the command gets the first SIGTERM or SIGINT. USR1 for mpirun,
# which passes that one on to the ranks, where SIGTERM makes it kill them within a second.
set -uo pipefail
(($# > 0)) || {
  echo "usage: scripts/restart.sh COMMAND [ARGUMENT ...]" >&2
  exit 2
}

say() { echo "restart.sh: $*" >&2; }

child='' signalled='' asked=''
pass_on() {
  local signal=$1
  [[ -n $asked || $1 == USR1 ]] || signal=${WAM_RESTART_STOP_AS:-$1}
  asked=$1 signalled=1
  [[ -z $child ]] || kill -s "$signal" "$child" 2>/dev/null
}
trap 'pass_on TERM' TERM
trap 'pass_on INT' INT
trap 'pass_on USR1' USR1

while :; do
  # In a session of its own, so that a signal for the whole group of this script reaches it once.
  setsid "$@" &
  child=$!
  while :; do
    code=0 signalled=''
    wait "$child" || code=$?
    [[ -n $signalled ]] || break # else it was the wait that a signal ended
  done
  child=''
  if [[ -n $asked ]]; then
    say "$asked received; the command left with exit code $code"
    exit "$code"
  fi
  if ((code != 3 && code < 128)); then
    ((code == 0)) || say "exit code $code: not started again"
    exit "$code"
  fi
  say "exit code $code: starting again in ${WAM_RESTART_WAIT_S:-10} s"
  sleep "${WAM_RESTART_WAIT_S:-10}" &
  wait $! # a signal ends this wait
  [[ -z $asked ]] || exit "$code"
done
