"""Runs MindSpore's optimizers on gradients of every size: prints the lines of tests/python/optimizer_values.txt.

make_optimizers.py > tests/python/optimizer_values.txt, with the Python of an environment that compare.sh describes.
Each line has a case of tests/python/optimizer_cases.py and the parameter after 3 and 10 steps."""

import mindspore
import numpy as np
import optimizer_cases

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU")

print("# Parameters after 3 and 10 steps of MindSpore " + mindspore.__version__ + " on a CPU, NumPy " + np.__version__)
for name in optimizer_cases.cases():
    values = optimizer_cases.trained(mindspore, name)
    print(name, *(f"{one:.9g}" for one in np.concatenate(values)))
