#!/usr/bin/env bash
# The Python examples: each trains and checks itself. Their ranks are threads of one process on real data, where
# PARTITA_DATA has some, and then processes on drawn data. Each script of examples/launch starts one of them, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
package=$root/build/release/python
[[ -d $package ]] || { echo "no Python package: configure with -DPARTITA_PYTHON=ON" >&2; exit 1; }
export PYTHON=/usr/bin/python3 PARTITA=$root/build/release/partita
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
source tests/support/containers.sh
launch=$root/examples/launch examples=$root/examples/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# shows COUNT TEXT COMMAND...: the command succeeds and says the text so often, also where ranks write into one line
shows() {
  local count=$1 text=$2 got
  shift 2
  "$@" >out 2>&1 || { tail -n 30 out && echo "failed: $*"; return 1; }
  got=$({ grep -oF -- "$text" out || true; } | wc -l)
  [[ $got -eq $count ]] || { tail -n 30 out && echo "got '$text' $got times, expected $count: $*"; return 1; }
}

# The examples with their number of ranks and how often they compare losses.
compared='accumulation 2 2
annotated_products 4 1
data_parallel 4 1
experts 4 1
optimizer_shards 4 1
photos 2 1
pipeline_stages 4 2
recomputation 2 2
resume_elsewhere 4 1
searched_plan 4 3
two_losses 2 2'
same="as on one rank"
while read -r name ranks count; do shows "$count" "$same" "$PYTHON" "$examples/$name.py"; done <<<"$compared"
shows 1 ", as before" "$PYTHON" "$examples/save_whole.py"
shows 1 "best: " "$PYTHON" "$examples/plan_for_a_cluster.py"
shows 1 "photos, auto: loss" env -u PARTITA_DATA "$PYTHON" "$examples/photos.py" auto
unset PARTITA_DATA
while read -r name ranks count; do
  shows "$count" "$same" "$launch/mpirun.sh" "$ranks" "$examples/$name.py"
done <<<"$compared"
shows 1 ", as before" "$launch/mpirun.sh" 4 "$examples/save_whole.py"
shows 4 " of 406548 numbers" "$launch/mpirun.sh" 4 "$examples/save_parts.py"
shows 3 "merged: " "$PYTHON" "$examples/merge_parts.py"

shows 1 "$same" "$launch/threads.sh" 4 "$examples/data_parallel.py"
shows 4 " of 2 " "$launch/mpirun.sh" 4 "$examples/ranks_and_groups.py"
shows 2 ": 3.00 x" "$launch/msrun.sh" 2 "$examples/unchanged_imports.py"
LOGS=logs shows 2 "$same" "$launch/launcher.sh" 2 "$examples/two_losses.py"
"$PYTHON" "$launch/rank_table.py" 127.0.0.1:3 >table.json
shows 0 failed "$launch/rank_table.sh" table.json "$examples/ranks_and_groups.py"
shows 1 "rank 2 of 3, 2 of 3 on its host, 1 of 2 even ranks" cat rank_0.log rank_1.log rank_2.log
echo "localhost slots=2" >hosts
shows 2 " of 2 on its host" "$launch/hosts.sh" mpirun hosts "$examples/ranks_and_groups.py"
shows 1 "rank 0 of 2" "$launch/hosts.sh" partita hosts "$examples/ranks_and_groups.py"
echo "Python examples: passed"
