#!/usr/bin/env bash
# Checkpoints of processes: signals to one of them, a killed one, and slices that are merged by hand.
set -uo pipefail
cd "$(dirname "$0")/../.."
source tests/support/containers.sh
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
fail() {
  echo "checkpoints: $*"
  exit 1
}
same() { grep -qE '^all [0-9]+ tensors are equal' <<<"$("$partita" checkpoint diff "$1" "$2")"; }
job="train mlp:hidden=64 --batch 24 --no-eval --quiet --threads 1"

"$partita" $job --steps 4 --ranks 3 --zero 3 --zero-threshold 0 --checkpoint "$folder/three" >/dev/null 2>&1 || fail "a training"
"$partita" checkpoint merge "$folder/three" --out "$folder/weights.safetensors" >/dev/null || fail "merge"
/usr/bin/python3 examples/merge_slices.py "$folder/three/step_4" "$folder/weights.npz" >/dev/null || fail "merged by hand"
/usr/bin/python3 - "$folder" <<'PY' || fail "what is merged by hand differs"
import json, sys
import numpy as np
folder = sys.argv[1]
data = open(folder + "/weights.safetensors", "rb").read()
length = int.from_bytes(data[:8], "little")
header, weights = json.loads(data[8:8 + length]), np.load(folder + "/weights.npz")
header.pop("__metadata__")
assert set(header) == set(weights.files), (set(header), weights.files)
for name, place in header.items():
    begin, end = (8 + length + offset for offset in place["data_offsets"])
    assert data[begin:end] == weights[name].tobytes() and list(weights[name].shape) == place["shape"], name
PY

# A step that is not finite ends all ranks, in threads and processes: the checkpoint of the step before is complete.
diverging="train mlp:hidden=64 --batch 24 --no-eval --quiet --threads 1 --optimizer sgd --lr 1e30 --lr-schedule constant
  --warmup-steps 0 --steps 50 --checkpoint-every 1"
devices=cpu
[[ -n ${PARTITA_PJRT_PLUGIN:-} ]] && devices="cpu xla:cpu"
for device in $devices; do
  for start in "" "--ranks 3" "launch -n 2"; do
    rm -rf "$folder/diverged"
    command=("$partita" $diverging --device "$device" --checkpoint "$folder/diverged")
    [[ $start == --ranks* ]] && command+=($start)
    [[ $start == launch* ]] && command=("$partita" $start -- "${command[@]}")
    "${command[@]}" >"$folder/out" 2>&1
    code=$?
    [[ $code -eq 79 && $(ls -A "$folder/diverged" | grep -v owner) == step_1 ]] ||
      fail "before a loss that is not finite, $device '$start': exit $code, $(ls -A "$folder/diverged"), $(cat "$folder/out")"
    "$partita" checkpoint verify "$folder/diverged" >/dev/null || fail "what was saved before, $device '$start'"
  done
done

# More files than a process may have open. The limit is the hard one, too.
large="train mlp:hidden=512,layers=3 --batch 64 --no-eval --quiet --threads 1 --schedule-steps 4"
"$partita" $large --steps 2 --checkpoint "$folder/large" >/dev/null 2>&1 || fail "a larger training"
"$partita" checkpoint merge "$folder/large" --all --out "$folder/large.safetensors" >/dev/null || fail "merge --all"
"$partita" checkpoint split "$folder/large.safetensors" --ranks 1500 --out "$folder/many" >/dev/null || fail "1500 files"
"$partita" checkpoint split "$folder/large.safetensors" --ranks 64 --out "$folder/64" >/dev/null || fail "64 files"
[[ $(ls "$folder/many/step_2" | wc -l) -gt 1000 ]] || fail "there are not many files"
(
  ulimit -n 256
  "$partita" checkpoint verify "$folder/many" >/dev/null || fail "verify of many files"
  "$partita" checkpoint merge "$folder/many" --all --out "$folder/merged.safetensors" >/dev/null || fail "merge of many"
  for many in many 64; do
    same "$folder/$many" "$folder/large" || fail "many files hold something else"
    "$partita" $large --steps 3 --ranks 16 --resume "$folder/$many" --checkpoint "$folder/on_$many" >"$folder/out" 2>&1 ||
      fail "16 threads resume $many: $(cat "$folder/out")"
  done
) || exit 1
same "$folder/merged.safetensors" "$folder/large" || fail "merged from many files"
same "$folder/on_many" "$folder/on_64" || fail "resumed from many files"

if command -v mpirun >/dev/null; then
  # Processes write what threads write, and one goes on from what the other wrote.
  mpirun -n 3 "$partita" $job --steps 4 --zero 3 --zero-threshold 0 --checkpoint "$folder/mpi" >"$folder/out" 2>&1 ||
    fail "processes: $(cat "$folder/out")"
  same "$folder/three" "$folder/mpi" || fail "processes save something else"
  # One rank gets the signal: all end behind the same step.
  mpirun -n 2 "$partita" $job --epochs 100000 --checkpoint "$folder/signal" --log "$folder/log" >"$folder/out" 2>&1 &
  launcher=$!
  for _ in $(seq 200); do [[ -s $folder/log ]] && break; sleep 0.05; done
  rank=$(pgrep -P "$launcher" | tail -n 1)
  kill -TERM "$rank" || fail "no rank to signal"
  wait "$launcher"
  grep -q "interrupted, got SIGTERM" "$folder/out" || fail "a signal: $(cat "$folder/out")"
  "$partita" checkpoint verify "$folder/signal" >/dev/null || fail "what a signal saved"
  # One is killed while every step is saved; the others end, and what goes on ends as what was never stopped.
  "$partita" $job --steps 60 --ranks 2 --checkpoint "$folder/whole" >/dev/null 2>&1 || fail "a training"
  mpirun -n 2 "$partita" $job --steps 60 --checkpoint "$folder/killed" --checkpoint-every 1 >/dev/null 2>&1 &
  launcher=$!
  for _ in $(seq 400); do [[ -e $folder/killed/step_3 || -e $folder/killed/step_8 ]] && break; sleep 0.01; done
  kill -9 "$(pgrep -P "$launcher" | head -n 1)" 2>/dev/null
  wait "$launcher"
  "$partita" checkpoint verify "$folder/killed" >/dev/null || fail "a killed rank leaves no complete checkpoint"
  mpirun -n 2 "$partita" $job --steps 60 --checkpoint "$folder/killed" --resume latest >/dev/null 2>&1 || fail "going on"
  same "$folder/whole" "$folder/killed" || fail "the training that went on differs"
  # What one rank cannot read none of them takes: they go on from the checkpoint before.
  damaged=$folder/killed/step_60/rank_1.safetensors
  printf XYZ | dd of="$damaged" bs=1 seek=$(($(stat -c %s "$damaged") - 40)) conv=notrunc 2>/dev/null
  mpirun -n 2 "$partita" $job --steps 60 --checkpoint "$folder/killed" --resume latest >"$folder/out" 2>&1 ||
    fail "a damaged checkpoint: $(cat "$folder/out")"
  grep -q "step_60 is not used: \[checkpoint\] $damaged: tensor '" "$folder/out" || fail "damage is not told: $(cat "$folder/out")"
  same "$folder/whole" "$folder/killed" || fail "the training behind a damaged checkpoint differs"
fi
echo "checkpoints: ok"
