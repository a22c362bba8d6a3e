#!/usr/bin/env bash
# Installs what building and testing need (Debian, Ubuntu). Does nothing when all of it is there.
#   tools/install.sh [build|python|test|all]
set -euo pipefail
packages=(g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libdnnl-dev
          zlib1g-dev liblzma-dev libzip-dev libturbojpeg0-dev libpng-dev libxxhash-dev libtomlplusplus-dev libpcre2-dev libutf8proc-dev libsentencepiece-dev libprotobuf-dev libopenmpi-dev openmpi-bin)
python=(python3 python3-dev python3-numpy pybind11-dev)
case ${1:-build} in
  build) ;;
  python) packages+=("${python[@]}" python3-venv) ;;
  *) packages+=("${python[@]}" libgtest-dev python3-torch iproute2 procps clang-format coinor-cbc
                 g++-aarch64-linux-gnu) ;;
esac
[[ ${1:-build} != all ]] || packages+=(clang-tidy libomp-dev git)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0
as_root=()
[[ $(id -u) -eq 0 ]] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
