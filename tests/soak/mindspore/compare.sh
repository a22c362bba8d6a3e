#!/usr/bin/env bash
# Layers, ops, optimizers, data pipelines, losses, 3,000 random calls and 300 random trainings beside those of MindSpore
# 2.10 on a CPU: compare.sh PYTHON, where PYTHON is that of a virtual environment with `pip install mindspore==2.10.0 numpy==1.26.4`
# (with NumPy 2 MindSpore fails at random), of the version that the package in build/release/python is built for. Run by
# hand; it takes ten minutes.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python=${1:?compare.sh PYTHON}
"$python" -c 'import numpy; assert numpy.__version__.startswith("1.26."), f"got NumPy {numpy.__version__}, expected 1.26"'
export PYTHONPATH=$PWD/build/release/python:$PWD/tests/python:$PWD/tests/soak/mindspore OMP_NUM_THREADS=1 GLOG_v=3
for part in ops optimizers pipelines networks; do
  "$python" "tests/soak/mindspore/compare_$part.py"
done
MINDSPORE_PYTHON=$python "$python" tests/soak/portions/compare.py  # twelve scripts, unchanged
MINDSPORE_PYTHON=$python tests/mindspore/compare.sh  # files, in both directions
"$python" tests/soak/mindspore/common_names.py  # of which random calls are made
"$python" tests/soak/mindspore/compare_calls.py --seed "${SEED:-1}"
"$python" tests/soak/mindspore/compare_steps.py --seed "${SEED:-1}"
