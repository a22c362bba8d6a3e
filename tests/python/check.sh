#!/usr/bin/env bash
# The Python package: its tests, ranks as processes against ranks in one process, exit codes, the time of an import. The
# examples are run by examples.sh, the scripts that published documents print by tutorials.sh.
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
source tests/support/containers.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
surface=../shared/reference/python_surface.md
[[ -f $surface ]] && export PARTITA_SURFACE=$PWD/$surface

"$python" -m unittest discover -s tests/python

"$python" tests/python/same_as_command.py "$root/build/release/partita" "$work"
"$python" tests/planner/same_plans.py "$root/build/release/partita" "$root/build/release/tests/plan_answers" "$work/plans"

# Idle compute threads of a script spin for as long as those of the command.
spins=$(env -u OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose "$python" -c 'import partita' 2>&1 | grep GOMP_SPINCOUNT)
[[ $spins == *"'2000'"* ]] || { echo "Python sets no bound for spinning, got $spins"; exit 1; }

# fails CODE TEXT COMMAND...: the command ends with the code, or any but 0, and says the text
fails() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" >"$work/out" 2>&1 || got=$?
  [[ $code == any && $got -ne 0 ]] && code=$got
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
fails 130 "KeyboardInterrupt" timeout --preserve-status --signal=INT --foreground 5 "$python" tests/python/endless.py

# prints COUNT TEXT COMMAND...: the command succeeds and says the text so often, also where ranks write into one line
prints() {
  local count=$1 text=$2 got
  shift 2
  "$@" >"$work/out" 2>"$work/errors" || { tail -n 20 "$work/out" "$work/errors"; return 1; }
  got=$({ grep -oF -- "$text" "$work/out" || true; } | wc -l)
  if [[ $got -ne $count ]]; then
    tail -n 20 "$work/out" "$work/errors"
    echo "got '$text' $got times, expected $count: $*"
    return 1
  fi
}
cd "$work"
prints 3 "groups of three processes: ok" mpirun -n 3 "$python" "$root/tests/python/groups.py"
prints 3 "mint.distributed: ok" mpirun -n 3 "$python" "$root/tests/python/mint_ranks.py"
prints 3 "collectives of ops: ok" mpirun -n 3 "$python" "$root/tests/python/inner_ranks.py"
"$python" "$root/tests/python/loops.py" "$work/loops.npy"
prints 2 "a loop of one's own: ok" mpirun -n 2 "$python" "$root/tests/python/loops.py" "$work/loops.npy"
"$python" "$root/tests/python/model_steps.py" "$work/model_steps.npz"
prints 2 "steps of Model: ok" mpirun -n 2 "$python" "$root/tests/python/model_steps.py" "$work/model_steps.npz"
"$python" "$root/tests/python/precise_loops.py" "$work/precise.npy"
prints 3 "loops in 16 bits: ok" mpirun -n 3 "$python" "$root/tests/python/precise_loops.py" "$work/precise.npy"
mpirun -n 3 "$python" "$root/tests/python/sharded_loops.py" "$work/sharded.npy" 0
prints 1 "loops over shards: ok" "$python" "$root/tests/python/sharded_loops.py" "$work/sharded.npy" 3
prints 1 "loops over shards: ok" env PARTITA_RANKS=3 "$python" "$root/tests/python/sharded_loops.py" "$work/sharded.npy" 0
"$python" "$root/tests/python/eager_ranks.py" "$work/eager.npy"
prints 1 "steps of processes: ok" env PARTITA_RANKS=4 "$python" "$root/tests/python/eager_ranks.py" "$work/eager.npy"
for ranks in 2 4; do
  prints $ranks "steps of processes: ok" mpirun -n $ranks "$python" "$root/tests/python/eager_ranks.py" "$work/eager.npy"
  prints $ranks "own numbers: ok" mpirun -n $ranks "$python" "$root/tests/python/eager_ranks.py" "$work/eager.npy"
done
"$python" "$root/tests/python/divided_ranks.py" "$work/divided.npy"
prints 4 "parts of batches: ok" mpirun -n 4 "$python" "$root/tests/python/divided_ranks.py" "$work/divided.npy"
"$python" "$root/tests/python/stage_calls.py" "$work/stages.npy"
prints 2 "calls of stages: ok" mpirun -n 2 "$python" "$root/tests/python/stage_calls.py" "$work/stages.npy"
prints 1 "calls of stages: ok" env PARTITA_RANKS=2 "$python" "$root/tests/python/stage_calls.py" "$work/stages.npy"
prints 1 "losses of ranks: ok" "$python" "$root/tests/python/loss_rule.py"
prints 1 "losses of ranks: ok" env PARTITA_RANKS=2 "$python" "$root/tests/python/loss_rule.py"
prints 2 "losses of ranks: ok" mpirun -n 2 "$python" "$root/tests/python/loss_rule.py"
mpirun -n 3 "$python" "$root/tests/python/norm_ranks.py" "$work/norms.npy" 0
prints 1 "norms of ranks: ok" "$python" "$root/tests/python/norm_ranks.py" "$work/norms.npy" 3
for ranks in 1 2 3 4 8; do
  families=("$python" "$root/tests/python/families_of_ranks.py" "$work/families.npy" $ranks)
  [[ $ranks == 1 ]] && "${families[@]}" || prints 1 "families of ranks: ok" "${families[@]}"
done
for kind in ops_differ one_has_more one_needs_a_value later; do
  fails 78 "processes have recorded different steps" timeout 20 mpirun -n 2 "$python" "$root/tests/python/unlike_ranks.py" $kind
done
prints 3 "callbacks of three processes: ok" mpirun -n 3 "$python" "$root/tests/python/reading_ranks.py"
"$python" "$root/tests/python/operator_parallel.py" "$work/products.npy"
prints 0 "Traceback" mpirun -n 8 "$python" "$root/tests/python/operator_parallel.py" "$work/products.npy"
"$python" "$root/tests/python/strategies_of_ranks.py" "$work/strategies.npz"
for ranks in 2 4; do
  prints 1 "strategies on $ranks processes: ok" \
    mpirun -n "$ranks" "$python" "$root/tests/python/strategies_of_ranks.py" "$work/strategies.npz"
done
"$python" "$root/tests/python/layers_of_ranks.py" "$work/layers.npy"
prints 1 "layers on 2 processes: ok" mpirun -n 2 "$python" "$root/tests/python/layers_of_ranks.py" "$work/layers.npy"
fails 78 "values of parameters and constants" mpirun -n 2 "$python" "$root/tests/python/rows_of_ranks.py"
grep -q "rows of two processes: ok" "$work/out"
fails 70 "rank 1: ZeroDivisionError: mine" mpirun -n 3 "$python" "$root/tests/python/failing_rank.py" 1
fails any "ZeroDivisionError: mine" mpirun -n 3 "$python" "$root/tests/python/failing_transform.py" 1
prints 2 "ended by a signal" mpirun -n 2 "$python" "$root/tests/python/request_exit.py" "$work/exit"
prints 2 "parts: ok" mpirun -n 2 "$python" "$root/tests/python/parts.py" "$work/parts"

# The package loads nothing but itself, NumPy and the standard library (bench/python_import.py times it).
"$python" - <<'END'
import subprocess, sys

def loaded(statement):
    printed = subprocess.run([sys.executable, "-c", statement + "; import sys; print(*sorted(sys.modules))"],
                             check=True, capture_output=True, text=True).stdout
    return {name.split(".")[0] for name in printed.split()}

known = loaded("import numpy") | set(sys.stdlib_module_names) | {"partita"}
others = loaded("import partita") - known
assert not others, f"import partita loads {sorted(others)}"
END
