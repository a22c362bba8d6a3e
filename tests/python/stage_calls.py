"""Networks of stages outside of Model.train: stage_calls.py VALUES writes what calls, gradients and updates compute, or
compares it when the file is there. All ranks, which pass the same rows, compute all of it."""

import os
import sys

import numpy as np

import partita as ms
from partita import Tensor, nn
from partita.communication import get_group_size, get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", pipeline_stages=get_group_size())
found = []
for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 3))
    net[2].pipeline_stage = get_group_size() - 1
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    x = Tensor(np.random.default_rng(1).normal(size=(4, 4)).astype("f4"))
    assert np.isfinite(net(x).asnumpy()).all()
    gradients_of = ms.value_and_grad(lambda a, net=net: (net(a) ** 2).mean(), None, optimizer.parameters)
    for _ in range(4):
        loss, gradients = gradients_of(x)
        optimizer(gradients)
        found.append(float(loss))
    found += net[2].weight.asnumpy().ravel().tolist()
if os.path.exists(sys.argv[1]):
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=1e-5, atol=1e-6)
    print("calls of stages: ok", flush=True)
elif get_rank() == 0:
    np.save(sys.argv[1], found)
