#!/usr/bin/env bash
# Run by hand: what the search for reshards finds against exhaustive search, for many pairs of shardings on meshes that
# have too many for all.
#   tests/soak/reshard.sh [PAIRS OF EACH MESH, TENSOR AND WEIGHTS=20000]
set -euo pipefail
cd "$(dirname "$0")/../.."
PARTITA_RESHARD_PAIRS=${1:-20000} build/release/tests/laws_tests --gtest_filter='Reshard.*'
