#!/usr/bin/env bash
# Installs the packages that building and testing need (Debian 12, Ubuntu 24.04). Does nothing if all are there.
#   tools/install.sh [build|python|test|all]
# A distribution need not have all packages of the tests, such as python3-torch: their tests are skipped then.
set -euo pipefail
packages=(g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libdnnl-dev
          zlib1g-dev liblzma-dev libzip-dev libturbojpeg0-dev libpng-dev libxxhash-dev libtomlplusplus-dev libpcre2-dev libutf8proc-dev libsentencepiece-dev libprotobuf-dev libopenmpi-dev openmpi-bin)
python=(python3 python3-dev python3-numpy pybind11-dev)
tests=()
case ${1:-build} in
  build) ;;
  python) packages+=("${python[@]}" python3-venv) ;;
  test | all)
    packages+=("${python[@]}" procps libgtest-dev)
    tests=(python3-torch python3-jinja2 dpkg-dev file iproute2 clang-format coinor-cbc g++-aarch64-linux-gnu)
    ;;
  *)
    echo "usage: tools/install.sh [build|python|test|all]" >&2
    exit 64
    ;;
esac
[[ ${1:-build} != all ]] || tests+=(clang-tidy libomp-dev git)

# missing_of PACKAGE...: those that are not installed
missing_of() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || echo "$package"
  done
}
# offered PACKAGE...: those that the distribution has, by the lists that apt fetched last
offered() {
  [[ $# -eq 0 ]] || apt-cache policy "$@" | sed -nE '/^[^ ].*:$/{s/:$//;h};/^ +Candidate: [^(]/{x;p}'
}
mapfile -t needed < <(missing_of "${packages[@]}")
mapfile -t wanted < <(missing_of "${tests[@]}")
# With lists that are there, a package that is in none of them is not asked for again.
if compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null && [[ ${#needed[@]} -eq 0 ]]; then
  [[ $(offered "${wanted[@]}" | grep -cFxf <(printf '%s\n' "${wanted[@]}")) -ne 0 ]] || exit 0
fi
[[ ${#needed[@]} -eq 0 && ${#wanted[@]} -eq 0 ]] && exit 0
as_root=()
[[ $(id -u) -eq 0 ]] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
listed=" $(offered "${needed[@]}" "${wanted[@]}" | tr '\n' ' ')"
found=()
for package in "${needed[@]}" "${wanted[@]}"; do
  if [[ $listed == *" $package "* ]]; then
    found+=("$package")
  elif [[ " ${needed[*]} " == *" $package "* ]]; then
    echo "install: this distribution has no package $package; docs/guide/install.md says which build from their packages" >&2
    exit 69
  else
    echo "install: this distribution has no package $package, so tests that need it are skipped"
  fi
done
[[ ${#found[@]} -eq 0 ]] || "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${found[@]}" >/dev/null
