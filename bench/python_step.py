"""What Python costs: seconds of a step as `partita train` runs it and as Model.train does, in turns, one thread.
usage: PYTHONPATH=build/release/python python3 bench/python_step.py build/release/partita [NETWORK [STEPS [ROUNDS]]]
NETWORK: lenet (batch 32, 28x28) or resnet50 (batch 8, 32x32). Prints the medians of each round, and of all; then what a
step takes of a processor, which other jobs of the machine change less."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import partita as ms
from partita import dataset as ds
from partita import nn, train

program = sys.argv[1]
network = sys.argv[2] if len(sys.argv) > 2 else "lenet"
if network not in ("lenet", "resnet50"):
    sys.exit(f"unknown network, got {network}, expected lenet or resnet50")
steps = int(sys.argv[3]) if len(sys.argv) > 3 else {"lenet": 600, "resnet50": 12}[network]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
batch, shape = {"lenet": (32, (1, 28, 28)), "resnet50": (8, (3, 32, 32))}[network]
numbers = np.random.default_rng(1)
IMAGES = numbers.random((batch * min(steps, 64), *shape), "f4")
LABELS = numbers.integers(0, 10, len(IMAGES)).astype("i4")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "tutorials"))


class LeNet(nn.Cell):
    """The network of `partita graph lenet`."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, has_bias=True), nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def made():
    if network == "lenet":
        return LeNet()
    from resnet import resnet50

    return resnet50()


class Seconds(train.Callback):
    """From the end of each step to that of the next, callbacks and all, until so many were taken."""

    def __init__(self):
        self.values, self.last = [], None

    def on_train_step_end(self, run_context):
        now = time.perf_counter()
        if self.last is not None:
            self.values.append(now - self.last)
        self.last = now
        if run_context.original_args().cur_step_num >= steps:
            run_context.request_stop()


def command_of(folder, log, count):
    data = os.path.join(folder, "rows.npz")
    np.savez(data, x_train=IMAGES, y_train=LABELS)
    model = {"lenet": "lenet", "resnet50": "resnet50:classes=10,size=32"}[network]
    command = [program, "train", model, "--data", f"npz:{data}", "--batch", str(batch), "--steps", str(count)]
    return [*command, "--epochs", "1000", "--optimizer", "momentum", "--no-eval", "--threads", "1", "--log", log]


def by_command(folder):
    log = os.path.join(folder, "steps.jsonl")
    subprocess.run(command_of(folder, log, steps), check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        return [line["step_seconds"] for line in map(json.loads, lines) if "step_seconds" in line]


def by_python():
    rows = ds.NumpySlicesDataset((IMAGES, LABELS), ["image", "label"]).batch(batch)
    net, seconds = made(), Seconds()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    model = ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), optimizer)
    model.train(1000, rows, callbacks=[seconds])
    return seconds.values


def processor_seconds(command):
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def processor_seconds_of_a_step(command_of_steps):
    """From trainings of `steps` and of three times as many, so that the start does not count; the least of rounds."""
    counts = (steps, 3 * steps)
    least = [min(processor_seconds(command_of_steps(count)) for _ in range(rounds)) for count in counts]
    return (least[1] - least[0]) / (counts[1] - counts[0])


ms.set_context(threads=1)
if rounds == 0:  # one training, for the processor seconds of its process
    by_python()
    sys.exit()
commands, pythons = [], []
with tempfile.TemporaryDirectory() as folder:
    for i in range(rounds):
        ways = [(commands, lambda: by_command(folder)), (pythons, by_python)]
        for values, run in ways if i % 2 == 0 else reversed(ways):
            values.append(1e6 * statistics.median(run()))
        print(f"median of a step: command {commands[-1]:.1f} us, Python {pythons[-1]:.1f} us", flush=True)
    here = [sys.executable, os.path.abspath(__file__), program, network]
    processor = [1e6 * processor_seconds_of_a_step(of) for of in (
        lambda count: command_of(folder, os.path.join(folder, "steps.jsonl"), count),
        lambda count: [*here, str(count), "0"],
    )]  # fmt: skip
command, python = statistics.median(commands), statistics.median(pythons)
more = 100 * (python / command - 1)
print(f"{network}: of {rounds} rounds: command {command:.1f} us, Python {python:.1f} us, {more:+.1f} %")
more = 100 * (processor[1] / processor[0] - 1)
print(f"{network}: of a processor: command {processor[0]:.1f} us, Python {processor[1]:.1f} us, {more:+.1f} %")
