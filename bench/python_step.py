"""What Python costs: seconds of a step of LeNet, batch 32, as `partita train` runs it and as Model.train does.
usage: PYTHONPATH=build/release/python python3 bench/python_step.py build/release/partita MNIST [STEPS [ROUNDS]]"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import partita as ms
from partita import dataset as ds
from partita import nn, train

program, data = sys.argv[1:3]
steps, rounds = (int(sys.argv[3]) if len(sys.argv) > 3 else 600), (int(sys.argv[4]) if len(sys.argv) > 4 else 3)


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


def by_command(folder):
    log = os.path.join(folder, "steps.jsonl")
    command = [
        program,
        "train",
        "lenet",
        "--data",
        f"mnist:{data}",
        "--batch",
        "32",
        "--steps",
        str(steps),
        "--no-eval",
    ]
    subprocess.run([*command, "--threads", "1", "--log", log], check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        return [line["step_seconds"] for line in map(json.loads, lines) if "step_seconds" in line]


def by_python():
    rows = ds.MnistDataset(data, "train")
    rows = rows.map(
        [ds.vision.Rescale(1 / 255, 0), ds.vision.Normalize((0.1307,), (0.3081,)), ds.vision.HWC2CHW()], "image"
    )
    rows = rows.map(ds.transforms.TypeCast(ms.int32), "label").batch(32)
    net, seconds = LeNet(), Seconds()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    ms.Model(net, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), optimizer).train(1, rows, callbacks=[seconds])
    return seconds.values


ms.set_context(threads=1)
with tempfile.TemporaryDirectory() as folder:
    for _ in range(rounds):
        command, python = (1e6 * statistics.median(one) for one in (by_command(folder), by_python()))
        print(
            f"median of a step: command {command:.1f} us, Python {python:.1f} us, {100 * (python / command - 1):+.1f} %"
        )
