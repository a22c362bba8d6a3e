#!/usr/bin/env bash
# A program outside the project: built against an installed Partita, trained on rows of its own. What it saves is what
# the same program built with the project saves.
set -euo pipefail
export OMP_NUM_THREADS=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The headers are there once the program is built: `cmake --install` works after ./run.sh, which builds nothing else.
ninja -C build/release -t graph partita | grep include/stamp >/dev/null
cmake --install build/release --prefix "$folder/installed" >/dev/null
"$folder/installed/bin/partita" ops relu >/dev/null
cp -r examples "$folder/outside"
cmake -S "$folder/outside" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/installed" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >/dev/null
cmake --build "$folder/build" --parallel 2 --target example_two_losses >/dev/null
# The two lines of docs/guide/install.md in a project without the language C.
mkdir "$folder/cxx"
{
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(program CXX)\nadd_executable(program program.cpp)\n'
  grep -oE '(find_package\(Partita|target_link_libraries\(program) .*\)' docs/guide/install.md
} >"$folder/cxx/CMakeLists.txt"
[[ $(wc -l <"$folder/cxx/CMakeLists.txt") -eq 5 ]]
cp examples/quickstart.cpp "$folder/cxx/program.cpp"
cmake -S "$folder/cxx" -B "$folder/cxx/build" -DCMAKE_PREFIX_PATH="$folder/installed" >/dev/null
cmake --build "$folder/cxx/build" >/dev/null
"$folder/cxx/build/program" >/dev/null
# A project that takes this one as a part of its own, by FetchContent. The library that is built here is linked in place
# of the one that it would build.
mkdir "$folder/around"
{
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(program CXX)\nadd_executable(program program.cpp)\n'
  printf 'include(FetchContent)\nFetchContent_Declare(partita SOURCE_DIR "%s")\n' "$PWD"
  printf 'FetchContent_MakeAvailable(partita)\n'
  grep -oE 'target_link_libraries\(program .*\)' docs/guide/install.md
} >"$folder/around/CMakeLists.txt"
cp examples/quickstart.cpp "$folder/around/program.cpp"
# It may be a wheel of its own.
cmake -G Ninja -S "$folder/around" -B "$folder/around/build" -DCMAKE_BUILD_TYPE=Release -DSKBUILD=2 >/dev/null
if ! grep -q '^SKBUILD.*=2$' "$folder/around/build/CMakeCache.txt"; then
  echo "install: the settings of a wheel around this project are gone" >&2
  exit 1
fi
if ninja -C "$folder/around/build" -t targets all | grep -E 'unit_tests|bench_'; then
  echo "install: tests and benchmarks are built in a project around this one" >&2
  exit 1
fi
ninja -C "$folder/around/build" CMakeFiles/program.dir/program.cpp.o >/dev/null
link=$(ninja -C "$folder/around/build" -t commands program | tail -n 1)
[[ $link == *_deps/partita-build/src/libpartita.a* ]]
(cd "$folder/around/build" && eval "${link//_deps\/partita-build\/src\/libpartita.a/$OLDPWD/build/release/src/libpartita.a}")
"$folder/around/build/program" >/dev/null
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
