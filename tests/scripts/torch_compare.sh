#!/usr/bin/env bash
# The same forward, gradients and ten steps as PyTorch from the same weights.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0
export OMP_NUM_THREADS=2
# compare MODEL f32|f64 fast|reference OPTIMIZER
compare() {
  build/release/tests/torch_export "$@" "$out/run.safetensors"
  /usr/bin/python3 tests/torch/compare.py "$1" "$4" "$out/run.safetensors" || status=1
}

for model in mlp lenet block resnet18:width=8,size=16; do
  compare "$model" f64 reference nesterov
  compare "$model" f64 fast nesterov
  compare "$model" f32 fast nesterov
done
gpt=gpt:layers=2,hidden=32,heads=4,seq=16,vocab=32
compare resnet50:width=8,size=32 f64 fast nesterov
compare resnet50:width=8,size=32 f32 fast nesterov
compare $gpt f64 fast adamw
compare $gpt f32 fast adamw_eps
experts=moe:layers=2,hidden=32,heads=4,seq=16,vocab=32,experts=4
for moe in $experts,capacity=0.75,shared=1 $experts,top_k=1,capacity=1; do
  compare "$moe" f64 reference adamw
  compare "$moe" f64 fast adamw
done
compare lenet f64 fast adam
for optimizer in momentum sgd; do
  compare block f64 fast "$optimizer"
  compare lenet f32 fast "$optimizer"
done
exit $status
