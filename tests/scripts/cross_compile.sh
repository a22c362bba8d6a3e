#!/usr/bin/env bash
# What computes and communicates compiles for 64-bit Arm: base, comm without MPI, and the loops of the CPU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compiler=aarch64-linux-gnu-g++
if ! command -v "$compiler" >/dev/null; then
  echo "no compiler $compiler (the package g++-aarch64-linux-gnu)"
  exit 77
fi
# The headers of fmt alone: others of this machine's are not the target's.
mkdir "$folder/include"
ln -s /usr/include/fmt "$folder/include/fmt"
mapfile -t sources < <(find src/base src/runtime/comm src/runtime/device/cpu/loops -name '*.cpp' ! -name '*_test.cpp' | sort)
compiled=0
for source in "${sources[@]}"; do
  [[ $source == src/runtime/comm/mpi/* && $source != */no_mpi.cpp ]] && continue
  printf '#include "%s"\n' "${source#src/}" >>"$folder/$(dirname "$source" | tr / _).cpp"
  compiled=$((compiled + 1))
done
[[ $compiled -gt 40 ]]
for group in "$folder"/*.cpp; do
  "$compiler" -std=c++20 -O0 -fopenmp -Wall -Wextra -Wno-missing-field-initializers -Wno-psabi -Werror -Isrc \
    -isystem "$folder/include" -c "$group" -o "$folder/object.o"
done
echo "cross_compile: passed ($compiled sources)"
