#!/usr/bin/env bash
# Run by hand: each model under many random pipelines (stages, groups of ranks, orders, micro-batches, optimizer
# sharding, recomputation, cuts) in f64 against the interpreter.
#   tests/soak/random_pipelines.sh [DRAWS OF EACH MODEL=500]
set -euo pipefail
cd "$(dirname "$0")/../.."
PARTITA_DRAWS=${1:-500} OMP_NUM_THREADS=1 build/release/tests/dist_tests --gtest_filter='RandomPipelines.*'
