#!/usr/bin/env bash
# Files of earlier versions (tests/old, written by tests/old/write.sh) are read by this one: checkpoints and weights,
# plans, clusters, graphs, configurations; and it takes all their flags and prints all their keys.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$PWD/build/release/partita
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "old files: $*" >&2
  exit 1
}
# run WORDS...: the program, whose output is printed if it fails
run() {
  "$program" "$@" >"$folder/out" 2>&1 || fail "partita $*: $(cat "$folder/out")"
}
# losses FILE FIRST: one line per step from FIRST on
losses() { sed -nE 's/^\{"step":([0-9]+),.*"loss":([^,]*),.*/\1 \2/p' "$1" | awk -v first="$2" '$1 >= first'; }
# near FILE FILE: the same steps, losses equal to 1e-5
near() {
  paste -d' ' "$1" "$2" | awk '{ d = $2 - $4; if ($1 != $3 || d > 1e-5 || d < -1e-5) bad = 1 } END { exit bad || NR == 0 }'
}
# settings FILE: the lines of a configuration, each with its section, in an order of their own
settings() { awk '/^\[/ { section = $0; next } NF { print section, $0 }' "$1" | LC_ALL=C sort; }
# keys FILE: the JSON keys of all levels
keys() { grep -oE '"[A-Za-z_0-9]+" *:' "$1" | tr -d '": ' | sort -u; }

found=0
for old in tests/old/*/; do
  old=$PWD/${old%/}
  found=$((found + 1))
  net=gpt:layers=2,hidden=16,heads=2,seq=8,vocab=64
  job=("$net" --data synthetic --batch 8 --optimizer adamw --lr 0.01 --lr-schedule constant --threads 1 --no-eval --quiet)
  # In another folder than they were written in: no file may hold its path.
  rm -rf "$folder/old" && cp -r "$old" "$folder/old"

  losses "$old/log.jsonl" 5 >"$folder/expected"
  for way in "--ranks 4 --zero 1 --zero-threshold 0" "--ranks 1" "--ranks 2 --parallel semi --zero 3 --zero-threshold 0"; do
    rm -f "$folder/log.jsonl"
    # shellcheck disable=SC2086  # several words
    run train "${job[@]}" --steps 6 $way --resume "$folder/old/checkpoints/step_4" --log "$folder/log.jsonl"
    losses "$folder/log.jsonl" 5 >"$folder/got"
    near "$folder/expected" "$folder/got" || fail "resumed with $way: $(paste "$folder/expected" "$folder/got")"
  done
  # A file of a whole training of before kinds were kept, and of programs that wrote an empty text of them.
  run checkpoint merge "$folder/old/checkpoints/step_4" --all --out "$folder/all.safetensors"
  losses "$old/log.jsonl" 5 >"$folder/expected"
  for kinds in none empty; do
    /usr/bin/python3 tests/old/without_kinds.py "$folder/all.safetensors" "$folder/one.safetensors" $kinds
    rm -rf "$folder/parts"
    run checkpoint split "$folder/one.safetensors" --ranks 3 --out "$folder/parts"
    run checkpoint merge "$folder/parts" --all --out "$folder/joined.safetensors"
    for form in one.safetensors parts joined.safetensors; do
      rm -f "$folder/log.jsonl"
      run train "${job[@]}" --steps 6 --resume "$folder/$form" --log "$folder/log.jsonl"
      losses "$folder/log.jsonl" 5 >"$folder/got"
      near "$folder/expected" "$folder/got" || fail "$form of a file with $kinds kinds: $(paste "$folder/expected" "$folder/got")"
    done
  done
  # The configuration says what numbers without names measure.
  if [[ -d $old/numbers ]]; then
    numbers=(mlp:hidden=8,layers=1 --data synthetic --batch 2000 --threads 1 --no-eval --quiet --lr-schedule constant
      --loss-scaling dynamic --loss-scale-window 3 --patience 3 --steps 12 --resume "$folder/old/numbers/step_8")
    scales() { sed -nE 's/^\{"step":([0-9]+),.*"loss_scale":([0-9]+).*/\1 \2/p' "$1" | awk '$1 > 8'; }
    losses "$old/numbers.jsonl" 9 >"$folder/expected"
    run train "${numbers[@]}" --precision f16 --loss-scale 1024 --validate --log "$folder/log.jsonl"
    grep -q "\[resume\]" "$folder/out" && fail "numbers begin anew: $(cat "$folder/out")"
    losses "$folder/log.jsonl" 9 >"$folder/got"
    near "$folder/expected" "$folder/got" || fail "numbers: $(paste "$folder/expected" "$folder/got")"
    [[ $(scales "$folder/log.jsonl") == "$(scales "$old/numbers.jsonl")" ]] || fail "the scale: $(scales "$folder/log.jsonl")"
    run train "${numbers[@]}" --precision bf16
    for word in "the scale of the loss begins anew, got .* of dynamic f16 in the checkpoint, expected one of dynamic f32" \
      "'early_stopping' begins anew, got its state of lowest sparse loss of mlp:hidden=8,layers=1 on validation rows"; do
      grep -q "$word" "$folder/out" || fail "no word of '$word': $(cat "$folder/out")"
    done
  fi
  run checkpoint verify "$folder/old/checkpoints/step_4"
  run checkpoint merge "$folder/old/checkpoints/step_4" --out "$folder/weights.safetensors"
  run checkpoint diff "$folder/weights.safetensors" "$folder/old/weights.safetensors"
  grep -qE '^all [0-9]+ tensors are equal' "$folder/out" || fail "merged weights differ: $(cat "$folder/out")"
  run eval "$net" --data synthetic --load "$folder/old/weights.safetensors" --batch 8
  run eval --data synthetic --load "$folder/old/checkpoints/step_4" --batch 8

  run explain "$folder/old/plan.txt"
  run train --plan "$folder/old/plan.txt" --data synthetic --batch 8 --steps 2 --threads 1 --no-eval --quiet
  run plan "$net" --cluster "$folder/old/cluster.toml" --batch 8
  run graph "$folder/old/graph.txt"
  run train --config "$folder/old/job.toml" --print-config
  lost=$(LC_ALL=C comm -13 <(settings "$folder/out") <(settings "$old/job.toml"))
  [[ -z $lost ]] || fail "the configuration reads back as another, without $lost"

  while read -r line; do
    command=${line% *} flag=${line##* }
    # shellcheck disable=SC2086  # two words for the commands of checkpoints
    [[ -f $folder/help_${command// /_} ]] || "$program" $command --help >"$folder/help_${command// /_}"
    grep -qE -- "--(\[no-\])?${flag#--}( |,|$)" "$folder/help_${command// /_}" || fail "$command lost $flag"
  done <"$old/flags.txt"
  run plan "$net" --cluster a100-80:1 --batch 8 --json
  for pair in "plan.json out" "log.jsonl log.jsonl"; do
    lost=$(comm -23 <(keys "$old/${pair% *}") <(keys "$folder/${pair#* }"))
    [[ -z $lost ]] || fail "JSON keys are gone: $lost"
  done
done
[[ $found -gt 0 ]] || fail "no files of an earlier version in tests/old"
echo "files of $found versions: ok"
