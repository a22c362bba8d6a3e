#!/usr/bin/env bash
# The same forward, gradients and ten steps as PyTorch from the same weights.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0
for model in mlp lenet resnet18:width=8,size=16; do
  for kind in "f64 reference" "f64 fast" "f32 fast"; do
    read -r dtype kernels <<<"$kind"
    OMP_NUM_THREADS=2 build/release/tests/torch_export "$model" "$dtype" "$kernels" "$out/run.safetensors"
    /usr/bin/python3 tests/torch/compare.py "$model" "$out/run.safetensors" || status=1
  done
done
exit $status
