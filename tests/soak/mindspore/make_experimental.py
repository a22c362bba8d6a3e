"""Runs MindSpore's optimizers and schedules of `experimental.optim`: prints the lines of
tests/python/experimental_values.txt.

make_experimental.py > tests/python/experimental_values.txt, with the Python of an environment that compare.sh describes
and tests/python on its path. Each line has a case of experimental_cases.py and its numbers."""

import sys

import experimental_cases
import mindspore
import mindspore.experimental.optim as optim
import numpy as np

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU")
print(f"# Of MindSpore {mindspore.__version__} on a CPU, NumPy {np.__version__}: made by make_experimental.py.")
for names, run in (
    (experimental_cases.OPTIMIZERS, experimental_cases.trained),
    (experimental_cases.SCHEDULES, experimental_cases.scheduled),
):
    for name in names:
        try:
            print(name, *(f"{one:.8g}" for one in run(mindspore, optim, name)))
        except Exception as error:  # of what has no kernel on a CPU
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
