"""Batch norms in loops of one's own: norm_ranks.py VALUES RANKS writes what loops and Model.train compute, or compares
it when the file is there. RANKS are threads of this process, 0 processes. By default each rank has statistics of its
rows; with batch_norm="global" all have those of one rank."""

import os
import sys

import numpy as np
from support import labelled

import partita as ms
from partita import Tensor, nn, train
from partita import dataset as ds
from partita.communication import get_group_size, get_rank, init

if int(sys.argv[2]):
    ms.set_context(ranks=int(sys.argv[2]))
init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
SHARDS = {"num_shards": get_group_size(), "shard_id": get_rank()}
X, Y = labelled(48)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Dense(6, 8), nn.BatchNorm1d(8), nn.Dense(8, 3)

    def construct(self, x):
        return self.fc2(ms.ops.relu(self.norm(self.fc1(x))))


def rows():
    data = ds.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=False, **SHARDS)
    return data.batch(12 // get_group_size())


def made(kind):
    ms.set_context(batch_norm=kind)
    ms.set_seed(3)
    net = Net()
    net.set_train()
    return net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)


def seen(net):
    return [*net.norm.moving_mean.asnumpy()[:3], *net.norm.moving_variance.asnumpy()[:3], *net.fc1.weight.asnumpy()[0]]


def loop(kind):
    net, loss_fn, optimizer = made(kind)
    gradients_of = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    for x, y in rows():
        _, gradients = gradients_of(x, y)
        optimizer(gradients)
    return seen(net)


def cell(kind):
    net, loss_fn, optimizer = made(kind)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), optimizer)
    for x, y in rows():
        step(x, y)
    return seen(net)


def jitted(kind):
    net, loss_fn, optimizer = made(kind)
    gradients_of = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        loss, gradients = gradients_of(x, y)
        optimizer(gradients)
        return loss

    for x, y in rows():
        step(x, y)
    return seen(net)


def model(kind):
    net, loss_fn, optimizer = made(kind)
    train.Model(net, loss_fn, optimizer).train(1, rows())
    return seen(net)


ways = (loop, cell, jitted, model)
local, whole = [way("") for way in ways], [way("global") for way in ways]
for one in local[1:]:
    np.testing.assert_allclose(one, local[0], rtol=1e-5, atol=1e-6)
for one in whole[1:]:
    np.testing.assert_allclose(one, whole[0], rtol=1e-5, atol=1e-6)
assert not np.allclose(local[0], whole[0], rtol=1e-4)
if os.path.exists(sys.argv[1]):
    np.testing.assert_allclose([local[0], whole[0]], np.load(sys.argv[1]), rtol=2e-5, atol=1e-6)
    print("norms of ranks: ok", flush=True)
elif get_rank() == 0:
    np.save(sys.argv[1], [local[0], whole[0]])
