#!/usr/bin/env bash
# cmake --install and archives of a build folder with which `pip install .` has gone on: all of the command and the
# library, nothing of the wheel, nothing outside of the prefix. The next run of CMake finds its own Python and prefix.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "archives: $*" >&2
  exit 1
}
build=$folder/build wheel=$folder/wheel
# has FILES NAME..., in each of the lists of files
has() {
  local name
  for name in "${@:2}"; do grep -qxF -- "$name" "$1" || fail "$(basename "$1") has no $name"; done
}
files_in() { (cd "$1" && find . ! -type d | sed 's,^\./,,' | sort); }
kept=(partita src/libpartita.a include completions)
installed=(bin/partita lib/libpartita.a include/partita/model.h lib/cmake/Partita/PartitaConfig.cmake
           share/bash-completion/completions/partita share/fish/vendor_completions.d/partita.fish
           share/doc/partita/LICENSE share/doc/partita/docs/guide/install.md share/doc/partita/examples/quickstart.cpp)

# What scikit-build-core says to CMake, in a folder of its own with what the build of these tests has made.
python=$folder/environment/python3
mkdir -p "$folder/environment" "$build/src" "$build/python/partita"
ln -s /usr/bin/python3 "$python"
cat >"$folder/init.cmake" <<END
set(SKBUILD [===[2]===] CACHE STRING "" FORCE)
set(SKBUILD_SCRIPTS_DIR [===[$wheel/scripts]===] CACHE PATH "" FORCE)
set(SKBUILD_PLATLIB_DIR [===[$wheel/platlib]===] CACHE PATH "" FORCE)
set(Python_EXECUTABLE [===[$python]===] CACHE PATH "" FORCE)
set(CMAKE_PREFIX_PATH [===[$folder/environment]===] CACHE PATH "" FORCE)
set(CMAKE_INSTALL_PREFIX [===[$wheel/platlib]===] CACHE PATH "" FORCE)
END
configure() {
  cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DPARTITA_TESTS=OFF -DPARTITA_BENCH=OFF \
    -DPARTITA_PYTHON=ON "$@" >"$folder/configured" 2>&1 || fail "$(tail -n 20 "$folder/configured")"
}
configure -DCMAKE_INSTALL_PREFIX="$folder/mine"
configure -C "$folder/init.cmake"
cp build/release/python/partita/_core*.so "$build/python/partita/"
[[ ! -e build/release/libpartita_sentencepiece.so ]] || kept+=(libpartita_sentencepiece.so)
for kind in "${kept[@]}"; do cp -r "build/release/$kind" "$build/$(dirname "$kind")"; done

cmake --install "$build" >/dev/null
[[ -d $folder/mine/bin ]] || fail "cmake --install after a wheel does not use the prefix of before"
files_in "$folder/mine" >"$folder/files"
has "$folder/files" "${installed[@]}"
! grep -E '_core|^partita/' "$folder/files" || fail "cmake --install installs parts of the wheel"
[[ ! -e $wheel ]] || fail "cmake --install installs outside of its prefix: $(files_in "$wheel")"
"$folder/mine/bin/partita" --version >/dev/null

# The wheel gets its own parts.
cmake --install "$build" --prefix "$wheel/platlib" --component python >/dev/null
got=$(files_in "$wheel")
[[ $got =~ ^platlib/partita/_core[^$'\n']*\.so$'\n'scripts/partita$ ]] || fail "the wheel has $got"

version=$(sed -nE 's/^project\(partita VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
(cd "$build" && cpack -B "$folder" >"$folder/packed" 2>&1) || fail "$(tail -n 20 "$folder/packed")"
tar -tzf "$folder/partita-$version-Linux.tar.gz" | sed 's,^[^/]*/,,' >"$folder/tar.gz"
has "$folder/tar.gz" "${installed[@]}"
! grep -E '_core|^partita/' "$folder/tar.gz" || fail "the archive has parts of the wheel"
if command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null; then
  package=$(echo "$folder"/partita_"$version"_*.deb)
  dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's,^\./usr/,,' >"$folder/deb"
  has "$folder/deb" "${installed[@]}"
  depends=$(dpkg-deb -f "$package" Depends)
  for library in libc6 libdnnl libfmt libzip libprotobuf-lite; do
    [[ $depends == *"$library"* ]] || fail "the package does not depend on $library, got $depends"
  done
fi

# A run of CMake that is not for a wheel.
configure
! grep -E '^SKBUILD|^CMAKE_PREFIX_PATH|environment' "$build/CMakeCache.txt" || fail "the cache is still that of the wheel"
grep -q '^CMAKE_INSTALL_PREFIX:PATH=.*/mine$' "$build/CMakeCache.txt" || fail "the prefix is another one"
echo "archives: passed"
