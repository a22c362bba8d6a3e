"""Runs MindSpore's functions and layers on operands of different types of floats: prints tests/python/mixed_types.txt.

make_mixed.py > tests/python/mixed_types.txt, with the Python of an environment that compare.sh describes."""

import mindspore
import mixed_cases
import numpy as np

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)

print("# Element types of results of MindSpore " + mindspore.__version__ + " on a CPU, NumPy " + np.__version__)
print("# function: types of the operands: type of the result, - where it refuses")
for name in mixed_cases.cases(mindspore):
    for types, result in mixed_cases.results(mindspore, name).items():
        print(f"{name}: {types}: {result}", flush=True)
