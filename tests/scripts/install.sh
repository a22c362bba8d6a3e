#!/usr/bin/env bash
# A program outside the project: built against an installed Partita, trained on rows of its own. What it saves is what
# the same program built with the project saves.
set -euo pipefail
export OMP_NUM_THREADS=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install build/release --prefix "$folder/installed" >/dev/null
"$folder/installed/bin/partita" ops relu >/dev/null
cp -r examples "$folder/outside"
cmake -S "$folder/outside" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >/dev/null
cmake --build "$folder/build" --parallel 2 --target example_two_losses >/dev/null
# The two lines of README.md in a project without the language C.
mkdir "$folder/cxx"
{
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(program CXX)\nadd_executable(program program.cpp)\n'
  grep -oE '(find_package\(Partita|target_link_libraries\(program) .*\)' README.md
} >"$folder/cxx/CMakeLists.txt"
[[ $(wc -l <"$folder/cxx/CMakeLists.txt") -eq 5 ]]
cp examples/quickstart.cpp "$folder/cxx/program.cpp"
cmake -S "$folder/cxx" -B "$folder/cxx/build" -DCMAKE_PREFIX_PATH="$folder/installed" >/dev/null
cmake --build "$folder/cxx/build" >/dev/null
"$folder/cxx/build/program" >/dev/null
/usr/bin/python3 - "$folder/rows.npz" <<'PYTHON'
import sys
import numpy

random = numpy.random.default_rng(1)
left = random.standard_normal((256, 16), numpy.float32)
right = random.standard_normal((256, 8), numpy.float32)
label = numpy.argmax(right + left[:, :8], 1).astype(numpy.int32)
numpy.savez(sys.argv[1], left=left, right=right, label=label, target=0.1 * left.sum(1, keepdims=True))
PYTHON
outside=$("$folder/build/examples/example_two_losses" "$folder/rows.npz" "$folder/outside.safetensors")
inside=$(build/release/examples/example_two_losses "$folder/rows.npz" "$folder/inside.safetensors")
[[ $outside == "$inside" ]]
[[ $outside =~ ^loss\ 0\.0[0-9]+\ error\ 0\.0[0-9]+\ accuracy\ (1|0\.9[0-9]*)$ ]]
cmp "$folder/outside.safetensors" "$folder/inside.safetensors"
echo "install: passed ($outside)"
