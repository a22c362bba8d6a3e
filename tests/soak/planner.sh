#!/usr/bin/env bash
# Random questions to the planner. No configuration that is searched may take less than the bound of any level, no pin
# may find a faster one, each configuration that is priced can be pinned, and answers must not depend on what else is
# asked for. Run by hand without SECONDS, also more bandwidth must not make more than one answer in 200 slower, nor any by
# more than 1 %.
#   tests/soak/planner.sh [QUESTIONS=500] [NEIGHBOURS OF EACH=20] [FIRST SEED=0] [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
filter='RandomQueries.*'
[[ -n ${4:-} ]] && export PARTITA_SECONDS=$4 && filter='RandomQueries.NothingThatIsSearchedIsFaster'
PARTITA_QUERIES=${1:-500} PARTITA_NEIGHBOURS=${2:-20} PARTITA_QUERY=${3:-0} OMP_NUM_THREADS=1 \
  build/release/tests/search_tests --gtest_filter="$filter"
