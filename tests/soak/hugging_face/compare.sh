#!/usr/bin/env bash
# Makes folders with transformers, imports, trains and exports each with the command, and compares the exported ones with
# transformers: logits of imported weights, and all weights after a training.
#   tests/soak/hugging_face/compare.sh PYTHON [PARTITA=build/release/partita]
# PYTHON has torch, transformers and safetensors, for example venv/bin/python.
set -euo pipefail
python=${1:?PYTHON with torch and transformers}
cd "$(dirname "$0")/../../.."
partita=$(realpath "${2:-build/release/partita}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
"$python" tests/soak/hugging_face/make_folders.py "$work/made"
mkdir "$work/exported"
for folder in "$work"/made/*; do
  name=$(basename "$folder")
  out=$work/exported/$name
  "$partita" import "$folder" --out "$out.safetensors"
  "$partita" export "$out.safetensors" --out "$out"
  case $name in
    bert) sizes=,seq=12,masked=3 data=() ;;
    resnet) sizes=,size=32 data=() ;;
    vit) # images of 8 pixels are too small for the stand-in
      sizes='' data=(--data "npy:$work/images.npy,$work/labels.npy")
      "$python" -c 'import sys, numpy as np
random = np.random.default_rng(1)
np.save(sys.argv[1] + "/images.npy", random.integers(0, 256, (64, 8, 8, 3), dtype=np.uint8))
np.save(sys.argv[1] + "/labels.npy", random.integers(0, 10, 64, dtype=np.int32))' "$work" ;;
    *) sizes=,seq=12 data=() ;;
  esac
  for ranks in 1 2; do
    "$partita" train "hf:$folder$sizes" "${data[@]}" --batch 8 --steps 3 --no-eval --ranks "$ranks" --threads 1 \
      --save "$out.trained.safetensors" >/dev/null
  done
  "$partita" export "$out.trained.safetensors" --out "$out.trained"
done
"$python" tests/soak/hugging_face/compare.py "$partita" "$work/made" "$work/exported"
