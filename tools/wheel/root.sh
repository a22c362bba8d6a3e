#!/usr/bin/env bash
# Makes the folder that the wheel is compiled and linked against: the C library of Debian 11 (glibc 2.31) and the C
# libraries that the wheel takes along, the C++ library of the compiler in use, oneDNN, and headers of each Python.
#   tools/wheel/root.sh FOLDER      on Debian 12; PYTHON is one with pip; does nothing when the folder is complete
set -euo pipefail
cd "$(dirname "$0")"
root=$(realpath -m "$1")
debian=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
ubuntu=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
python=${PYTHON:-python3}
[[ -e $root/complete ]] && exit 0
rm -rf "$root"
mkdir -p "$root"/usr/local/{include,lib/gomp,lib/pkgconfig}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# unpack FOLDER MIRROR SUITE COMPONENT PACKAGE..: puts the files of packages of a distribution into the folder.
unpack() {
  local folder=$1 mirror=$2 suite=$3 component=$4 package path list
  list=$work/$(tr -c 'a-z0-9' _ <<<"$mirror$suite$component")
  [[ -e $list ]] || curl -fsS "$mirror/dists/$suite/$component/binary-amd64/Packages.gz" | gunzip >"$list"
  mkdir -p "$folder"
  for package in "${@:5}"; do
    path=$(sed -n "/^Package: $package\$/,/^\$/s/^Filename: //p" "$list" | head -n 1)
    [[ -n $path ]] || { echo "wheel: no package, got $package in $suite, expected one of $mirror" >&2; exit 1; }
    curl -fsS "$mirror/$path" -o "$work/package.deb"
    dpkg -x "$work/package.deb" "$folder"
  done
}

unpack "$root" "$debian" bullseye main libc6 libc6-dev linux-libc-dev libcrypt-dev libgcc-s1 libgomp1 zlib1g zlib1g-dev liblzma5 \
  liblzma-dev libturbojpeg0 libturbojpeg0-dev libpng16-16 libpng-dev libprotobuf-lite23 libprotobuf-dev libxxhash-dev libpcre2-8-0 libpcre2-dev libutf8proc2 libutf8proc-dev \
  libopenmpi-dev
# The C++ library of the compiler, and libraries that are headers.
version=$(g++ -dumpversion | cut -d. -f1)
unpack "$root" "$debian" bookworm main "libstdc++-$version-dev" "libgcc-$version-dev" libfmt-dev libcli11-dev \
  nlohmann-json3-dev libtomlplusplus-dev
rm -rf "$root"/usr/lib/x86_64-linux-gnu/cmake/{fmt,tomlplusplus} "$root"/usr/lib/x86_64-linux-gnu/pkgconfig/tomlplusplus.pc
printf 'Name: tomlplusplus\nDescription: headers alone\nVersion: 3\nCflags: -DTOML_HEADER_ONLY=1\n' \
  >"$root/usr/local/lib/pkgconfig/tomlplusplus.pc"
# OpenMP's library is that of Debian 11, so that the compiler's own folder must not be seen first.
ln -s "$root/usr/lib/x86_64-linux-gnu/libgomp.so.1" "$root/usr/local/lib/gomp/libgomp.so"

# Links of packages stay within the folder.
find "$root" -type l -lname '/*' | while read -r link; do
  to=$(readlink "$link")
  [[ $to == "$root"/* ]] || ln -sfn "$root$to" "$link"
done

# Each program and module is linked with it.
gcc -O2 -fPIC -fvisibility=hidden --sysroot="$root" -c newer_glibc.c -o "$root/usr/local/lib/newer_glibc.o"

# Libzip for .npz alone, without ciphers and other compressions.
mkdir "$work/libzip"
curl -fsS "$debian/pool/main/libz/libzip/libzip_1.7.3.orig.tar.xz" | tar xJ -C "$work/libzip" --strip-components=1
off=()
for part in COMMONCRYPTO GNUTLS MBEDTLS OPENSSL BZIP2 LZMA ZSTD; do off+=("-DENABLE_$part=OFF"); done
for part in TOOLS REGRESS EXAMPLES DOC; do off+=("-DBUILD_$part=OFF"); done
cmake -Wno-dev -S "$work/libzip" -B "$work/libzip_build" -G Ninja "${off[@]}" -DBUILD_SHARED_LIBS=OFF -DHAVE_ARC4RANDOM=OFF \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_PREFIX=/usr/local \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/toolchain.cmake" -DPARTITA_WHEEL_ROOT="$root" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
DESTDIR=$root cmake --build "$work/libzip_build" --target install >/dev/null
sed -i '/^Libs.private/d; /^Requires/d' "$root/usr/local/lib/pkgconfig/libzip.pc"

# oneDNN 3.2 for OpenMP of GNU, whose binary needs no more than glibc 2.17.
"$python" -m pip download -qq --no-deps --dest "$work" onednn-cpu-gomp==2023.2.0 onednn-devel-cpu-gomp==2023.2.0
for wheel in "$work"/onednn*.whl; do "$python" -m zipfile -e "$wheel" "$work/onednn"; done
cp -r "$work"/onednn/*.data/data/include/. "$root/usr/local/include/"
cp "$work"/onednn/*.data/data/lib/libdnnl.so.3 "$root/usr/local/lib/"
chmod +x "$root/usr/local/lib/libdnnl.so.3"
ln -s libdnnl.so.3 "$root/usr/local/lib/libdnnl.so"

# The headers of a Python are the same on every system.
unpack "$root/python/3.10" "$ubuntu" jammy main libpython3.10-dev
unpack "$root/python/3.11" "$debian" bookworm main libpython3.11-dev
unpack "$root/python/3.12" "$ubuntu" noble main libpython3.12-dev
unpack "$root/python/3.13" "$debian" trixie main libpython3.13-dev
unpack "$root/python/3.14" "$debian" sid main libpython3.14-dev
touch "$root/complete"
