#!/usr/bin/env bash
# One job is started twice, at random moments of the first one's life, with one folder for its checkpoints: as a process
# whose ranks are threads, under partita launch, to be resumed, and as a program in Python. The second one is refused
# with the process and the host of the first, or waits for its end where it resumes; no checkpoint is torn.
#   tests/soak/double_starts.sh [STARTS=24] [SEED=1]
set -uo pipefail
cd "$(dirname "$0")/../.."
source tests/support/containers.sh
starts=${1:-24} RANDOM=${2:-1}
partita=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1 PARTITA_STALL_TIMEOUT=20 PYTHONPATH=$PWD/build/release/python PYTHONDONTWRITEBYTECODE=1
steps=60
job="train mlp:hidden=96 --batch 16 --threads 1 --no-eval --quiet --zero 1 --zero-threshold 0 --steps $steps \
  --checkpoint-every 1 --keep 3 --checkpoint"
kinds=3 torn=0 both=0 refused=0 waited=0 bad=0
[[ -d $PYTHONPATH/partita ]] && kinds=4
cat >"$folder/job.py" <<'PY'
import sys
import numpy as np
import partita as ms
from partita import nn, train

net = nn.SequentialCell(nn.Dense(64, 96), nn.ReLU(), nn.Dense(96, 1))
rows = np.random.default_rng(2).random((960, 64), "f4")
data = ms.dataset.NumpySlicesDataset((rows, rows[:, :1]), ["x", "y"], shuffle=False).batch(16)
saves = train.ModelCheckpoint("net", sys.argv[1], train.CheckpointConfig(1, keep_checkpoint_max=3))
model = train.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.001))
model.train(2, data, callbacks=[saves])
PY

said() { cat "$folder/first" "$folder/second" | grep -q "$1"; }

for ((start = 0; start < starts; start++)); do
  run=$folder/run_$start kind=$((start % kinds)) more=""
  case $kind in
    0) command=("$partita" $job "$run" --ranks 2) ;;
    1) command=("$partita" launch -n 2 -- $job "$run") ;;
    2) command=("$partita" $job "$run" --ranks 2 --resume latest) ;;
    3) command=(/usr/bin/python3 "$folder/job.py" "$run") ;;
  esac
  "${command[@]}" >"$folder/first" 2>&1 &
  first=$!
  sleep "0.$(printf '%03d' $((RANDOM % 600)))"
  "${command[@]}" >"$folder/second" 2>&1 &
  second=$!
  wait "$first"; statuses=$?
  wait "$second"; statuses+=" $?"
  if [[ $statuses == "0 0" ]]; then # one after the other; programs in Python that are not the first take other names
    if said "\[checkpoint\] waits for $run until process [0-9]* on "; then waited=$((waited + 1)); else both=$((both + 1)); fi
  elif ((kind != 2)) && [[ $statuses == "0 73" || $statuses == "73 0" ]] &&
    said "another job writes to it, got '\?$run'\? held by process [0-9]* on "; then
    refused=$((refused + 1))
  else
    bad=$((bad + 1)); echo "start $start: they end with $statuses"; cat "$folder/first" "$folder/second"
  fi
  if ((kind == 3)); then
    whole=$(for file in "$run"/net*-2_60.ckpt; do "$partita" checkpoint verify "$file" 2>&1; done)
  else
    whole=$("$partita" checkpoint verify "$run" 2>&1)
  fi
  if grep -q "error:" <<<"$whole" || ! grep -qE "(step_$steps|_60.ckpt): .*whole" <<<"$whole" ||
    [[ -n $(find "$run" -mindepth 1 -name '.*') ]]; then
    torn=$((torn + 1)); echo "start $start: torn"; echo "$whole"; ls -a "$run"
  fi
done
echo "$starts double starts: $torn torn, $refused refused, $waited waited, $both others that both ended, $bad faults"
((torn == 0 && bad == 0))
