#!/usr/bin/env bash
# Starts of `partita launch` among processes that only connect: tests/soak/flood.sh [STARTS [STRANGERS]], default 50, 4.
set -uo pipefail
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=1
exec /usr/bin/python3 tests/support/flood.py build/release/partita "${1:-50}" "${2:-4}"
