#!/usr/bin/env python3
"""Milliseconds of gradients of slices and of Jacobians, by Partita, or by MindSpore with its Python.

    PYTHONPATH=build/release/python python3 -m partita.msrun bench/jacobians.py    the minimum of 9 calls, and the first
    PYTHON_WITH_MINDSPORE bench/jacobians.py
"""
import time

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

draw = np.random.default_rng(1)


def measured(name, call):
    """Prints the time of the first call, and the minimum of those after it."""
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        found = call()
        for one in found if isinstance(found, (tuple, list)) else [found]:
            one.asnumpy()
        times.append((time.perf_counter() - begin) * 1e3)
    print(f"{name:52} {min(times[1:]):9.2f} {times[0]:9.1f}", flush=True)


def main():
    net = nn.SequentialCell(nn.Dense(64, 128), nn.Tanh(), nn.Dense(128, 10))
    rows = Tensor(draw.standard_normal((256, 1, 64)).astype("f4"))
    few = Tensor(draw.standard_normal((8, 64)).astype("f4"))
    first, second = (Tensor(draw.standard_normal(shape).astype("f4")) for shape in ((64, 128), (128, 10)))

    def loss(x):
        return ops.square(ops.matmul(ops.tanh(ops.matmul(x, first)), second)).sum()

    gradient = ms.grad(loss)
    whole = ops.vmap(gradient)
    measured("256 gradients by inputs of 64-128-10, vmap", lambda: whole(rows))
    measured("the same in a loop", lambda: [gradient(rows[i]) for i in range(256)])
    reverse, forward = ms.jacrev(net), ms.jacfwd(net)
    measured("80 results by 512 inputs, jacrev", lambda: reverse(few))
    measured("80 results by 512 inputs, jacfwd", lambda: forward(few))


if __name__ == "__main__":
    main()
