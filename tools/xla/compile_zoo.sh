#!/usr/bin/env bash
# Compiles the training step of every model of the zoo in bf16 for chips that are not there, and prints a table.
#   tools/xla/compile_zoo.sh PARTITA [TARGET...] > table.md      TARGET: by default h100 and v5e
# PARTITA_CUDA_PLUGIN and PARTITA_TPU_PLUGIN name the plugins; without them those of Python packages are taken. A
# compilation that takes more than LIMIT seconds (600) or MEMORY KiB of addresses (CUDA: 40,000,000, TPU: 14,000,000,
# as some programs make its compiler take all there are) is told as failed. JOBS, a model with its flags on each line,
# replaces the models. Exit code 1 if one fails for a GPU, if recomputation leaves more than half of the temporaries
# of GPT-2 there, or if on 8 GPUs optimizer level 3 takes more than level 0 less the parameters, and 3 layers' parameters.
# For TPUs, whose compiler leaves fewer temporaries in either case, this is not checked. Exit code 1, too, if GPT-2 with
# fused attention has fewer calls than one for each layer and direction, or more than 60 % of the temporaries.
# Temporaries and the largest program of each model are compared with tools/xla/memory/TARGET.txt: exit code 1 if one is
# more than 5 % above the accepted number. RENEW=yes accepts what was compiled: all, or with JOBS some.
set -uo pipefail
partita=$(realpath "$1")
gate=$(dirname "$(realpath "$0")")/memory_gate.py
shift
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || targets=(h100 v5e)
gpt2=gpt:layers=12,hidden=768,heads=12,seq=1024,vocab=50257
jobs=(mlp lenet resnet18 resnet50 resnet101 resnet152 wide_resnet inception vit gpt moe llama bert t5 recommender quickstart
  "resnet50:classes=1000,size=224 --batch 256" "$gpt2 --batch 32" "$gpt2 --batch 32 --recompute full")
eight="$gpt2 --batch 32 --ranks 8 --collectives whole --zero"
# Bytes of parameters in f32: 12 layers of 7,087,872, tables of 50,257 and 1,024 rows, the last norm.
layer=$((4 * 7087872))
parameters=$((12 * layer + 4 * (768 * (50257 + 1024) + 2 * 768)))
if [[ -n ${JOBS:-} ]]; then
  mapfile -t jobs <<<"$JOBS"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=0

plugin_of() { if [[ $1 == v* ]]; then echo "${PARTITA_TPU_PLUGIN:-}"; else echo "${PARTITA_CUDA_PLUGIN:-}"; fi; }

# compile TARGET JOB: writes the numbers as JSON to $work/json, or the error to $work/error.
compile() {
  local memory=${MEMORY:-40000000} modes=
  [[ $2 == *--attention* ]] || modes="--attention composed"
  [[ $1 != v* ]] || memory=${MEMORY:-14000000}
  # shellcheck disable=SC2086
  (ulimit -v "$memory"; PARTITA_PJRT_PLUGIN=$(plugin_of "$1") nice -n 10 timeout -s KILL "${LIMIT:-600}" \
    "$partita" compile $2 $modes --target "$1" --precision bf16 --json >"$work/json" 2>"$work/error")
}

echo "| model | chip | programs | ops | fused | library | arguments MiB | temporaries MiB | largest program MiB | seconds |"
echo "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
for target in "${targets[@]}"; do
  before= level0=
  of_target=("${jobs[@]}")
  [[ -n ${JOBS:-} || $target == v* ]] || of_target+=("$gpt2 --batch 32 --attention fused" "$eight 0" "$eight 3")
  numbers=$work/$target.numbers
  : >"$numbers"
  for job in "${of_target[@]}"; do
    if ! compile "$target" "$job"; then
      reason=$(grep -o 'partita: error: .*' "$work/error" | cut -c 17-140)
      echo "| $job | $target | ${reason:-stopped by the limit of time or memory} | | | | | | | |"
      [[ $target == v* ]] || faults=1
      continue
    fi
    "$gate" row "$job" "$target" "$work/json" "$numbers"
    IFS=$'\t' read -r temporaries largest calls _ < <(tail -n 1 "$numbers")
    if [[ $job == "$gpt2 --batch 32" ]]; then
      before=$temporaries
    elif [[ $job == *"--recompute full" && -n $before && $target != v* ]] && ((2 * temporaries > before)); then
      echo "recomputation leaves more than half of the temporaries, got $temporaries, expected at most half of $before" >&2
      faults=1
    fi
    if [[ $job == "$gpt2 --batch 32 --attention fused" && -n $before ]] && ((calls < 24 || 10 * temporaries > 6 * before)); then
      echo "fused attention, got $calls calls and temporaries of $temporaries, expected at least 24 and at most 60 % of $before" >&2
      faults=1
    fi
    if [[ $job == "$eight 0" ]]; then
      level0=$largest
    elif [[ $job == "$eight 3" && -n $level0 ]] && ((largest > level0 - parameters + 3 * layer)); then
      echo "level 3 takes too much, got $largest, expected at most $((level0 - parameters + 3 * layer))" >&2
      faults=1
    fi
  done
  "$gate" gate "$target" "$numbers" "$(plugin_of "$target")" || faults=1
done
exit "$faults"
