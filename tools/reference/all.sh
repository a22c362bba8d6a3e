#!/usr/bin/env bash
# Writes the generated pages of docs/reference anew, or with --check says which are not current.
#   tools/reference/all.sh [--check]     after a build with -DPARTITA_PYTHON=ON
set -uo pipefail
cd "$(dirname "$0")/../.."
faults=0
/usr/bin/python3 tools/reference/commands.py build/release/partita "$@" || faults=1
/usr/bin/python3 tools/reference/headers.py "$@" || faults=1
if [[ -d build/release/python ]]; then
  PYTHONPATH=build/release/python /usr/bin/python3 tools/reference/python_names.py "$@" || faults=1
  PYTHONPATH=build/release/python /usr/bin/python3 tools/reference/missing_names.py "$@" || faults=1
fi
exit "$faults"
