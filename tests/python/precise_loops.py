"""Loops of one's own in 16 bits among processes: each has its rows, all have nearly the losses of Model and of one
process. precise_loops.py LOSSES: writes them there, or compares them when the file is there."""

import os
import sys

import numpy as np
from test_precision import by_gradients, HALVES, losses_of_model, network

import partita as ms
from partita import nn, Tensor
from partita.communication import get_group_size, get_rank, init
from support import labelled

init()
rank, size = get_rank(), get_group_size()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
x, y = labelled(48)
found = []
for kind in ("", *HALVES):
    losses, parameters = losses_of_model(kind, loss=nn.CrossEntropyLoss())
    net, loss = network(kind), nn.CrossEntropyLoss()
    net.set_train()
    step = ms.jit(by_gradients(net, lambda x, y, net=net, loss=loss: loss(net(x), y)))
    own = []
    for i in range(6):
        first = i % 2 * 24 + rank * (24 // size)
        rows = slice(first, first + 24 // size)
        own.append(float(step(Tensor(x[rows]), Tensor(y[rows]))))
    if size == 1:
        assert own == losses, (kind, own, losses)
    near = {"rtol": 2e-3 if kind else 1e-6, "atol": 1e-3 if kind else 1e-6}  # sums of ranks round either way
    np.testing.assert_allclose(own, losses, **near)
    for one, other in zip(net.trainable_params(), parameters):
        np.testing.assert_allclose(one.asnumpy(), other, **near)
    found.append(own)
assert found[0] != found[1] != found[2]
if size == 1 and not os.path.exists(sys.argv[1]):
    np.save(sys.argv[1], found)
else:
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=5e-3)
    print("loops in 16 bits: ok")
