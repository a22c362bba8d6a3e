#!/usr/bin/env bash
# Layers, ops, optimizers, data pipelines and losses beside those of MindSpore 2.10 on a CPU: compare.sh PYTHON, where
# PYTHON is that of a virtual environment with `pip install mindspore==2.10.0 "numpy<2"`, of the version that the package
# in build/release/python is built for. Run by hand; it takes a minute.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python=${1:?compare.sh PYTHON}
export PYTHONPATH=$PWD/build/release/python:$PWD/tests/python:$PWD/tests/soak/mindspore OMP_NUM_THREADS=1 GLOG_v=3
for part in ops optimizers pipelines networks; do
  "$python" "tests/soak/mindspore/compare_$part.py"
done
