#!/usr/bin/env bash
# Traces of trainings on threads and on processes: their schema, what they cover, aligned clocks, and failures.
set -euo pipefail
cd "$(dirname "$0")/../.."
partita=$PWD/build/release/partita
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
source tests/support/containers.sh
export OMP_NUM_THREADS=1
fail() {
  echo "FAILED: $*"
  exit 1
}
check() { /usr/bin/python3 tests/scripts/check_trace.py "$@" || fail "trace of $1"; }
train() { timeout -k 5 120 "$@" --threads 1 --no-eval --quiet --steps 5 >"$out/text" 2>&1; }

gpt="gpt:layers=2,hidden=64,heads=4,seq=64"
train "$partita" train "$gpt" --batch 32 --ranks 1 --trace "$out/one" || fail "one rank"
check "$out/one" 1 3
# Its gradients take several buckets, all but the last of which a thread reduces meanwhile.
train "$partita" train gpt:layers=2,hidden=256,heads=4,seq=64 --batch 16 --ranks 2 --trace "$out/data" --trace-steps 2 --log "$out/log" || fail "data parallel"
check "$out/data" 2 2
grep -q '"name":"communication"' "$out/data" || fail "no thread that communicates"
train "$partita" train "$gpt" --batch 32 --ranks 4 --stages 2 --micro-batches 4 --trace "$out/stages" || fail "stages"
check "$out/stages" 4 3
train "$partita" train "$gpt" --batch 32 --ranks 2 --stages 4 --interleave 2 --micro-batches 4 --order interleaved \
  --trace "$out/interleaved" || fail "interleaved"
check "$out/interleaved" 2 3
train mpirun -n 2 "$partita" train "$gpt" --batch 32 --trace "$out/processes" || fail "processes"
check "$out/processes" 2 3
train mpirun -n 4 "$partita" train "$gpt" --batch 32 --stages 2 --micro-batches 4 --order zero_bubble \
  --trace "$out/zero_bubble" || fail "stages of processes"
check "$out/zero_bubble" 4 3
# What four ranks ran, under equal times: the bubble of the order.
for order in 1f1b gpipe zero_bubble; do
  train "$partita" train gpt:layers=4,hidden=32,heads=4,seq=16 --batch 16 --ranks 4 --stages 4 --micro-batches 8 \
    --order $order --trace "$out/$order" || fail "$order"
  /usr/bin/python3 tests/scripts/check_bubble.py "$out/$order" 4 8 $order || fail "the bubble of $order"
done
# Faults that the check must see: clocks that are not aligned, predictions of something else, spans that are missing, a time that is none.
for fault in 'event["ts"] += 5e4 * (event["pid"] == 1)' 'event["name"] += "?" * (event["pid"] >= 2 and event["ph"] == "X")' 'event["dur"] = event.get("dur", 0) * (event.get("cat") != "compute")' \
  'event["ts"] = -1 if event["name"] == "step 1" else event["ts"]'; do
  /usr/bin/python3 - "$out/processes" "$out/faulty" "$fault" <<'PY'
import json, sys
trace = json.load(open(sys.argv[1]))
for event in trace["traceEvents"]:
    exec(sys.argv[3])
json.dump(trace, open(sys.argv[2], "w"))
PY
  /usr/bin/python3 tests/scripts/check_trace.py "$out/faulty" 2 3 >"$out/text" && fail "the check does not see: $fault"
done
# A training that ends before its trace does.
train "$partita" train "$gpt" --batch 32 --ranks 2 --trace "$out/short" --trace-steps 100 || fail "a short training"
check "$out/short" 2 5

# What a step waits for is in the log.
/usr/bin/python3 - "$out/log" <<'PY' || fail "the log"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert len(lines) == 5 and all(0 < line["exposed_communication_seconds"] < line["step_seconds"] for line in lines), lines
PY

# A training that fails keeps what there was: its loss is not finite in the third step.
wrong="--optimizer sgd --lr 1e30 --trace-steps 100"
train "$partita" train "$gpt" --batch 32 --ranks 2 $wrong --trace "$out/failed" && fail "a loss that is not finite passes"
[[ -s $out/failed && ! -e $out/failed.rank_1 ]] || fail "the trace of a training that fails on threads"
/usr/bin/python3 - "$out/failed" <<'PY' || fail "a trace of what there was"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
assert {event["pid"] for event in events if event["ph"] == "X"} == {0, 1, 2, 3}  # two are predicted
assert any(event.get("name") == "step 1" for event in events)
PY
train mpirun -n 2 "$partita" train "$gpt" --batch 32 $wrong --trace "$out/failed_processes" && fail "a loss of processes"
/usr/bin/python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["traceEvents"]' "$out/failed_processes" ||
  fail "the trace of processes that fail"
echo "traces: passed"
