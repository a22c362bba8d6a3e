#!/usr/bin/env bash
# Runs on an accelerator what tells whether rows of "What has run where" (docs/guide/accelerators.md) may be called hardware.
#   tools/gpu/first_hour.sh [--steps NAME[,NAME..]] [--small] PARTITA [DEVICE=cuda] [OUT=first_hour]
# Writes a log per step (OUT/NAME.txt), traces, and OUT/summary.md, which is renewed before and after each step: a run that
# is cut off leaves what it found. Steps of several commands with one OUT add up, so that an hour can be split. A step that
# fails, or runs past its limit, stops no other; the exit code is then 1. --small takes tiny sizes, to try the script on
# xla:cpu. PYTHON names the interpreter that has JAX and PyTorch. The steps, the most useful per minute first:
#   facts          60 s  the device, its driver, versions, partita doctor
#   equality      300 s  losses next to those of the CPU, and of fused next to composed attention (equality.sh)
#   deterministic 150 s  whether two runs have equal bits, with --deterministic and without it
#   plans         240 s  ZeRO, tensor parallelism, micro-batches, stages, recomputation, 16 bits: losses next to the CPU's
#   kept          120 s  a second start loads the programs of the first
#   speed         580 s  GPT-2 124M, a Llama of 1B and ResNet-50 in bf16, with traces (steps.sh); the plan's prediction
#   torch         400 s  the same models by torch.compile (torch_steps.py)
#   jax           400 s  the same models by JAX (jax_times.py)
#   recompute     400 s  time and memory of GPT-2 with recomputation and micro-batches
#   several       580 s  2, 4 and 8 devices with --collectives whole: losses next to one rank's, and times
#   fsdp          400 s  the same by PyTorch (fsdp_steps.py)
#   laws          580 s  laws of single ops on the device (laws_tests)
# shellcheck disable=SC2317,SC2054  # functions are called by the names of steps; models have commas
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
declare -A limits=([facts]=60 [equality]=300 [deterministic]=150 [plans]=240 [kept]=120 [speed]=580 [torch]=400 [jax]=400
  [recompute]=400 [several]=580 [fsdp]=400 [laws]=580)
names=(facts equality deterministic plans kept speed torch jax recompute several fsdp laws)
steps=("${names[@]}") small=no only=
usage() {
  echo "usage: tools/gpu/first_hour.sh [--steps NAME[,NAME..]] [--small] PARTITA [DEVICE=cuda] [OUT=first_hour]" >&2
  echo "$1" >&2
  exit 64
}
while [[ ${1:-} == --* ]]; do
  case $1 in
    --steps) IFS=, read -ra steps <<< "${2:-}" && shift ;;
    --small) small=yes ;;
    --run) only=${2:-} && shift ;;  # one step, without a limit; what the script starts itself
    *) usage "an option, got $1" ;;
  esac
  shift
done
[[ $# -ge 1 && $# -le 3 ]] || usage "the path of partita and at most two words, got $# words"
[[ ${#steps[@]} -ge 1 ]] || usage "no steps are named, expected some of ${names[*]}"
for step in "${steps[@]}"; do [[ -n ${limits[$step]:-} ]] || usage "a step, got $step, expected one of ${names[*]}"; done
partita=$(realpath -m "$1") device=${2:-cuda} out=${3:-first_hour}
[[ -x $partita && ! -d $partita ]] || usage "the path of partita, got $1, which is no program"
[[ ${device%%:*} =~ ^(cuda|rocm|oneapi|tpu)$ || $device == xla:cpu ]] ||
  usage "a device, got $device, expected cuda, rocm, oneapi, tpu, or xla:cpu to try the script"
mkdir -p "$out" || exit 73
out=$(realpath "$out")
python=${PYTHON:-python3}

skip() {
  echo "$*"
  exit 77
}
evidence() { echo "evidence: $1 | $2"; }  # for a row of the status table, by its own name
devices() {  # FIELD: count, kind, plugin, pjrt or missing of the device, as doctor has it
  [[ -s $scratch/doctor ]] || "$partita" doctor --json > "$scratch/doctor"
  python3 -c '
import json, sys
path, device, field = sys.argv[1:]
print(next(one[field] for one in json.load(open(path))["devices"] if one["name"] in (device, device.split(":")[0])))' \
    "$scratch/doctor" "$device" "$1"
}
train() {  # MODEL [FLAG..]
  "$partita" train "$1" --batch 16 --steps 5 --threads 1 --no-eval "${@:2}"
}

run_facts() {
  local kind count
  date
  if [[ $device == cuda* ]] && command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=index,name,driver_version,memory.total,compute_cap --format=csv,noheader
    nvidia-smi topo -m
  fi
  "$partita" --version
  git -C "$here" rev-parse HEAD 2> /dev/null
  "$python" -c '
from importlib import metadata
for name in sorted({one.metadata["Name"] for one in metadata.distributions()}):
    if name and name.lower().startswith(("jax", "torch", "nvidia-cudnn", "nvidia-nccl", "nvidia-cuda-nvcc", "libtpu")): print(name, metadata.version(name))'
  "$partita" doctor
  kind=$(devices kind) count=$(devices count)
  [[ ${count:-0} -ge 1 ]] || { devices missing; return 1; }
  echo "device: $count of $kind, PJRT $(devices pjrt), plugin $(devices plugin)"
}

run_equality() {
  [[ $small == no ]] || export MODELS=gpt:layers=1,hidden=16,heads=2,seq=8,vocab=32 RANKS="1 2"
  "$here/equality.sh" "$partita" "$device" "$processes"
}

run_deterministic() {
  local model failed=0 flags first bits times
  local models=(gpt:layers=2,hidden=64,heads=2,seq=32 resnet18:width=16)
  [[ $small == no ]] || models=(gpt:layers=1,hidden=16,heads=2,seq=8,vocab=32)
  export PARTITA_CACHE=off  # kernels are chosen anew in each run
  for model in "${models[@]}"; do
    for flags in --deterministic --no-deterministic; do
      for first in 1 2; do
        rm -f "$scratch/log"
        train "$model" --device "$device" "$flags" --log "$scratch/log" --save "$scratch/$first.safetensors" > "$scratch/text" 2>&1 ||
          { tail -n 1 "$scratch/text"; rm -f "$scratch/$first.safetensors"; }
      done
      bits="other bits"
      ! cmp -s "$scratch/1.safetensors" "$scratch/2.safetensors" || bits="equal bits"
      [[ -e $scratch/1.safetensors && -e $scratch/2.safetensors ]] || bits=failed
      [[ $flags != --deterministic || $bits == "equal bits" ]] || failed=$((failed + 1))
      times=$(tail -n 1 "$scratch/log" 2> /dev/null | grep -o '"step_seconds":[0-9.]*' | cut -d: -f2)
      echo "$model $flags: two runs have $bits, a step takes ${times:-none} s"
      rm -f "$scratch"/*.safetensors
    done
  done
  [[ $failed -eq 0 ]] || { echo "$failed models do not have equal bits with --deterministic"; return 1; }
  evidence --deterministic "two runs had equal weights, bit by bit: ${models[*]%%:*}"
  echo "equal bits with --deterministic"
}

# Losses of runs next to that of one, a few runs at a time.
start() {  # NAME MODEL [FLAG..]: its loss goes to a file of that name
  while [[ $(jobs -rp | wc -l) -ge $processes ]]; do wait -n; done
  { "${launch[@]}" "$partita" train "$2" --batch 16 --steps 5 --warmup-steps 0 --lr 0.003 --threads 1 --no-eval "${@:3}" \
    > "$scratch/$1.txt" 2>&1
    grep -o 'loss is [^ ]*' "$scratch/$1.txt" | tail -n 1 | cut -d' ' -f3 > "$scratch/$1.loss"; } &
}
judge() {  # ROW LIMIT REFERENCE NAME..: fails, and prints why, if one of them is further away
  local row=$1 limit=$2 reference name loss bad=0
  reference=$(cat "$scratch/$3.loss")
  for name in "${@:4}"; do
    loss=$(cat "$scratch/$name.loss")
    if python3 - "$name" "${loss:-nan}" "${reference:-nan}" "$3" "$limit" << 'END'
import sys
name, loss, reference, other, limit = sys.argv[1:]
apart = abs(float(loss) - float(reference)) / abs(float(reference))
print(f"{name}: loss {loss}, {other} {reference}, apart {apart:.1e}")
sys.exit(not apart <= float(limit))
END
    then continue; fi
    bad=$((bad + 1)) failed=$((failed + 1))
    tail -n 1 "$scratch/$name.txt"
  done
  [[ $bad -gt 0 ]] || evidence "$row" "losses within $limit of ${3//_/ }: $(echo "${@:4}" | tr '_' ' ')"
}

run_plans() {
  local gpt=gpt:layers=2,hidden=32,heads=2,seq=16,vocab=32 on=(--dtype f64 --device "$device") failed=0 launch=()
  start cpu_in_f64 "$gpt" --dtype f64
  start cpu_in_bf16 "$gpt" --precision bf16
  start zero_1 "$gpt" "${on[@]}" --ranks 2 --zero 1 --zero-threshold 0
  start zero_3 "$gpt" "${on[@]}" --ranks 2 --zero 3 --zero-threshold 0
  start tensor_parallel "$gpt" "${on[@]}" --ranks 2 --parallel auto --tensor-parallel 2
  start micro_batches "$gpt" "${on[@]}" --micro-batches 4
  start stages "$gpt" "${on[@]}" --ranks 2 --stages 2 --micro-batches 4
  start recompute_full "$gpt" "${on[@]}" --recompute full
  start recompute_selective "$gpt" "${on[@]}" --recompute selective
  start bf16 "$gpt" --precision bf16 --device "$device"
  wait
  judge "ZeRO, tensor parallelism, micro-batches" 1e-9 cpu_in_f64 zero_1 zero_3 tensor_parallel micro_batches
  judge "pipeline stages" 1e-9 cpu_in_f64 stages
  judge recomputation 1e-9 cpu_in_f64 recompute_full recompute_selective
  judge "products of 16 bits" 1e-3 cpu_in_bf16 bf16
  echo "$failed losses beyond the limits"
  [[ $failed -eq 0 ]]
}

run_kept() {
  local gpt=gpt:layers=4,hidden=64,heads=2,seq=32 begin first second programs loaded
  export PARTITA_CACHE=$scratch/programs
  begin=$(date +%s%N)
  train "$gpt" --device "$device" > "$scratch/first" 2>&1 || { tail -n 1 "$scratch/first"; return 1; }
  first=$((($(date +%s%N) - begin) / 1000000))
  programs=$(find "$PARTITA_CACHE" -name '*.program' | wc -l)
  touch "$scratch/between"
  begin=$(date +%s%N)
  train "$gpt" --device "$device" > "$scratch/second" 2>&1 || { tail -n 1 "$scratch/second"; return 1; }
  second=$((($(date +%s%N) - begin) / 1000000))
  loaded=$(find "$PARTITA_CACHE" -name '*.program' -newer "$scratch/between" | wc -l)  # a program that is read is touched
  grep 'warning:' "$scratch/first" "$scratch/second"
  echo "first start $first ms, second $second ms; $programs programs were kept, $loaded loaded"
  echo "losses: $(grep -ho 'loss is .*' "$scratch/first" "$scratch/second" | tr '\n' ' ')"
  [[ $programs -ge 1 && $loaded -eq $programs && $(find "$PARTITA_CACHE" -name '*.program' | wc -l) -eq $programs ]] ||
    { echo "programs were not loaded: $programs kept, $loaded loaded"; return 1; }
  [[ $(grep -o 'loss is .*' "$scratch/first") == $(grep -o 'loss is .*' "$scratch/second") ]] ||
    { echo "the second start has another loss"; return 1; }
  evidence "programs that are kept" "the second start loaded all $programs programs: $second ms in place of $first, with an equal loss"
  echo "first start $first ms, second $second ms"
}

# Rows of a batch that fit, in the log of the step speed; else those that are tried first.
rows_of() { grep -oE "^$1 batch [0-9]+ bf16 partita: [0-9]" "$out/speed.txt" 2> /dev/null | head -n 1 | cut -d' ' -f3 | grep . || echo "$2"; }

run_speed() {
  local jobs=$'gpt2 8 bf16' chip='' seconds
  [[ $device != cuda* ]] || jobs+=$'\ngpt2 8 bf16 --attention fused\nllama1b 4 bf16 --attention fused'
  jobs+=$'\nresnet50 256 bf16\nllama1b 4 bf16'
  [[ $small == no ]] || jobs=${jobs/ 256 / 16 }
  for chip in a100 h100 h200 b200; do
    [[ $(devices kind) != *${chip^^}* ]] || break
    [[ $chip != b200 ]] || chip=
  done
  if [[ -n $chip ]]; then
    seconds=$("$partita" plan gpt:layers=12,hidden=768,heads=12,seq=1024,vocab=50257 --target "$chip" --batch 8 --precision bf16 \
      --fixed data=1 --json | grep -o '"step_seconds": [0-9.e-]*' | head -n 1 | cut -d' ' -f2)
    echo "gpt2 batch 8 bf16 partita plan: $(awk "BEGIN { printf \"%.2f\", 1e3 * ${seconds:-0} }") ms"
  fi
  JOBS=$jobs SMALL=$small PEER=no LIMIT=170 TRACES=$out "$here/steps.sh" "$partita" "$device"
}

peer() {  # SCRIPT MODULE: times the models by it
  [[ $device == cuda* ]] || skip "peers run on GPUs of NVIDIA, got $device"
  local flags=() why
  why=$("$python" -c "import $2" 2>&1) || skip "${why##*$'\n'}"
  [[ $small == no ]] || flags=(--small)
  "$python" "$here/$1" "${flags[@]}" "gpt2:$(rows_of gpt2 8)" "llama1b:$(rows_of llama1b 4)" "resnet50:$(rows_of resnet50 256)"
}
run_torch() { peer torch_steps.py torch; }
run_jax() { peer jax_times.py jax; }

run_recompute() {
  local rows=8 fused=''
  [[ $device != cuda* ]] || fused=$'\ngpt2 8 bf16 --attention fused --recompute full'
  JOBS="gpt2 $rows bf16
gpt2 $rows bf16 --recompute full
gpt2 $rows bf16 --micro-batches 4
gpt2 $rows bf16 --recompute full --micro-batches 4$fused" SMALL=$small PEER=no LIMIT=100 "$here/steps.sh" "$partita" "$device"
}

counts() {  # numbers of ranks to run on several devices
  local count ranks
  count=$(devices count)
  [[ $small == no ]] || count=2
  for ranks in 2 4 8; do [[ $ranks -gt ${count:-0} ]] || echo "$ranks"; done
}

run_several() {
  local ranks zero threshold levels="0 1 3" jobs='' failed=0 status launch=() processes=1 gpt=gpt:layers=2,hidden=32,heads=2,seq=16,vocab=32
  local whole=(--dtype f64 --device "$device" --collectives whole) found=() threads="collectives in programs, ranks as threads"
  [[ -n $(counts) ]] || skip "there are not two devices, got $(devices count)"
  [[ $small == no ]] || levels="0 3"
  start one_rank "$gpt" --dtype f64 --device "$device"
  for ranks in $(counts); do
    for zero in $levels; do
      threshold=()
      [[ $zero -eq 0 ]] || threshold=(--zero-threshold 0)
      start "${ranks}_ranks_zero_$zero" "$gpt" "${whole[@]}" --ranks "$ranks" --zero "$zero" "${threshold[@]}"
      found+=("${ranks}_ranks_zero_$zero")
      jobs+="gpt2 $((8 * ranks)) bf16 --ranks $ranks --collectives whole --zero $zero"$'\n'
    done
    [[ $device != cuda* ]] || jobs+="gpt2 $((8 * ranks)) bf16 --ranks $ranks --collectives whole --zero 3 --attention fused"$'\n'
  done
  if [[ $small == no ]]; then
    start tensor_parallel "$gpt" "${whole[@]}" --ranks 2 --parallel auto --tensor-parallel 2
    start stages "$gpt" "${whole[@]}" --ranks 2 --stages 2 --micro-batches 4
    found+=(tensor_parallel stages)
  fi
  if [[ $device != xla:cpu ]]; then  # its plugin does not join the devices of processes
    launch=("$partita" launch -n 2 --)
    start 2_processes "$gpt" "${whole[@]}"
    start 2_processes_zero_3 "$gpt" "${whole[@]}" --zero 3 --zero-threshold 0
  fi
  wait
  judge "$threads" 1e-9 one_rank "${found[@]}"
  [[ $device == xla:cpu ]] || judge "the same, ranks as processes" 1e-9 one_rank 2_processes 2_processes_zero_3
  [[ $small == no ]] || jobs=$(head -n 1 <<< "$jobs")
  JOBS=${jobs%$'\n'} SMALL=$small PEER=no LIMIT=100 "$here/steps.sh" "$partita" "$device"
  status=$?
  echo "$failed losses beyond the limits"
  [[ $failed -eq 0 && $status -eq 0 ]]
}

run_fsdp() {
  local ranks level failed=0
  [[ $device == cuda* ]] || skip "peers run on GPUs of NVIDIA, got $device"
  [[ -n $(counts) ]] || skip "there are not two devices, got $(devices count)"
  "$python" -c 'import torch; assert torch.cuda.is_available()' 2> /dev/null || skip "no PyTorch with CUDA"
  for ranks in $(counts); do
    for level in 0 2 3; do
      "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" "$here/fsdp_steps.py" "$level" 8 || failed=$((failed + 1))
    done
  done
  [[ $failed -eq 0 ]] || echo "$failed runs failed"
  [[ $failed -eq 0 ]]
}

run_laws() {
  local laws filter='EmissionShapes.*:EmittedIntegers.*:IdOperands.*:Ops/SpecialNumbers.*:Emission.*'
  laws=$(dirname "$partita")/tests/laws_tests
  [[ -x $laws ]] || skip "no $laws; to have it: cmake --preset release -DPARTITA_TESTS=ON"
  [[ $(devices count) -ge 1 ]] || skip "there is no device: $(devices missing)"
  [[ $small == no ]] || filter='EmittedIntegers.*'
  PARTITA_PJRT_PLUGIN=${PARTITA_PJRT_PLUGIN:-$(devices plugin)} "$laws" --gtest_brief=0 --gtest_filter="$filter" > "$scratch/laws" 2>&1 &
  local process=$! status
  tail -f --pid="$process" "$scratch/laws"
  wait "$process"
  status=$?
  grep -E '^\[  (PASSED|FAILED|SKIPPED) ' "$scratch/laws" | head -n 2 | tr -s '\n' ' '
  return "$status"
}

# All of them but those of equality.sh take a few cores of the host each.
processes=$(($(nproc) < 8 ? $(nproc) : 8))
if [[ -n $only ]]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 143' TERM INT
  # shellcheck source=environment.sh disable=SC1091
  [[ $device != cuda* ]] || PYTHON=$python source "$here/environment.sh"
  "run_$only"
  exit $?
fi

summarize() { python3 "$here/hour_summary.py" "$out" "$device"; }
end_early() {
  [[ -z $process ]] || kill "$process" 2> /dev/null
  summarize
  exit 143
}
process=
trap end_early TERM INT HUP
small_flag=()
[[ $small == no ]] || small_flag=(--small)
failed=0
for step in "${steps[@]}"; do
  begin=$(date +%s)
  printf 'cut off\t0\tbegan at %s and did not end\n' "$(date +%T)" > "$out/$step.status"
  summarize || failed=1
  timeout -k 10 "${FIRST_HOUR_LIMIT:-${limits[$step]}}" bash "$here/first_hour.sh" --run "$step" "${small_flag[@]}" "$partita" "$device" "$out" \
    > "$out/$step.txt" 2>&1 < /dev/null &
  process=$!
  wait "$process"
  code=$?
  process=
  last=$(tr -d '\t\r' < "$out/$step.txt" | grep -v '^ *$' | tail -n 1 | cut -c1-300)
  case $code in
    0) state=passed ;;
    77) state=skipped ;;
    124 | 137) state=failed last="ran past ${FIRST_HOUR_LIMIT:-${limits[$step]}} s; $last" failed=1 ;;
    *) state=failed last=${last:-exit code $code} failed=1 ;;
  esac
  printf '%s\t%s\t%s\n' "$state" $(($(date +%s) - begin)) "$last" > "$out/$step.status"
  echo "$step: $state ($(($(date +%s) - begin)) s) $last"
  summarize || failed=1
done
echo "summary: $out/summary.md"
exit "$failed"
