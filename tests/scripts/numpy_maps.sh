#!/usr/bin/env bash
# The maps on images give the pixels that NumPy gives.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
/usr/bin/python3 tests/numpy/compare_maps.py make "$out/images.npy"
build/release/tests/export_maps "$out/images.npy" "$out/maps.safetensors"
/usr/bin/python3 tests/numpy/compare_maps.py check "$out/images.npy" "$out/maps.safetensors"
