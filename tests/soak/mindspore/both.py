"""Helpers of the comparisons: both systems, equal parameters, differences that are counted and printed."""

import sys

import mindspore
import numpy as np

import partita

SYSTEMS = (mindspore, partita)
mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU")
TOLERANCE = 1e-5


def numbers(*shape, seed=1, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype("f4")


def give_parameters(system, net, seed=7):
    """The same numbers to the parameters of a cell, in their order; none of them is 0, variances are positive."""
    for i, one in enumerate(net.get_parameters()):
        values = numbers(*one.shape, seed=seed + i, low=0.2, high=0.8)
        if "weight" in one.name and len(one.shape) > 1:
            values -= np.float32(0.5)
        one.set_data(system.Tensor(values))


def arrays(made):
    """The arrays of a result of either system, flat."""
    if made is None:
        return []
    if isinstance(made, (tuple, list)):
        return [array for one in made for array in arrays(one)]
    return [made.asnumpy()]


def difference(got, expected):
    """The largest difference of two lists of arrays, relative to the largest number of each."""
    if len(got) != len(expected):
        return float("inf")
    worst = 0.0
    for one, other in zip(got, expected):
        if one.shape != other.shape:
            return float("inf")
        if one.size:
            scale = max(1.0, float(np.abs(other.astype("f8")).max()))
            worst = max(worst, float(np.abs(one.astype("f8") - other.astype("f8")).max()) / scale)
    return worst


class Count:
    """Compares case by case; `finish` prints the sum and ends with 1 when one was not equal."""

    def __init__(self, what, least):
        self.what, self.least, self.good, self.bad, self.worst = what, least, 0, [], 0.0

    def add(self, name, run, tolerance=TOLERANCE):
        """`run(system)` gives arrays."""
        try:
            expected, got = (run(system) for system in SYSTEMS)
            found = difference(got, expected)
        except Exception as error:  # of either system: a case that cannot be compared is one that differs
            self.bad.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:150]}")
            return
        if found <= tolerance:
            self.good += 1
            self.worst = max(self.worst, found)
        else:
            self.bad.append(f"{name}: {found:.2e}")

    def finish(self):
        for line in self.bad:
            print(f"{self.what}: differs: {line}")
        others = f"{len(self.bad)} not; the largest difference {self.worst:.1e}"
        print(f"{self.what}: {self.good} within {TOLERANCE:g}, {others}")
        sys.exit(bool(self.bad) or self.good < self.least)
