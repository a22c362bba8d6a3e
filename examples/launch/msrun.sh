#!/usr/bin/env bash
# A script that imports the documented system, unchanged: msrun.sh RANKS SCRIPT [ARGUMENTS]
#
# LOGS=DIR keeps what each rank prints.
set -euo pipefail
ranks=$1
shift
exec "${PYTHON:-python3}" -m partita.msrun --worker_num "$ranks" ${LOGS:+--log_dir "$LOGS"} "$@"
