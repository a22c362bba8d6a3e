#!/usr/bin/env bash
# The same forward, gradients and ten steps as PyTorch from the same weights. Skipped (exit code 77) without PyTorch.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! why=$(/usr/bin/python3 -c 'import torch' 2>&1); then
  echo "no PyTorch for /usr/bin/python3 (the package python3-torch): $(tail -n 1 <<<"$why")"
  exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
runs=()
export OMP_NUM_THREADS=2
# compare MODEL f32|f64|bf16 fast|reference OPTIMIZER [ignored]
compare() {
  local file=$out/${#runs[@]}.safetensors
  build/release/tests/torch_export "${@:1:4}" "$file" "${@:5}"
  runs+=("$1" "$2" "$4" "$file")
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
llama=llama:layers=2,hidden=32,heads=4,kv_heads=2,seq=16,vocab=32
compare $llama f64 reference adamw
compare $llama f64 fast adamw
compare $llama f32 fast adamw_eps
compare llama:layers=2,hidden=48,heads=6,kv_heads=1,intermediate=20,seq=16,vocab=32,tied=1 f64 fast adamw
compare lenet f64 fast adam
# Labels that count for nothing, under micro-batches and pipeline stages.
compare mlp f64 fast sgd ignored
compare $gpt f64 fast adamw ignored
compare $llama f64 reference adamw ignored
for optimizer in momentum sgd; do
  compare block f64 fast "$optimizer"
  compare lenet f32 fast "$optimizer"
done
# Beside PyTorch's automatic casts to bf16.
for model in mlp lenet resnet18:width=8,size=16; do compare "$model" bf16 fast sgd; done
for model in $gpt $llama; do compare "$model" bf16 fast adamw_eps; done
/usr/bin/python3 tests/torch/compare.py "${runs[@]}"
