#!/usr/bin/env bash
# Times steps of training on an accelerator, and those of torch.compile if there is a PyTorch with CUDA.
#   tools/gpu/steps.sh PARTITA [DEVICE=cuda]
# Prints a line per run: the median of its steps after the first seven; the memory of the device at its peak (by
# nvidia-smi; without it, the process's memory on the host); seconds of the whole run. A run that lacks memory is repeated
# with half of its rows. Fails if a run fails. JOBS (one a line: NAME ROWS PRECISION [FLAG..]) replaces what is run, SMALL=yes
# takes tiny sizes, PEER=no leaves PyTorch out, LIMIT (240) is the seconds of a run, and TRACES a folder for a trace of
# each run.
set -uo pipefail
partita=$1 device=${2:-cuda}
here=$(dirname "$0")
folder=$(mktemp -d)
sampler=
stop_sampler() { [[ -z $sampler ]] || kill "$sampler" 2> /dev/null; }
trap 'stop_sampler; rm -rf "$folder"' EXIT
trap 'exit 143' TERM INT

# shellcheck disable=SC2054  # models have commas
declare -A models=([gpt2]=gpt:layers=12,hidden=768,heads=12,seq=1024,vocab=50257 [llama1b]=llama:1b,seq=1024
  [resnet50]=resnet50:classes=1000,size=224)
# shellcheck disable=SC2054
[[ ${SMALL:-} != yes ]] || models=([gpt2]=gpt:layers=2,hidden=64,heads=2,seq=32,vocab=97
  [llama1b]=llama:layers=1,hidden=64,heads=4,kv_heads=2,intermediate=96,seq=32,vocab=97
  [resnet50]=resnet18:width=4,size=16,classes=10)
jobs=$'gpt2 8 f32\ngpt2 8 bf16'
[[ $device != cuda* ]] || jobs+=$'\ngpt2 8 bf16 --attention fused\nllama1b 4 bf16 --attention fused'
jobs+=$'\nllama1b 4 bf16\nresnet50 64 f32\nresnet50 64 bf16\nresnet50 256 bf16'

sample_memory() {  # writes MiB, a line per sample
  command -v nvidia-smi > /dev/null && [[ $device == cuda* ]] || return 0
  nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -lms 100 > "$folder/memory" 2> /dev/null &
  sampler=$!
}

summarize() {  # reads the log of a run and samples of memory; prints "MS ms, GIB GiB"
  python3 - "$folder" << 'END'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
lines = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
seconds = sorted(line["step_seconds"] for line in lines[7:])
print(f"{1e3 * seconds[len(seconds) // 2]:.2f} ms", end="")
samples = [float(one) for one in (folder / "memory").read_text().split() if one.isdigit()] if (folder / "memory").exists() else []
on_host = max(line.get("memory_bytes", 0) for line in lines)
print(f", {max(samples) / 1024:.2f} GiB" if samples else f", {on_host / 2**30:.2f} GiB of the process" if on_host else "")
END
}

time_steps() {  # NAME ROWS PRECISION [FLAG...]
  local begin out code=71 rows=$2 traced=() modes=() found
  begin=$(date +%s)
  [[ " ${*:4} " == *" --attention "* ]] || modes=(--attention composed)
  while [[ $code -eq 71 && $rows -ge 1 ]]; do
    rm -f "$folder"/{log,memory}
    [[ -z ${TRACES:-} ]] || traced=(--trace "$TRACES/$(tr -c 'a-zA-Z0-9_\n' _ <<< "$1 $rows ${*:3}").json")
    sample_memory
    out=$(timeout --foreground "${LIMIT:-240}" "$partita" train "${models[$1]}" --batch "$rows" --precision "$3" --device "$device" \
      --steps 20 --no-eval --log "$folder/log" "${traced[@]}" "${modes[@]}" "${@:4}" 2>&1)
    code=$?
    stop_sampler
    [[ $code -eq 0 || $out != *RESOURCE_EXHAUSTED* ]] || code=71
    [[ $code -ne 71 ]] || rows=$((rows / 2))
  done
  if [[ $code -ne 0 ]] || ! found=$(summarize 2> /dev/null); then
    failed=$((failed + 1))
    found=$(sed -n 's/^partita: error/error/p' <<< "$out" | tail -n 1)
    [[ $code -ne 124 ]] || found="error: it ran past ${LIMIT:-240} s"
    found=${found:-error: exit code $code, $(tail -n 1 <<< "$out")}
  fi
  printf '%s batch %s %s%s partita: %s (%s s in all)\n' "$1" "$rows" "$3" "$(printf ' %s' "${@:4}" | sed 's/^ $//')" "${found:0:300}" \
    $(($(date +%s) - begin))
}
failed=0
while read -r name rows precision flags; do
  # shellcheck disable=SC2086  # flags are words
  time_steps "$name" "$rows" "$precision" $flags < /dev/null
done <<< "${JOBS:-$jobs}"
[[ ${PEER:-yes} == no ]] || ${PYTHON:-python3} "$here/torch_steps.py" || true
[[ $failed -eq 0 ]] || echo "$failed runs failed"
[[ $failed -eq 0 ]]
