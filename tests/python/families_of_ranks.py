"""Networks of each family of layers in float64, trained over the same rows: families_of_ranks.py VALUES RANKS writes
what they compute, or compares it within 1e-9 when the file is there. RANKS are threads of this process. A plan is
searched for each number of ranks, so rows, weights and images are cut as it says."""

import os
import sys

import numpy as np
from support import labelled

import partita as ms
from partita import Tensor, nn, ops
from partita.communication import init

RANKS = int(sys.argv[2])
ms.set_context(ranks=RANKS)
init()
ms.set_auto_parallel_context(parallel_mode="auto_parallel", full_batch=True)
X, Y = labelled(24)
X = X.astype("f8")
IMAGES = np.random.default_rng(5).standard_normal((24, 3, 6, 6))
F8 = ms.float64


class Recurrent(nn.Cell):
    """Layers of steps, in both directions, of every kind."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 4, num_layers=2, bidirectional=True, batch_first=True, dtype=F8)
        self.gru, self.rnn = nn.GRU(8, 4, batch_first=True, dtype=F8), nn.RNN(4, 4, batch_first=True, dtype=F8)
        self.head = nn.Dense(4, 3, dtype=F8)

    def construct(self, x):
        y = ops.reshape(x, (-1, 3, 2))
        for layer in (self.lstm, self.gru, self.rnn):
            y, _ = layer(y)
        return self.head(y[:, -1])


class Special(nn.Cell):
    """Functions of angles, hyperbolic and special functions."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Dense(6, 12, dtype=F8), nn.Dense(12, 3, dtype=F8)

    def construct(self, x):
        y = self.first(x)
        unit = ops.tanh(y) * 0.9
        y = ops.sin(y) + ops.cos(y) * ops.atan(y) + ops.asin(unit) * ops.acos(unit) + ops.atanh(unit)
        y = y + ops.erfinv(unit) + ops.erfc(y) + ops.asinh(y) + ops.acosh(ops.exp(unit) + 1) + ops.expm1(unit)
        y = y + ops.lgamma(ops.exp(unit)) + ops.digamma(ops.exp(unit)) + ops.log1p(ops.exp(unit))
        return self.head(ops.atan2(y, ops.cosh(unit)) + ops.tan(unit) + ops.sinh(unit))


class Transposed(nn.Cell):
    """Convolutions, transposed ones, and those of lines and of volumes."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, dtype=F8)
        self.transposed = nn.Conv2dTranspose(4, 4, 3, stride=2, dtype=F8)
        self.lines, self.volumes = nn.Conv1d(4, 4, 3, dtype=F8), nn.Conv3d(2, 2, 3, dtype=F8)
        self.head = nn.Dense(48, 3, dtype=F8)

    def construct(self, x):
        y = ops.relu(self.transposed(self.convolution(x)))
        y = ops.reshape(y, (-1, 4, 144))[:, :, :48]
        y = ops.reshape(ops.tanh(self.lines(y)), (-1, 2, 2, 6, 8))
        return self.head(ops.reshape(self.volumes(y), (-1, 192))[:, ::4])


FAMILIES = {
    "recurrent": (Recurrent, X),
    "special": (Special, X),
    "transposed": (Transposed, IMAGES),
}


def trained(kind, rows):
    """The losses of three steps and the sum of squares of each parameter after them."""
    ms.set_seed(7)
    net = kind()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    step.set_train()
    losses = [float(step(Tensor(rows), Tensor(Y)).asnumpy()) for _ in range(3)]
    return [*losses, *(float(np.square(one.asnumpy()).sum()) for one in net.trainable_params())]


found = np.concatenate([trained(*one) for one in FAMILIES.values()])
if os.path.exists(sys.argv[1]):
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=1e-9, atol=1e-9)
    print("families of ranks: ok", flush=True)
else:
    np.save(sys.argv[1], found)
