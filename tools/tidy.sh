#!/usr/bin/env bash
# Runs clang-tidy on the sources that changed since a commit (default: the one before the last).
#   tools/tidy.sh [COMMIT]
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD~1}
git rev-parse --quiet --verify "$base^{commit}" >/dev/null || base=$(git hash-object -t tree /dev/null)  # all files
cmake -S . -B build/tidy -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DPARTITA_BENCH=OFF >/dev/null
git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' ':!*_test.cpp' | xargs -r -n 4 -P 2 clang-tidy -p build/tidy --quiet
