#!/usr/bin/env bash
# Run by hand: each model saved by random ranks under random plans and loaded by others under others; what is saved again
# has the same bits, and the training goes on within 1e-9 of one that was never interrupted, in f64.
#   tests/soak/round_trips.sh [PAIRS OF EACH MODEL=30]
set -euo pipefail
cd "$(dirname "$0")/../.."
PARTITA_ROUND_TRIPS=${1:-30} OMP_NUM_THREADS=1 build/release/tests/dist_tests --gtest_filter='Models/Checkpoints.*'
