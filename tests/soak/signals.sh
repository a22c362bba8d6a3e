#!/usr/bin/env bash
# Signals to `partita launch` in the first half second of a job: tests/soak/signals.sh [SIGNALS [SEED]], default 100, 1.
set -uo pipefail
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=1
exec /usr/bin/python3 tests/support/signals.py build/release/partita "${1:-100}" "${2:-1}"
