"""Runs MindSpore's operations on operands of all pairs of element types: prints tests/python/promoted_types.txt.

make_promotion.py > tests/python/promoted_types.txt, with the Python of an environment that compare.sh describes."""

import mindspore
import numpy as np
import promotion_cases

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)

print("# Element types of results of MindSpore " + mindspore.__version__ + " on a CPU, NumPy " + np.__version__)
print("# operation, kind of the other operand, type of the tensor, then the result with each other operand;")
print("# - where it refuses")
for name, kind, dtype in promotion_cases.rows():
    print(name, kind, dtype, *promotion_cases.results(mindspore, name, kind, dtype), flush=True)
