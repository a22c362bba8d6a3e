#!/usr/bin/env bash
# Times steps of training on an accelerator, and those of torch.compile if there is a PyTorch with CUDA.
#   tools/gpu/steps.sh PARTITA [DEVICE=cuda]
set -uo pipefail
partita=$1 device=${2:-cuda}
here=$(dirname "$0")
gpt2=gpt:layers=12,hidden=768,heads=12,seq=1024,vocab=50257

time_steps() {  # MODEL BATCH PRECISION [FLAG...]
  local begin out
  begin=$(date +%s)
  out=$(timeout 240 "$partita" train "$1" --batch "$2" --precision "$3" --device "$device" --steps 20 --no-eval "${@:4}" 2>&1)
  printf '%-22s batch %-4s %-5s %s partita: %s (%s s in all)\n' "${1%%:*}" "$2" "$3" "${*:4}" \
    "$(grep -o 'per step time.*\|error:.*' <<< "$out" | tail -n 1 | cut -c1-300)" $(($(date +%s) - begin))
}
time_steps "$gpt2" 8 f32
time_steps "$gpt2" 8 bf16
[[ $device != cuda* ]] || time_steps "$gpt2" 8 bf16 --attention fused
time_steps resnet50 64 f32
time_steps resnet50 64 bf16
${PYTHON:-python3} "$here/torch_steps.py" || true
