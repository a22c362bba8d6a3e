#!/usr/bin/env python3
"""Processor time that the Python of a step takes, without the program that it runs: LeNet and two dense layers, each
with a loss and Momentum in nn.TrainOneStepCell; a recorded op, alone.

    bench/python_step.py [ROUNDS]    medians of interleaved rounds, microseconds
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release", "python"))
import numpy as np  # noqa: E402

import partita as ms  # noqa: E402
from partita import Tensor, nn, ops  # noqa: E402
from partita._steps import step as steps  # noqa: E402

CALLS = 200  # of a step in a round
OPS = 200  # in a step of ops


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


class Layers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(4, 8), nn.Dense(8, 10)

    def construct(self, x):
        return self.fc2(ops.relu(self.fc1(x)))


def training(net, shape):
    """A step of a training, without arguments."""
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
    x = Tensor(np.random.default_rng(1).normal(size=shape).astype("f4"))
    label = Tensor(np.array([0, 1], "i4"))
    return lambda: step(x, label)


def chain(count):
    """A step of `count` ops, without arguments."""

    def function(x):
        for _ in range(count):
            x = ops.tanh(x)
        return x

    step, x = ms.value_and_grad(function, 0), Tensor([0.5])
    return lambda: step(x)


def leave_programs_out():
    """Makes programs of steps give what they gave before, so that what is left is Python."""
    run = steps._StepProgram.take

    def take(program, step):
        core, program._core = program._core, _Known(program._core)
        try:
            return run(program, step)
        finally:
            program._core = core

    steps._StepProgram.take = take


class _Known:
    """Stands for a program of the library that has run: gives what it gave."""

    arrays = {}

    def __init__(self, core):
        self._core = core

    def __getattr__(self, name):
        return getattr(self._core, name)

    def run(self, inputs):
        if self._core not in self.arrays:
            self.arrays[self._core] = self._core.run(inputs)
        return self.arrays[self._core]


def round_of(step):
    begin = time.process_time()
    for _ in range(CALLS):
        step()
    return (time.process_time() - begin) / CALLS * 1e6


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    cases = {
        "lenet": training(LeNet(), (2, 1, 32, 32)),
        "two layers": training(Layers(), (2, 4)),
        "few ops": chain(2),
        "many ops": chain(2 + OPS),
    }
    for step in cases.values():
        for _ in range(3):
            step()
    leave_programs_out()
    found = {name: [] for name in cases}
    for _ in range(rounds):
        for name, step in cases.items():
            found[name].append(round_of(step))
    medians = {name: statistics.median(times) for name, times in found.items()}
    print(f"a step of LeNet: {medians['lenet']:.1f} us")
    print(f"a step of two dense layers: {medians['two layers']:.1f} us")
    print(f"a recorded op: {(medians['many ops'] - medians['few ops']) / OPS:.2f} us")


if __name__ == "__main__":
    main()
