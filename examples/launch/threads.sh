#!/usr/bin/env bash
# Ranks as threads of one process: threads.sh RANKS SCRIPT [ARGUMENTS]
#
# The script needs no line for it: PARTITA_RANKS is the number of ranks of scripts that no launcher started.
set -euo pipefail
ranks=$1
shift
PARTITA_RANKS=$ranks exec "${PYTHON:-python3}" "$@"
