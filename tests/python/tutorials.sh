#!/usr/bin/env bash
# The scripts that the documents in ../shared/tutorials print, launched as these say, with smaller images, batches and
# trainings. Where the documents are not there the Python examples run instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
[[ -d ../shared/tutorials ]] || exec bash tests/python/examples.sh
python=/usr/bin/python3
export PYTHONPATH=$root/build/release/python:$root/examples/python
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
# Scripts for GPUs compute on a plugin for CPUs if there is one (tools/xla/get_plugin.sh), else on the CPU with a warning.
[[ -n ${PARTITA_PJRT_PLUGIN:-} ]] && export PARTITA_GPU=xla:cpu
source tests/support/containers.sh
work=$(mktemp -d)
[[ -n ${PARTITA_KEEP:-} ]] && work=$PARTITA_KEEP || trap 'rm -rf "$work"' EXIT
PYTHONPATH=$PYTHONPATH:tests/python "$python" tests/python/small_files.py "$work/data"
"$python" tests/python/printed_scripts.py ../shared/tutorials "$work"
"$python" tests/python/own_lines.py ../shared/tutorials examples README.md docs
smaller='s/= 224$/= 32/; s/epoch_size=10/epoch_size=1/; s/model.train(10,/model.train(2,/; s/batch_size=32,/batch_size=8,/'
sed -i "$smaller" "$work"/*/*.py
# The network that these scripts import is not printed.
printf 'import residual\n\n\ndef resnet50(batch_size, classes):\n    return residual.resnet50(classes)\n' |
  tee "$work"/{r0.2,r1.0,r1.7}/resnet.py >/dev/null

# The printed commands run scripts by pytest -s -v.
mkdir "$work/bin"
printf '#!/bin/bash\nexec %s "${@: -1}"\n' "$python" >"$work/bin/pytest"
chmod +x "$work/bin/pytest"
export PATH=$work/bin:$PATH
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
# same_losses FILE RANKS DATA SCRIPT: every rank printed the losses that one process of so many ranks prints. Where an
# accelerator stands for the GPU, they are those of the CPU, too, within what float32 lets norms of batches differ.
same_losses() {
  local ranks=$2 file script
  file=$(realpath "$1") script=$(realpath "$4")
  mkdir -p "$work/one"
  (cd "$work/one" && DEVICE_ID=0 DATA_PATH=$3 PARTITA_RANKS=$ranks "$python" "$script" >"$work/threads")
  echo "${script#"$work"/}:"
  "$python" "$root/tests/python/compare_losses.py" "$file" "$work/threads" "$ranks"
  [[ -n ${PARTITA_GPU:-} ]] && grep -q '"GPU"' "$script" || return 0
  (cd "$work/one" && DEVICE_ID=0 DATA_PATH=$3 PARTITA_GPU=cpu PARTITA_RANKS=$ranks "$python" "$script" >"$work/threads")
  "$python" "$root/tests/python/compare_losses.py" "$file" "$work/threads" "$ranks" 1e-3
}

# A rank table of the older form, one process for each device.
cd "$work/r0.2"
DATA_PATH=$cifar bash run.sh >"$work/out"
cat device0/log0 device1/log1 >"$work/log"
same_losses "$work/log" 2 "$cifar" resnet50_distributed_training.py

# A rank table of version 1.0, automatic parallelism, whole checkpoints of every rank; then data parallelism.
cd "$work/r1.0"
(cat run.sh && printf '\nwait\n') >launch.sh  # until the rank beside it has ended, too
for mode in AUTO DATA; do
  sed -i "s/ParallelMode\.[A-Z]*_PARALLEL/ParallelMode.${mode}_PARALLEL/" resnet50_distributed_training.py
  bash launch.sh "$cifar" 2 >"$work/out"
  says 1 "training success" "$work/out"
  cat device0/train.log0 device1/train.log1 >"$work/log"
  same_losses "$work/log" 2 "$cifar" resnet50_distributed_training.py
  cmp device0/auto_parallel-1_*.ckpt device1/auto_parallel-1_*.ckpt
done

# mpirun, and a hostfile, on GPUs: "the definition of the network is the same".
cd "$work/r1.7"
sed 's/device_target="Ascend"/device_target="GPU"/; s/^\( *\)init()$/\1init("nccl")/' \
  "$work/r1.0/resnet50_distributed_training.py" >resnet50_distributed_training.py  # with data parallelism
[[ $(grep -cE 'target="GPU"|init\("nccl"\)' resnet50_distributed_training.py) -eq 3 ]]
echo "localhost slots=2" >hosts
for script in "run_gpu.sh $cifar" "run_gpu_cluster.sh $cifar hosts"; do
  ranks=8
  [[ $script == *hosts ]] && ranks=16
  # two ranks, in the foreground
  sed "s/-n $ranks /-n 2 /; s/^\(mpirun .*\) &\$/\1/; s/\\\$HOSTFILE/..\/hosts/" "${script%% *}" >launch.sh
  DEVICE_ID=0 bash launch.sh $(cut -s -d' ' -f2- <<<"$script") >"$work/out"
  same_losses device/train.log 2 "$cifar" resnet50_distributed_training.py
done

# Ways to save: under data parallelism; under semi-automatic parallelism as wholes, and in parts.
cd "$work/r1.0"
mpirun -n 8 "$python" data_parallel.py >"$work/out"
says 8 "epoch: 1 step: 4, loss is" "$work/out"
for rank in {1..7}; do cmp "rank_${rank}_ckpt/data_parallel-1_4.ckpt" rank_0_ckpt/data_parallel-1_4.ckpt; done
rm -r rank_*_ckpt
for script in semi_auto_parallel semi_auto_parallel_parts; do
  mpirun -n 8 "$python" $script.py >"$work/out"
  says 8 "epoch: 1 step: 4, loss is" "$work/out"
  mkdir $script && mv rank_*_ckpt $script
done
"$python" "$root/tests/python/compare_parts.py" semi_auto_parallel semi_auto_parallel_parts 8

# The quick start, with its dump; and as a script that imports the documented system by its name.
mkdir "$work/r2.0/device" && cd "$work/r2.0/device"
mpirun -n 8 "$python" ../quick_start.py >train.log 2>&1
says 8 "epoch: 5 step: 4, loss is" train.log
[[ -f 0/CKP-5_4.ckpt && -f 7/CKP-5_4.ckpt && -d ../saved_graph/rank_3 ]]
grep -rqF 'in_strategy: ((2, 4), (4, 1))' ../saved_graph/rank_0
sed 's/partita/mindspore/g' ../quick_start.py >../documented.py
"$python" -m partita.msrun --worker_num 8 ../documented.py >"$work/out"
says 8 "epoch: 5 step: 4, loss is" "$work/out"

# Several kinds of parallelism at once, with a log of each rank.
cd "$work/mix"
export DATA_PATH=$mnist
mpirun -n 8 --output-filename log_output --merge-stderr-to-stdout "$python" multiple_mix.py >"$work/out"
cat log_output/1/rank.*/stdout >"$work/log"
same_losses "$work/log" 8 "$mnist" multiple_mix.py
