#!/usr/bin/env bash
# Seconds from the kill of a rank until the job trains again: tests/soak/restarts.sh [KILLS], default 20. LeNet on 4
# ranks; prints every time and the median.
set -uo pipefail
cd "$(dirname "$0")/../.."
partita=$PWD/build/release/partita
folder=$(mktemp -d)
source tests/support/faults.sh
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1
kills=${1:-20}
begin_job lenet -n 4 --max-restarts "$kills" -- train lenet --batch 64 --epochs 100000 --threads 1 --per-print-times 1 --no-eval
await_text lenet 'step: 3,' || exit 1
times=()
for ((i = 1; i <= kills; i++)); do
  victim=$(pid_of lenet $((i % 4)))
  begin=$(now)
  kill -9 "$victim"
  # The first step of the next attempt, behind the line that says that it begins.
  while ! sed -n "/restart $i of/,\$p" "$folder/lenet.out" | grep -q 'epoch: 1 step: 1,'; do
    sleep 0.01
    kill -0 $job 2>/dev/null || break 2
  done
  times+=("$(seconds_since "$begin")")
  await_steps=$(sed -n "/restart $i of/,\$p" "$folder/lenet.out" | grep -c 'step:')
  while [[ $await_steps -lt 5 ]]; do
    sleep 0.02
    await_steps=$(sed -n "/restart $i of/,\$p" "$folder/lenet.out" | grep -c 'step:')
  done
done
kill -INT $job
wait $job
printf '%s\n' "${times[@]}" | sort -n | awk '{ all = all " " $1; t[NR] = $1 } END {
  print "seconds from kill to the next step:" all; print "median of " NR ": " t[int((NR + 1) / 2)] }'
