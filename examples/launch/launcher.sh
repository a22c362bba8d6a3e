#!/usr/bin/env bash
# Ranks as processes that Partita starts and watches, without MPI: launcher.sh RANKS SCRIPT [ARGUMENTS]
#
# A rank that is killed is named by the others within a second. RESTARTS=N starts the job again up to N times, LOGS=DIR
# keeps a folder for each rank. PARTITA is the command, when it is not in PATH.
set -euo pipefail
ranks=$1
shift
flags=(--max-restarts "${RESTARTS:-0}")
[[ -z ${LOGS:-} ]] || flags+=(--log-dir "$LOGS")
exec "${PARTITA:-partita}" launch -n "$ranks" "${flags[@]}" -- "${PYTHON:-python3}" "$@"
