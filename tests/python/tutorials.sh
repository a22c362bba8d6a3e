#!/usr/bin/env bash
# The scripts of the tutorials (examples/tutorials), launched as they launch, with smaller images, batches and trainings.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
python=/usr/bin/python3
export PYTHONPATH=$root/build/release/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
work=$(mktemp -d)
[[ -n ${PARTITA_KEEP:-} ]] && work=$PARTITA_KEEP || trap 'rm -rf "$work"' EXIT
"$python" tests/python/tutorial_lines.py ../shared/tutorials examples/tutorials
PYTHONPATH=$PYTHONPATH:tests/python "$python" tests/python/small_files.py "$work/data"

mkdir "$work/scripts" "$work/bin"
cp examples/tutorials/*.sh examples/tutorials/*.json "$work/scripts"
for script in examples/tutorials/*.py; do
  sed -e 's/= 224$/= 32/; s/epoch_size=10/epoch_size=1/; s/model.train(10,/model.train(2,/; s/batch_size=32,/batch_size=8,/' \
    "$script" >"$work/scripts/$(basename "$script")"
done
# The printed commands run scripts by pytest -s -v.
printf '#!/bin/bash\nexec %s "${@: -1}"\n' "$python" >"$work/bin/pytest"
printf '#!/bin/bash\nexec %s "$@"\n' "$python" >"$work/bin/python3"
chmod +x "$work/bin/pytest" "$work/bin/python3"
export PATH=$work/bin:$PATH
cd "$work/scripts"
cifar=$work/data/cifar mnist=$work/data/mnist

# says COUNT TEXT FILE...: the files have the text so often, also where ranks wrote into one line
says() {
  local count=$1 text=$2 got
  shift 2
  got=$(cat "$@" | { grep -oE -- "$text" || true; } | wc -l)
  [[ $got -eq $count ]] && return
  tail -n 20 "$@"
  echo "got '$text' $got times, expected $count"
  return 1
}
# same_losses FILE RANKS DATA SCRIPT: every rank printed the losses that one process of so many ranks prints
same_losses() {
  local ranks=$2
  mkdir -p "$work/one" && cd "$work/one"
  DEVICE_ID=0 DATA_PATH=$3 PARTITA_RANKS=$ranks "$python" "../scripts/$4" >"$work/threads"
  cd "$work/scripts"
  echo "$4:"
  "$python" "$root/tests/python/compare_losses.py" "$1" "$work/threads" "$ranks"
}

# r0.2: a rank table of its form, one process for each device
DATA_PATH=$cifar bash run_r0_2.sh >"$work/out"
cat device0/log0 device1/log1 >"$work/log"
same_losses "$work/log" 2 "$cifar" resnet50_distributed_training_r0_2.py

# r1.0: a rank table, automatic parallelism, whole checkpoints of every rank; then data parallelism
sed -i 's/10\.\*\.\*\.\*/127.0.0.1/' rank_table_2pcs.json
for mode in AUTO DATA; do
  sed -i "s/ParallelMode\.[A-Z]*_PARALLEL/ParallelMode.${mode}_PARALLEL/" resnet50_distributed_training.py
  (cat run_ascend.sh && echo wait) >launch.sh  # until the rank beside it has ended, too
  bash launch.sh "$cifar" 2 >"$work/out"
  says 1 "training success" "$work/out"
  cat device0/train.log0 device1/train.log1 >"$work/log"
  same_losses "$work/log" 2 "$cifar" resnet50_distributed_training.py
  cmp device0/auto_parallel-1_*.ckpt device1/auto_parallel-1_*.ckpt
done

# r1.7: mpirun, and a hostfile
for script in "run_gpu.sh $cifar" "run_gpu_cluster.sh $cifar hosts"; do
  ranks=8
  [[ $script == *hosts ]] && ranks=16
  sed -i "s/-n $ranks /-n 2 /" "${script%% *}"
  echo "localhost slots=2" >hosts
  sed 's/^\(mpirun .*\) &$/\1/; s/\$HOSTFILE/..\/hosts/' "${script%% *}" >launch.sh  # in the foreground
  DEVICE_ID=0 bash launch.sh $(cut -s -d' ' -f2- <<<"$script") >"$work/out"
  same_losses device/train.log 2 "$cifar" resnet50_distributed_training.py
done
mpirun -n 8 "$python" group_calls.py >"$work/out"
says 8 "rank [0-7] of 8" "$work/out"

# Four ways to save: data parallel, semi-automatic (whole, and parts), hybrid with its merge
mpirun -n 8 "$python" data_parallel_checkpoint.py >"$work/out"
says 8 "epoch: 1 step: 4, loss is" "$work/out"
for rank in {1..7}; do cmp "rank_${rank}_ckpt/data_parallel-1_4.ckpt" rank_0_ckpt/data_parallel-1_4.ckpt; done
rm -r rank_*_ckpt
for script in semi_auto_parallel_checkpoint.py semi_auto_parallel_parts.py; do
  mpirun -n 8 "$python" "$script" >"$work/out"
  says 8 "epoch: 1 step: 4, loss is" "$work/out"
  mkdir -p "$script.out" && mv rank_*_ckpt "$script.out"
done
"$python" "$root/tests/python/compare_parts.py" semi_auto_parallel_checkpoint.py.out semi_auto_parallel_parts.py.out 8
mpirun -n 4 "$python" hybrid_parallel_checkpoint.py >"$work/out"
says 4 "epoch: 1 step: 4, loss is" "$work/out"
"$python" merge_checkpoints.py

# The quick start, with its dump; the case of mixed parallelism, with a log of each rank
bash run_with_mpi.sh
says 8 "epoch: 5 step: 4, loss is" device/train.log
[[ -f device/0/CKP-5_4.ckpt && -f device/7/CKP-5_4.ckpt && -d saved_graph/rank_3 ]]
grep -rqF 'in_strategy: ((2, 4), (4, 1))' saved_graph/rank_0
bash run_multiple_mix.sh "$mnist" >"$work/out"
cat log_output/1/rank.*/stdout >"$work/log"
same_losses "$work/log" 8 "$mnist" multiple_mix.py

# A script that imports the documented system by its name.
sed 's/partita/mindspore/g' quick_start.py >documented.py
"$python" -m partita.msrun --worker_num 8 documented.py >"$work/out"
says 8 "epoch: 5 step: 4, loss is" "$work/out"
