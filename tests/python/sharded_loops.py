"""Loops of one's own over sharded data: sharded_loops.py VALUES RANKS writes what ten kinds of them compute, or
compares it when the file is there; RANKS are threads of this process (0: those of PARTITA_RANKS, or processes)."""

import os
import sys

import numpy as np
from support import Small, labelled

import partita as ms
from partita import Tensor, nn
from partita import dataset as ds
from partita.communication import get_group_size, get_rank, init

if int(sys.argv[2]):
    ms.set_context(ranks=int(sys.argv[2]))
init()
SHARDS = {"num_shards": get_group_size(), "shard_id": get_rank()}
SHARE = 48 // get_group_size() // 4  # rows of a rank in each of four batches
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
X, Y = labelled(48)


def rows(shuffle=False, batch=SHARE):
    data = ds.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=shuffle, **SHARDS)
    return data.batch(batch) if batch else data


def made(factor):
    """A data set that gives batches itself."""

    class Source:
        def __len__(self):
            return 12

        def __getitem__(self, i):
            return X[4 * i : 4 * i + 4] * np.float32(factor), Y[4 * i : 4 * i + 4]

    return ds.GeneratorDataset(Source(), ["data", "label"], shuffle=False, **SHARDS)


class Trained:
    """A network, and steps of it."""

    def __init__(self, optimizer=lambda p: nn.Momentum(p, 0.1, 0.9)):
        ms.set_seed(3)
        self.net, self.loss_fn = Small(), nn.CrossEntropyLoss()
        self.net.set_train()
        self.optimizer = optimizer(self.net.trainable_params())
        forward = lambda x, y: self.loss_fn(self.net(x), y)  # noqa: E731
        self.grad_fn = ms.value_and_grad(forward, None, self.optimizer.parameters)
        self.cell = nn.TrainOneStepCell(nn.WithLossCell(self.net, self.loss_fn), self.optimizer)
        self.jitted = ms.jit(self.step)

    def step(self, data, label):
        loss, gradients = self.grad_fn(data, label)
        self.optimizer(gradients)
        return loss


def direct(trained):
    return [trained.step(data, label) for data, label in rows()]


def tuples(trained):
    return [trained.jitted(data, label) for data, label in rows(True).create_tuple_iterator(num_epochs=1)]


def dicts(trained):
    data = rows().create_dict_iterator(num_epochs=2)
    return [trained.cell(one["data"], one["label"]) for _ in range(2) for one in data]


def arrays(trained):
    batches = rows().create_tuple_iterator(output_numpy=True)
    return [trained.step(Tensor(data), Tensor(label)) for data, label in batches]


def counted(trained):
    data = rows()
    batches = data.create_tuple_iterator()
    return [trained.step(*batches.get_next()) for _ in range(data.get_dataset_size())] + [len(data)]


def mapped(trained):
    data = rows(True, None).map(lambda x: x * np.float32(2), "data").repeat(2).batch(SHARE).skip(1).take(5)
    return [trained.jitted(x, y) for x, y in data]


def zipped(trained):
    shards = [ds.NumpySlicesDataset(one, [name], shuffle=False, **SHARDS) for one, name in ((X, "a"), (Y, "b"))]
    return [trained.cell(x, y) for x, y in ds.zip(tuple(shards)).batch(SHARE, drop_remainder=True)]


def of_batches(trained):
    return [trained.step(x, y) for x, y in made(1.0) + made(0.5)]


def uneven(trained):
    return [trained.step(x, y) for x, y in rows(batch=SHARE - 1)]


def evaluated(trained):
    measured = ms.jit(lambda x, y: trained.loss_fn(trained.net(x), y))
    return [measured(x, y) for x, y in rows()]


found = []
for loop in (direct, tuples, dicts, arrays, counted, mapped, zipped, of_batches, uneven, evaluated):
    trained = Trained()
    found += [float(one) for one in loop(trained)] + trained.net.fc1.weight.asnumpy().ravel()[:3].tolist()
if os.path.exists(sys.argv[1]):
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=2e-5, atol=1e-6)
    print("loops over shards: ok", flush=True)
elif get_rank() == 0:
    np.save(sys.argv[1], found)
