#!/usr/bin/env bash
# The Python package: its tests, ranks as processes against ranks in one process, the scripts of the tutorials at a small
# size, msrun, exit codes, the time of an import.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
package=$root/build/release/python
if [[ ! -d $package ]]; then
  echo "no Python package: configure with -DPARTITA_PYTHON=ON" >&2
  exit 1
fi
python=/usr/bin/python3
export PYTHONPATH=$package:$PWD/tests/python PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
surface=../shared/reference/python_surface.md
[[ -f $surface ]] && export PARTITA_SURFACE=$PWD/$surface

"$python" -m unittest discover -s tests/python

"$python" tests/python/same_as_command.py "$root/build/release/partita" "$work"

# fails CODE TEXT COMMAND...: the command ends with the code and says the text
fails() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" >"$work/out" 2>&1 || got=$?
  if [[ $got -ne $code ]] || ! grep -qF -- "$text" "$work/out"; then
    tail -n 20 "$work/out"
    echo "got exit code $got, expected $code and '$text'"
    return 1
  fi
}
fails 64 "expected as many rows" "$python" -c '
import partita as ms, partita.dataset as ds, numpy as np
ds.NumpySlicesDataset((np.zeros((4, 2), "f4"), np.zeros((4, 3), "f4")), shuffle=False).rows().unbatch()'
fails 79 "is not finite" "$python" tests/python/diverging.py
fails 130 "KeyboardInterrupt" timeout --preserve-status --signal=INT --foreground 2 "$python" tests/python/endless.py

"$python" tests/python/small_files.py "$work/data"
mkdir "$work/scripts"
for script in examples/tutorials/*.py; do  # smaller images, batches and trainings
  sed -e 's/= 224$/= 32/; s/epoch_size=10/epoch_size=1/; s/model.train(10,/model.train(2,/; s/batch_size=32,/batch_size=8,/' \
    "$script" >"$work/scripts/$(basename "$script")"
done
cd "$work/scripts"
export DEVICE_ID=0

# same_losses RANKS DATA SCRIPT: as processes every rank prints the losses that one process of so many ranks prints
same_losses() {
  local ranks=$1
  DATA_PATH=$work/data/$2 mpirun -n "$ranks" "$python" "$3" >"$work/processes" 2>"$work/errors" ||
    { tail -n 20 "$work/errors"; return 1; }
  mkdir -p "$work/one" && cd "$work/one"
  DATA_PATH=$work/data/$2 PARTITA_RANKS=$ranks "$python" "../scripts/$3" >"$work/threads"
  cd "$work/scripts"
  echo "$3: $("$python" "$root/tests/python/compare_losses.py" "$work/processes" "$work/threads" "$ranks")"
}
same_losses 2 cifar resnet50_distributed_training_r0_2.py
same_losses 8 mnist multiple_mix.py
mpirun -n 8 "$python" quick_start.py >"$work/out" 2>"$work/errors" || { tail -n 20 "$work/errors"; exit 1; }
[[ $(grep -c 'epoch: 5 step: 4, loss is' "$work/out") -eq 8 && -f 0/CKP-5_4.ckpt ]]
[[ -d ../saved_graph/rank_3 ]]
mpirun -n 3 "$python" "$root/tests/python/groups.py" >"$work/out" 2>&1 || { tail -n 20 "$work/out"; exit 1; }
[[ $(grep -c 'groups of three processes: ok' "$work/out") -eq 3 ]]
"$python" "$root/tests/python/loops.py" "$work/loops.npy"
mpirun -n 2 "$python" "$root/tests/python/loops.py" "$work/loops.npy" >"$work/out" 2>&1 || { tail -n 20 "$work/out"; exit 1; }
[[ $(grep -o "a loop of one's own: ok" "$work/out" | wc -l) -eq 2 ]]
"$python" "$root/tests/python/operator_parallel.py" "$work/products.npy"
mpirun -n 8 "$python" "$root/tests/python/operator_parallel.py" "$work/products.npy" >"$work/out" 2>&1 ||
  { tail -n 20 "$work/out"; exit 1; }
fails 70 "rank 1: ZeroDivisionError: mine" mpirun -n 3 "$python" "$root/tests/python/failing_rank.py" 1

# A script that imports the documented system by its name.
sed 's/partita/mindspore/g' quick_start.py >documented.py
"$python" -m partita.msrun --worker_num 8 documented.py >"$work/out" 2>"$work/errors" || { tail -n 20 "$work/errors"; exit 1; }
[[ $(grep -c 'epoch: 5 step: 4, loss is' "$work/out") -eq 8 ]]

"$python" - <<'END'
import subprocess, sys, time
seconds = []
for _ in range(3):
    begin = time.time()
    subprocess.run([sys.executable, "-c", "import partita"], check=True)
    seconds.append(time.time() - begin)
print(f"import partita: {min(seconds):.2f} s with the start of Python")
assert min(seconds) < 0.6, seconds
END
