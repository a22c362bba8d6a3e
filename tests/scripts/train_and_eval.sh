#!/usr/bin/env bash
# Trains through the command line on several ranks, saves, loads, logs and dumps.
set -euo pipefail
cd "$(dirname "$0")/../.."
partita=build/release/partita
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
expect() {  # expect WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "not so: $what"; exit 1; }
}

accuracy() { sed -n 's/^test accuracy //p' "$1"; }
for ranks in 1 3 8; do
  $partita train mlp:hidden=64 --ranks $ranks --batch 48 --epochs 2 --seed 5 --save "$out/$ranks.safetensors" \
    --log "$out/$ranks.jsonl" >"$out/$ranks.txt" 2>"$out/$ranks.err"
  expect "a line says that the data are generated" grep -q "generated stand-in" "$out/$ranks.txt"
  expect "more than 90 % right" awk -v a="$(accuracy "$out/$ranks.txt")" 'BEGIN { exit !(a > 0.9) }'
done
/usr/bin/python3 - "$out" <<'PY'
import json, sys
logs = {r: [json.loads(line) for line in open(f"{sys.argv[1]}/{r}.jsonl")] for r in (1, 3, 8)}
for r in (3, 8):
    assert len(logs[r]) == len(logs[1]) > 20
    for a, b in zip(logs[r][:20], logs[1][:20]):
        assert set(a) >= {"step", "epoch", "loss", "step_seconds", "samples_per_second"}, a
        assert abs(a["loss"] - b["loss"]) <= 1e-5 * max(1, abs(b["loss"])), (r, a, b)
PY
$partita eval mlp:hidden=64 --load "$out/3.safetensors" >"$out/eval.txt"
expect "eval says that the data are generated" grep -q "testing on a generated stand-in" "$out/eval.txt"
expect "eval finds the accuracy of the training" grep -q "$(accuracy "$out/3.txt")" "$out/eval.txt"
for batch in 1 7 4096; do
  $partita eval mlp:hidden=64 --batch $batch --load "$out/3.safetensors" >"$out/eval.txt"
  expect "batches of $batch give the same accuracy" grep -q "$(accuracy "$out/3.txt")" "$out/eval.txt"
done

short="mlp:hidden=16 --batch 16 --schedule-steps 8"
$partita train $short --steps 4 --checkpoint "$out/c" --log "$out/steps.jsonl" >/dev/null
cp -r "$out/c" "$out/c4"
for last in 6 8; do
  # The second goes on from the same checkpoint: steps 5 and 6 are taken again, and are there once.
  $partita train $short --steps $last --resume "$out/c4" --log "$out/steps.jsonl" >/dev/null
done
expect "a log of a training that goes on has each step once" \
  diff <(grep -o '"step":[0-9]*' "$out/steps.jsonl") <(seq -f '"step":%g' 8)

$partita train lenet --ranks 4 --steps 2 --dump "$out/dump" >/dev/null 2>&1
expect "the dump has every stage" test "$(find "$out/dump" -name '*.txt' | wc -l)" -ge 5
expect "the local graph names its collectives" grep -rq "all_reduce.*group=(0,1,2,3)" "$out/dump"
$partita graph lenet --training >"$out/graph.txt"
expect "a printed graph is read back" cmp -s <($partita graph "$out/graph.txt") "$out/graph.txt"
$partita graph examples/softmax_regression.txt --training >/dev/null
$partita graph examples/softmax_regression.txt --run >/dev/null
$partita ops >/dev/null
$partita ops conv2d >"$out/conv2d.txt"
expect "the rule of an op is printed" grep -q "n(gc)" "$out/conv2d.txt"
$partita ops --kernels lenet >"$out/kernels.txt"
expect "the library serves the convolutions" grep -q "onednn.conv2d" "$out/kernels.txt"
echo ok
