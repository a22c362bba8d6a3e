#!/usr/bin/env python3
"""Time of a step whose loss takes the rows of a mask, `x[mask]`: the first with a number of rows, which compiles, and
later ones; the same loss by `ops.select`, which is compiled once. Medians of 12 numbers of rows of 64.

    bench/masked_step.py
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release", "python"))
import numpy as np  # noqa: E402

import partita as ms  # noqa: E402
from partita import Tensor, nn, ops  # noqa: E402

ROWS = 64


def networks():
    """(name, network, shape of a row)."""
    conv = lambda a, b: [nn.Conv2d(a, b, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2)]  # noqa: E731
    lenet = [*conv(1, 6), *conv(6, 16), nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 10)]
    yield "784-512-10", nn.SequentialCell(nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 10)), (784,)
    yield "LeNet", nn.SequentialCell(*lenet), (1, 32, 32)


def by_rows(net):
    return lambda x, y, mask: ops.cross_entropy(net(x)[mask], y[mask])


def by_select(net):
    def loss(x, y, mask):
        losses = ops.cross_entropy(net(x), y, reduction="none")
        return ops.select(mask, losses, ops.zeros_like(losses)).sum() / mask.astype(ms.float32).sum()

    return loss


def main():
    for name, net, shape in networks():
        numbers, parameters = np.random.default_rng(1), net.trainable_params()
        steps = [ms.value_and_grad(way(net), None, parameters) for way in (by_rows, by_select)]
        x = Tensor(numbers.standard_normal((ROWS, *shape)).astype("f4"))
        y = Tensor(numbers.integers(0, 10, ROWS).astype("i4"))
        first, later, selected = [], [], []
        for count in range(ROWS // 4, ROWS // 4 + 13):
            mask = Tensor(numbers.permutation(ROWS) < count)
            for times, step in ((first, steps[0]), (later, steps[0]), (selected, steps[1])):
                begin = time.perf_counter()
                float(step(x, y, mask)[0])
                times.append((time.perf_counter() - begin) * 1e3)
        numbers = [statistics.median(times[1:]) for times in (first, later, selected)]
        print("{}: {:.1f} ms with a new number of rows, {:.1f} later, {:.1f} by select".format(name, *numbers))


if __name__ == "__main__":
    main()
