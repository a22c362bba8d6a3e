#!/usr/bin/env bash
# Ranks on several hosts: hosts.sh mpirun|partita HOSTFILE SCRIPT [ARGUMENTS]
#
# HOSTFILE has a line for each host, `name slots=4`; there are as many ranks as slots. Both ways need the script and
# Python under the same path on each host, and an ssh that asks for nothing.
set -euo pipefail
way=$1 hosts=$2
shift 2
if [[ $way == partita ]]; then
  exec "${PARTITA:-partita}" launch --hostfile "$hosts" -- "${PYTHON:-python3}" "$@"
fi
flags=(--bind-to none)
[[ $(id -u) -ne 0 ]] || flags+=(--allow-run-as-root)
for name in PYTHONPATH PARTITA_DATA OMP_NUM_THREADS; do  # what the script needs there of this environment
  [[ -z ${!name:-} ]] || flags+=(-x "$name")
done
exec mpirun --hostfile "$hosts" "${flags[@]}" "${PYTHON:-python3}" "$@"
