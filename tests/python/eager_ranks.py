"""Steps of ranks whose Python runs every time: eager_ranks.py VALUES writes what they compute, or compares it when the
file is there. Ranks are processes, or threads of one (PARTITA_RANKS). Each process has its rows; control flow on data
follows the rows of all."""

import os
import sys

import numpy as np
from support import Small, labelled
from test_eager import Noisy, reseeded, ways

import partita as ms
from partita import Parameter, Tensor, nn, ops
from partita import dataset as ds
from partita.communication import get_group_size, get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
ranks, rank = get_group_size(), get_rank()
X, Y = labelled(24)
OWN = 24 if "PARTITA_RANKS" in os.environ else 24 // ranks  # rows of a batch in this process


def made():
    ms.set_seed(3)
    net = Small()
    net.set_train()
    return net, nn.CrossEntropyLoss()


def randomness(net, loss_fn):
    draw = np.random.default_rng(1)
    return lambda x, y: loss_fn(net(x * float(draw.random())), y) * float(draw.random())


def counters(net, loss_fn):
    count = [0]

    def forward(x, y):
        count[0] += 1
        return loss_fn(net(x) * float(count[0]), y) if count[0] % 2 else loss_fn(net(x * 0.5), y)

    return forward


def branches(net, loss_fn):
    def forward(x, y):
        loss = loss_fn(net(x), y)
        return loss * 2.0 if loss > 1.05 else loss * 0.5

    return forward


def loops(net, loss_fn):
    def forward(x, y):
        logits = net(x)
        while float(ops.abs(logits).max()) > 0.5:
            logits = logits * 0.5
        return loss_fn(logits, y)

    return forward


def items(net, loss_fn):
    def forward(x, y):
        logits = net(x)
        scale = 1.0 / float((logits * logits).mean())
        return loss_fn(logits * scale, y)

    return forward


def arrays(net, loss_fn):
    masks = np.random.default_rng(2)
    return lambda x, y: loss_fn(net(x) * Tensor(masks.random((1, 3)).astype("f4")), y)


def skips(net, loss_fn):
    """The layers that a step has depend on what it computes."""

    def forward(x, y):
        logits = net(x)
        if bool((logits.argmax(1) == 0).all()):
            return loss_fn(logits * 2.0, y)
        for _ in range(int(float(ops.abs(logits).sum()) * 10) % 3):
            logits = ops.tanh(logits)
        return loss_fn(logits, y)

    return forward


def clipped(net, loss_fn):
    """A layer is scaled by its norm, and noise of a generator is added while that is small."""
    draw = np.random.default_rng(4)

    def forward(x, y):
        logits = net(x)
        norm = float((logits * logits).sum()) ** 0.5
        logits = logits * (1.0 / max(1.0, norm))
        if norm < 4:
            logits = logits + float(draw.random())
        return loss_fn(logits, y)

    return forward


def assigned(net, loss_fn):
    """Items are assigned where data say."""

    def forward(x, y):
        logits = net(x)
        logits[:, 1] = logits[:, 0] * 0.5 if logits.mean() > 0 else logits[:, 2]
        return loss_fn(logits, y)

    return forward


def values(net, loss_fn):
    """Rows that Python reads are the process's own."""

    def forward(x, y):
        logits = net(x)
        assert logits.asnumpy().shape == (OWN, 3)
        return loss_fn(logits, y)

    return forward


def slices(net, loss_fn):
    """Losses, gradients and Jacobians of single rows."""

    def of_row(x, y):
        return loss_fn(net(ops.expand_dims(x, 0)), ops.expand_dims(y, 0))

    def forward(x, y):
        slopes = ms.vmap(ms.grad(of_row))(x, y)
        jacobians = ms.vmap(ms.jacfwd(lambda a: ops.tanh(net(ops.expand_dims(a, 0)))))(x)
        penalty = (slopes * slopes).sum(1).mean() + (jacobians * jacobians).mean()
        return ms.vmap(of_row)(x, y).mean() + 0.1 * penalty

    return forward


class Own(nn.Cell):
    """Its gradient makes other calls from step to step, reads values, and differentiates a cell like it."""

    def __init__(self, inner=None):
        super().__init__()
        self.__dict__.update(inner=inner, count=0)

    def construct(self, x):
        return x * 1.0

    def bprop(self, x, out, dout):
        self.__dict__["count"] += 1
        if self.inner is not None:
            dout = dout * ms.grad(lambda a: self.inner(a).sum())(x)
        if self.count % 3 == 0:
            return dout * 0.5
        return dout * 0.9 if float((dout * dout).sum()) > 0.02 * (self.count % 2) else dout + x * 0.01


def gradients(net, loss_fn):
    """Gradients of users that change."""
    own = Own(Own())
    return lambda x, y: loss_fn(own(net(x)), y)


found = []
data = ds.NumpySlicesDataset((X, Y), ["x", "y"], shuffle=False, num_shards=ranks, shard_id=rank).batch(24 // ranks)
for way in (randomness, counters, branches, loops, items, arrays, skips, clipped, assigned, values, slices, gradients):
    net, loss_fn = made()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients_of = ms.value_and_grad(way(net, loss_fn), None, optimizer.parameters)
    for x, y in [batch for _ in range(6) for batch in data.create_tuple_iterator(num_epochs=1)]:
        loss, gradients = gradients_of(x, y)
        optimizer(gradients)
        found.append(float(loss))
    found += net.fc1.weight.asnumpy().ravel()[:4].tolist()
cell = Noisy()  # the ways of test_eager.py, whose draws are those of one seed on all ranks
for i, (name, _) in enumerate(ways()):
    if name in ("order", "slice"):  # of rows, which ranks have in another order
        continue
    reseeded(cell)
    cell.weight.set_data(Tensor([1.5, -0.5]))
    step = ways()[i][1]
    optimizer = nn.SGD([cell.weight], 0.01)
    forward = lambda x, step=step: step(cell, x[:, :2] * cell.weight).mean()  # noqa: E731
    gradients_of = ms.value_and_grad(forward, None, [cell.weight])
    for x, _ in [batch for _ in range(5) for batch in data.create_tuple_iterator(num_epochs=1)]:
        loss, gradients = gradients_of(x)
        optimizer(gradients)
        found.append(float(loss))
    found += cell.weight.asnumpy().tolist()
if os.path.exists(sys.argv[1]):
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=2e-5, atol=1e-6)
    print("steps of processes: ok", flush=True)
elif rank == 0:
    np.save(sys.argv[1], found)
if ranks == 1 or "PARTITA_RANKS" in os.environ:
    sys.exit()

# Numbers that differ belong to the rows of a process, and never reach parameters.
weight = Parameter(Tensor(np.ones((1, 2), "f4")), name="weight")
own = np.random.default_rng(rank)
drawn = []


def noisy(x):
    drawn.append(float(own.random()))
    return (x * weight * drawn[-1]).sum()


gradients_of = ms.value_and_grad(noisy, None, [weight])
for _ in range(3):
    _, (gradient,) = gradients_of(Tensor(np.ones((4, 2), "f4")))
    everyone = np.asarray(ms.communication.comm_func.all_gather_into_tensor(Tensor([drawn[-1]]))[0].asnumpy())
    np.testing.assert_allclose(gradient.asnumpy(), np.full((1, 2), 4 * everyone.sum()), rtol=1e-5)


class OwnUpdate(nn.Optimizer):
    def update(self, parameter, gradient, learning_rate, states):
        return parameter - gradient * float(own.random())


optimizer = OwnUpdate(0.1, [weight])
try:
    for _ in range(3):
        optimizer((Tensor(np.ones((1, 2), "f4")),))
except ValueError as error:
    assert "a value that reaches parameters differs between processes at eager_ranks.py:" in str(error), error
    print("own numbers: ok", flush=True)
else:
    raise AssertionError("processes have updated a parameter by different numbers")
