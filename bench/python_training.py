"""The cost of Python: a step as `partita train` runs it and as Model.train does, with a callback, on one thread.
usage: PYTHONPATH=build/release/python python3 bench/python_training.py build/release/partita [NETWORK [STEPS [ROUNDS]]]
NETWORK: lenet (batch 32, 28x28) or resnet50 (batch 8, 32x32). Trainings of STEPS and of three times as many run in
turns, each in a process; a step is what these differ by, of the time and of the processor, which other jobs of the
machine change less. Prints this for each round, and from the least of all rounds."""

import os
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
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "python"))


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
    from residual import resnet50

    return resnet50()


class Ends(train.Callback):
    """Sees every step, and ends the training."""

    def __init__(self, count):
        self.count = count

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num >= self.count:
            run_context.request_stop()


def by_command(folder, count):
    model = {"lenet": "lenet", "resnet50": "resnet50:classes=10,size=32"}[network]
    command = [program, "train", model, "--data", f"npz:{folder}/rows.npz", "--batch", str(batch)]
    command += ["--steps", str(count), "--epochs", "1000000", "--optimizer", "momentum"]
    return [*command, "--no-eval", "--threads", "1"]


def by_python(folder, count):
    return [sys.executable, os.path.abspath(__file__), program, network, str(count), "0"]


def train_in_python():
    rows = ds.NumpySlicesDataset((IMAGES, LABELS), ["image", "label"]).batch(batch)
    net = made()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    model = ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), optimizer)
    model.train(1000000, rows, callbacks=[Ends(steps)])


def seconds_of(command):
    """(of the clock, of a processor) that a process takes."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


counts, ways = (steps, 3 * steps), (by_command, by_python)


def tell(name, taken):
    for k, kind in enumerate(("step", "processor")):
        command, python = (1e6 * (taken[way, counts[1]][k] - taken[way, counts[0]][k]) / (2 * steps) for way in ways)
        more = f"{100 * (python / command - 1):+.1f} %"
        print(f"{network}, {name}: {kind}: command {command:.1f} us, Python {python:.1f} us, {more}", flush=True)


ms.set_context(threads=1)
if rounds == 0:
    train_in_python()
    sys.exit()
least = {}
with tempfile.TemporaryDirectory() as folder:
    np.savez(os.path.join(folder, "rows.npz"), x_train=IMAGES, y_train=LABELS)
    for i in range(rounds):
        found = {}
        for count in counts:
            for way in ways if i % 2 == 0 else reversed(ways):
                one = found[way, count] = seconds_of(way(folder, count))
                least[way, count] = tuple(map(min, least.get((way, count), one), one))
        tell(f"round {i + 1}", found)
tell("least", least)
