"""Trains two layers by the optimizers of mindcv: `optimize_mindcv.py VALUES` prints the losses of five steps and writes
them to a file or, when it is there, compares them with it. Rates are one number, or one for each step."""

import os
import sys

import numpy as np

import mindspore as ms
from mindspore import nn
from mindcv.optim import create_optimizer

NAMES = ("sgd", "momentum", "adam", "adamw", "lion", "rmsprop", "adagrad", "nadam", "adan")
RATES = (0.01, [0.01, 0.02, 0.03, 0.01, 0.02])


def losses(name, rate):
    rows = np.random.default_rng(0)
    x, y = (ms.Tensor(rows.standard_normal((8, n)).astype(np.float32)) for n in (6, 3))
    network = nn.SequentialCell(nn.Dense(6, 5), nn.Tanh(), nn.Dense(5, 3))
    for parameter in network.get_parameters():
        parameter.set_data(ms.Tensor(rows.standard_normal(parameter.shape).astype(np.float32)))
    optimizer = create_optimizer(network.trainable_params(), opt=name, lr=rate, weight_decay=0.01, momentum=0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
    return [float(step(x, y).asnumpy()) for _ in range(5)]


def main():
    found = {}
    for name in NAMES:
        for rate in RATES:
            made = losses(name, rate)
            key = f"{name}, {'a rate' if isinstance(rate, float) else 'rates'}"
            print(key, ", ".join(f"{one:.6f}" for one in made), flush=True)
            found[key] = made
    if not os.path.exists(sys.argv[1]):
        np.savez(sys.argv[1], **found)
        return
    known = np.load(sys.argv[1])
    largest = max(np.abs(np.array(made) / known[key] - 1).max() for key, made in found.items())
    print(f"largest difference: {largest:.1e}")
    assert largest < 1e-5


if __name__ == "__main__":
    main()
