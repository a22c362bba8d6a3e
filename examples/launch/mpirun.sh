#!/usr/bin/env bash
# Ranks as processes of this host under Open MPI: mpirun.sh RANKS SCRIPT [ARGUMENTS]
#
# LOGS=DIR keeps what each rank prints, in DIR/1/rank.N/stdout. More ranks than cores are allowed.
set -euo pipefail
ranks=$1
shift
flags=(--oversubscribe --bind-to none)
[[ $(id -u) -ne 0 ]] || flags+=(--allow-run-as-root)
[[ -z ${LOGS:-} ]] || flags+=(--output-filename "$LOGS" --merge-stderr-to-stdout)
exec mpirun -n "$ranks" "${flags[@]}" "${PYTHON:-python3}" "$@"
