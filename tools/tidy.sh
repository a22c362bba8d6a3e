#!/usr/bin/env bash
# Runs clang-tidy on the sources that changed since a commit (default: the one before the last), and on those that are
# compiled together with them.
#   tools/tidy.sh [COMMIT]
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD~1}
if ! git rev-parse --quiet --verify "$base^{commit}" >/dev/null; then
  echo "no commit $base to compare with: nothing is known to have changed"
  exit 0
fi
cmake -S . -B build/tidy -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DPARTITA_TESTS=OFF -DPARTITA_BENCH=OFF >/dev/null
git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' ':!*_test.cpp' >build/tidy/changed
[[ -s build/tidy/changed ]] || exit 0
# The generated sources, each of which includes some of ours.
{
  grep --recursive --fixed-strings --files-with-matches --file=build/tidy/changed --include='*.cxx' build/tidy/src || true
  comm -12 <(sort build/tidy/changed) <(grep -oE '"file": "[^"]+"' build/tidy/compile_commands.json |
    sed -E "s|\"file\": \"$PWD/(.*)\"|\1|" | sort)
} | xargs --no-run-if-empty -n 2 -P 2 clang-tidy -p build/tidy --quiet
