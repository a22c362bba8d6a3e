"""Processes whose steps differ: unlike_ranks.py KIND, one of those below. They end with both lines."""

import sys

import numpy as np

import partita as ms
from partita import Parameter, Tensor, ops
from partita.communication import get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
weight = Parameter(Tensor(np.ones((1, 2), "f4")), name="weight")


def ops_differ(x):
    y = x * weight
    if get_rank() == 0:
        return ops.tanh(y).sum()
    return ops.sigmoid(y).sum()


def one_has_more(x):
    y = x * weight
    if get_rank() == 1:
        y = y + 1.0
    return y.sum()


def one_needs_a_value(x):
    y = (x * weight).sum()
    if get_rank() == 0:
        print(float(y))
    return y


def later(x):
    later.steps += 1
    if later.steps == 3 and get_rank() == 1:
        x = x * x
    return (x * weight).sum()


later.steps = 0
step = ms.value_and_grad(globals()[sys.argv[1]], None, [weight])
for _ in range(4):
    step(Tensor(np.ones((3, 2), "f4")))
print("no process noticed", flush=True)
