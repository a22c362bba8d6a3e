#!/usr/bin/env bash
# Writes one of each file that users keep, with a build of the version to be remembered; tests/scripts/old_files.sh reads
# them with the program of today. Run by hand before a format changes.
#   tests/old/write.sh PROGRAM FOLDER
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
cd "$2"
net=gpt:layers=2,hidden=16,heads=2,seq=8,vocab=64
job=("$net" --data synthetic --batch 8 --optimizer adamw --lr 0.01 --lr-schedule constant --threads 1 --no-eval --quiet)

# A checkpoint of step 4 on four ranks that share the optimizer's states, and the losses of the steps after it.
"$program" train "${job[@]}" --steps 4 --ranks 4 --zero 1 --zero-threshold 0 --checkpoint checkpoints >/dev/null 2>&1
"$program" train "${job[@]}" --steps 6 --ranks 4 --zero 1 --zero-threshold 0 --log log.jsonl >/dev/null 2>&1
"$program" checkpoint merge checkpoints/step_4 --out weights.safetensors >/dev/null

# Numbers next to the states, in the middle of the third epoch: a dynamic scale that has grown, the best loss of the
# validations, the losses of the epoch. Then the steps after it.
numbers=(mlp:hidden=8,layers=1 --data synthetic --batch 2000 --threads 1 --no-eval --quiet --lr-schedule constant
  --precision f16 --loss-scale 1024 --loss-scaling dynamic --loss-scale-window 3 --validate --patience 3)
"$program" train "${numbers[@]}" --steps 8 --checkpoint numbers >/dev/null 2>&1
"$program" train "${numbers[@]}" --steps 12 --log numbers.jsonl >/dev/null 2>&1

"$program" plan "$net" --cluster cpu:1 --batch 8 --pin tensor=2,data=2 --out plan.txt >/dev/null
"$program" plan "$net" --cluster a100-80:1 --batch 8 --json >plan.json
"$program" cluster a100-80:2 >cluster.toml
"$program" graph mlp:hidden=8,layers=1 --batch 4 >graph.txt
"$program" train "${job[@]}" --steps 4 --ranks 4 --zero 1 --zero-threshold 0 --print-config >job.toml

# The flags of every command.
for command in train eval generate graph partition plan explain diff calibrate cluster schedule ops summary diagnose \
  launch "checkpoint list" "checkpoint merge" "checkpoint split" "checkpoint convert" "checkpoint diff"; do
  # shellcheck disable=SC2086  # two words for the commands of checkpoints
  "$program" $command --help | grep -oE '^  (-[a-z],)?--[a-z0-9-]+|^  --\[no-\][a-z0-9-]+' |
    sed -E "s/^ +(-[a-z],)?//; s/\[no-\]//; s/^/$command /"
done >flags.txt
