#!/usr/bin/env bash
# Run by hand: each model under many random plans and random annotations on 4, 6 and 8 ranks, 10 steps each in f64 against the
# interpreter; many reshards, bit for bit.
#   tests/soak/random_plans.sh [PLANS OF EACH KIND, MODEL AND MESH=17]
set -euo pipefail
cd "$(dirname "$0")/../.."
PARTITA_PLANS=${1:-17} OMP_NUM_THREADS=1 build/release/tests/dist_tests --gtest_filter='RandomPlans.*'
