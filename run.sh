#!/usr/bin/env bash
# Installs, builds and runs the main job: LeNet on MNIST on 8 in-process ranks.
#   ./run.sh [DATA_DIR]     a folder with the four MNIST files; without it a generated stand-in is used
set -euo pipefail
data=synthetic
[[ $# -ge 1 ]] && data="mnist:$(realpath "$1")"
cd "$(dirname "$0")"
tools/install.sh build
cmake --preset release -DPARTITA_TESTS=OFF -DPARTITA_BENCH=OFF >/dev/null
cmake --build --preset release --target partita
exec build/release/partita train lenet --data "$data" --ranks 8
