"""Networks, optimizers and batches that MindSpore and this package make alike, from the same lines."""

import numpy as np


def networks(ms):
    """{name: (network, shape of a row, number of outputs)}."""
    nn = ms.nn

    class Branches(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(5, 6), nn.Dense(5, 6, has_bias=False)
            self.norm, self.out = nn.LayerNorm((6,)), nn.Dense(6, 3)

        def construct(self, x):
            return self.out(self.norm(self.first(x) + self.second(x)))

    class Named(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scale = ms.Parameter(ms.Tensor(np.full((4,), 0.5, "f4")), name="scale_of_rows")
            self.out = nn.Dense(4, 2)

        def construct(self, x):
            return self.out(x * self.scale)

    convolution = [nn.Conv2d(1, 2, 3, pad_mode="same"), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dense(32, 3)]
    return {
        "dense": (nn.SequentialCell(nn.Dense(3, 2)), (3,), 2),
        "deep": (nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 8), nn.Sigmoid(), nn.Dense(8, 2)), (4,), 2),
        "norms": (nn.SequentialCell(nn.Dense(4, 6), nn.BatchNorm1d(6), nn.Dense(6, 2)), (4,), 2),
        "convolution": (nn.SequentialCell(*convolution), (1, 4, 4), 3),
        "branches": (Branches(), (5,), 3),
        "named": (Named(), (4,), 2),
    }


def optimizers(ms):
    """{name: a function of the parameters of a network}."""
    nn = ms.nn
    return {
        "momentum": lambda p: nn.Momentum(p, 0.05, 0.9),
        "decayed": lambda p: nn.Momentum(p, 0.05, 0.9, weight_decay=0.01),
        "plain": lambda p: nn.SGD(p, 0.05),
        "sgd": lambda p: nn.SGD(p, 0.05, momentum=0.9, dampening=0.1),
        "adam": lambda p: nn.Adam(p, 0.01),
        "decay": lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.01),
        "rmsprop": lambda p: nn.RMSProp(p, 0.01, momentum=0.5),
        "centered": lambda p: nn.RMSProp(p, 0.01, centered=True),
        "adagrad": lambda p: nn.Adagrad(p, learning_rate=0.05),
        "adamax": lambda p: nn.AdaMax(p, 0.01),
        "adadelta": lambda p: nn.Adadelta(p, 0.5),
        "scheduled": lambda p: nn.Momentum(p, [0.05 / (i + 1) for i in range(20)], 0.9),
    }


def batch(row, outputs, step):
    """Rows and labels of a step, which only depend on their shapes."""
    x = np.sin(np.arange(8 * int(np.prod(row)), dtype="f8") * (step + 1) * 0.7).reshape(8, *row)
    y = np.cos(np.arange(8 * outputs, dtype="f8") * (step + 2) * 0.3).reshape(8, outputs)
    return x.astype("f4"), y.astype("f4")


def training(ms, name, optimizer):
    """(cell that trains, a function that trains steps and gives their losses)."""
    network, row, outputs = networks(ms)[name]
    for number, one in enumerate(network.trainable_params()):
        values = np.sin(np.arange(one.size, dtype="f8") + number).reshape(one.shape) * 0.4
        one.set_data(ms.Tensor(values.astype("f4")))
    updates = optimizers(ms)[optimizer](network.trainable_params())
    cell = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(network, ms.nn.MSELoss()), updates)
    cell.set_train()

    def train(first, steps):
        batches = [batch(row, outputs, step) for step in range(first, first + steps)]
        return [float(cell(ms.Tensor(x), ms.Tensor(y)).asnumpy()) for x, y in batches]

    return cell, train
