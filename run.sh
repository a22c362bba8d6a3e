#!/usr/bin/env bash
# Installs, builds and runs the main job on 8 in-process ranks: ResNet-50 on CIFAR-10, 64 steps of 256 images.
#   ./run.sh [DATA_DIR]     a folder with the CIFAR-10 batches (data_batch_1.bin ..., also .gz or .xz), or with the
#                           four MNIST files, for LeNet; without it ResNet-50 trains on a generated stand-in
set -euo pipefail
job=(resnet50 --data synthetic --steps 64 --per-print-times 8)
if [[ $# -ge 1 ]]; then
  data=$(realpath "$1")
  if compgen -G "$data/*-images-idx3-ubyte*" >/dev/null; then
    job=(lenet --data "mnist:$data")
  else
    job=(resnet50 --data "cifar10:$data" --steps 64 --per-print-times 8)
  fi
fi
cd "$(dirname "$0")"
tools/install.sh build
cmake --preset release -DPARTITA_TESTS=OFF -DPARTITA_BENCH=OFF >/dev/null
cmake --build --preset release --target partita
exec build/release/partita train "${job[@]}" --ranks 8
