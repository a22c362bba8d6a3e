#!/usr/bin/env bash
# Trains small models on the CPU and on an accelerator and compares the last losses.
#   tools/gpu/equality.sh PARTITA [DEVICE=cuda] [JOBS=8]
# Prints a line per run, sorted, and exits with 1 if a loss is further from that of one rank of the CPU than 1e-9 in f64
# or 1e-5 in f32, relative. On GPUs of NVIDIA, losses with fused attention in bf16 are compared with those of composed
# attention on the same ranks, within 1e-4. MODELS (one a line) and RANKS replace what is run.
set -euo pipefail
partita=$1 device=${2:-cuda} jobs=${3:-8}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2054  # models have commas
models=(mlp:hidden=64 lenet resnet18:width=16 gpt:layers=2,hidden=64,heads=2,seq=32
  llama:layers=2,hidden=64,heads=4,kv_heads=2,seq=32 moe:layers=2,hidden=64,heads=2,seq=32)
[[ -z ${MODELS:-} ]] || mapfile -t models <<< "$MODELS"
list() {
  for model in "${models[@]}"; do
    for type in f64 f32; do
      printf '%s %s cpu 1\n' "$model" "$type"
      for ranks in ${RANKS:-1 2 4}; do printf '%s %s %s %s\n' "$model" "$type" "$device" "$ranks"; done
    done
    [[ $device == cuda* && $model =~ ^(gpt|llama|moe): ]] || continue
    for type in bf16 fused; do
      for ranks in 1 2; do printf '%s %s %s %s\n' "$model" "$type" "$device" "$ranks"; done
    done
  done
}

run() {  # MODEL TYPE DEVICE RANKS: writes the last loss to a file of that name
  local loss type=(--dtype "$2") steps=5
  [[ $2 != bf16 ]] || type=(--precision bf16 --attention composed) steps=20
  [[ $2 != fused ]] || type=(--precision bf16 --attention fused) steps=20
  loss=$("$partita" train "$1" "${type[@]}" --device "$3" --ranks "$4" --steps "$steps" --batch 12 --threads 1 --no-eval --batch-norm global \
    2> "$folder/$1 $2 $3 $4.err" | grep -o 'loss is .*' | cut -d' ' -f3) || true
  [[ $2 != fused ]] || ! grep -q '\[--attention\]' "$folder/$1 $2 $3 $4.err" || loss=none  # a part of it is composed
  echo "${loss:-none}" > "$folder/$1 $2 $3 $4"
}
export -f run
export partita folder
list | xargs -P "$jobs" -I {} bash -c 'run {}'

python3 - "$folder" "$device" << 'END'
import pathlib, sys
folder, device = pathlib.Path(sys.argv[1]), sys.argv[2]
bad = 0
for one in sorted(folder.iterdir()):
    if one.name.endswith(".err"):
        continue
    model, dtype, where, ranks = one.name.split()
    if where == "cpu" or dtype == "bf16":
        continue
    other = f"bf16 {where} {ranks}" if dtype == "fused" else f"{dtype} cpu 1"
    got, expected = one.read_text().strip(), (folder / f"{model} {other}").read_text().strip()
    limit = {"f64": 1e-9, "f32": 1e-5, "fused": 1e-4}[dtype]
    distance = float("inf") if "none" in (got, expected) else abs(float(got) - float(expected)) / abs(float(expected))
    print(f"{model:45} {dtype} {where} ranks {ranks}: loss {got}, {other} {expected}, apart {distance:.1e}")
    if not distance <= limit:
        bad += 1
        print("  " + (folder / f"{one.name}.err").read_text()[-400:].replace("\n", "\n  "))
print(f"{bad} runs beyond the limits")
sys.exit(bad > 0)
END
