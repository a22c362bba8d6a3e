"""Steps of processes whose Python runs every time: eager_ranks.py VALUES writes what they compute, or compares it when
the file is there. Each process has its rows; control flow on data follows the rows of all."""

import os
import sys

import numpy as np
from support import Small, labelled

import partita as ms
from partita import Parameter, Tensor, nn, ops
from partita.communication import get_group_size, get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
ranks, rank = get_group_size(), get_rank()
X, Y = labelled(24)
OWN = slice(24 // ranks * rank, 24 // ranks * (rank + 1))


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
    return lambda x, y: loss_fn(net(x) * Tensor(masks.random((24, 3)).astype("f4")), y)


def values(net, loss_fn):
    """Rows that Python reads are the process's own."""

    def forward(x, y):
        logits = net(x)
        assert logits.asnumpy().shape == (24 // ranks, 3)
        return loss_fn(logits, y)

    return forward


found = []
for way in (randomness, counters, branches, loops, items, arrays, values):
    net, loss_fn = made()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients_of = ms.value_and_grad(way(net, loss_fn), None, optimizer.parameters)
    for _ in range(6):
        loss, gradients = gradients_of(Tensor(X[OWN]), Tensor(Y[OWN]))
        optimizer(gradients)
        found.append(float(loss))
    found += net.fc1.weight.asnumpy().ravel()[:4].tolist()
if os.path.exists(sys.argv[1]):
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=2e-5, atol=1e-6)
    print("steps of processes: ok", flush=True)
elif rank == 0:
    np.save(sys.argv[1], found)
if ranks == 1:
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


class Own(nn.Optimizer):
    def update(self, parameter, gradient, learning_rate, states):
        return parameter - gradient * float(own.random())


optimizer = Own(0.1, [weight])
try:
    for _ in range(3):
        optimizer((Tensor(np.ones((1, 2), "f4")),))
except ValueError as error:
    assert "a value that reaches parameters differs between processes at eager_ranks.py:" in str(error), error
    print("own numbers: ok", flush=True)
else:
    raise AssertionError("processes have updated a parameter by different numbers")
