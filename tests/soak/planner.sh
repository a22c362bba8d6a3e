#!/usr/bin/env bash
# Run by hand: random questions to the planner. No configuration that is searched may take less than the bound of any
# level, answers must not depend on what else is asked for, and more bandwidth must not make more than one answer in 200
# slower, nor any by more than 1 %.
#   tests/soak/planner.sh [QUESTIONS=1000] [NEIGHBOURS OF EACH=200] [FIRST SEED=0]
set -euo pipefail
cd "$(dirname "$0")/../.."
PARTITA_QUERIES=${1:-1000} PARTITA_NEIGHBOURS=${2:-200} PARTITA_QUERY=${3:-0} OMP_NUM_THREADS=1 \
  build/release/tests/search_tests --gtest_filter='RandomQueries.*'
