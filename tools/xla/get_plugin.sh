#!/usr/bin/env bash
# Downloads a PJRT plugin for CPUs, checks its digest and prints its path.
#   export PARTITA_PJRT_PLUGIN=$(tools/xla/get_plugin.sh [FOLDER])   FOLDER: by default ~/.cache/partita
# No distribution has this plugin; the wheel of a third party (Apache-2.0) has it. With the variable set, tests run
# programs on it; without it they are skipped.
set -euo pipefail
version=2026.6.23
digest=88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/partita}
plugin=$folder/fastatomstruct_xla_cpu/libpjrt_cpu.so
mkdir -p "$folder"
if [[ ! -e $plugin ]]; then
  work=$(mktemp -d "$folder/download.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  python3 -m pip download --quiet --no-deps --only-binary=:all: --dest "$work" "fastatomstruct-xla-cpu==$version" >&2
  wheel=$(echo "$work"/*.whl)
  got=$(sha256sum "$wheel" | cut -d ' ' -f 1)
  if [[ $got != "$digest" ]]; then
    echo "[plugin] another file than expected, got digest $got, expected $digest" >&2
    exit 1
  fi
  python3 -m zipfile -e "$wheel" "$work/wheel"
  mv "$work/wheel/fastatomstruct_xla_cpu" "$folder"
fi
echo "$plugin"
