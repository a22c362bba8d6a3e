"""A training of Python has the bits of the command's on as many ranks: same_as_command.py PARTITA FOLDER."""

import json
import os
import subprocess
import sys

import numpy as np
from support import Losses

import partita as ms
from partita import dataset as ds
from partita import nn

program, folder = sys.argv[1:]
numbers = np.random.default_rng(1)
rows, labels = numbers.random((256, 1, 28, 28), "f4"), numbers.integers(0, 10, 256).astype("i4")
file, log = os.path.join(folder, "rows.npz"), os.path.join(folder, "steps.jsonl")
np.savez(file, x_train=rows, y_train=labels)
options = (
    "--epochs 2 --no-eval --threads 1 --batch 64 --optimizer momentum --lr 0.05 --lr-schedule constant --warmup-steps 0"
)


class Mlp(nn.Cell):
    def __init__(self):
        super().__init__()
        for i, (inputs, outputs) in enumerate(((784, 64), (64, 64), (64, 10)), 1):
            setattr(self, f"fc{i}", nn.Dense(inputs, outputs, weight_init="he_normal", bias_init="zeros"))
            setattr(self, f"relu{i}", nn.ReLU())
        self.flatten = nn.Flatten()

    def construct(self, x):
        x = self.flatten(x)
        x = self.relu1(self.fc1(x))
        x = self.relu2(self.fc2(x))
        return self.fc3(x)


for ranks in (1, 8):
    command = [program, "train", "mlp:hidden=64", "--data", f"npz:{file}", "--ranks", str(ranks), "--log", log]
    subprocess.run([*command, *options.split()], check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        expected = [step["loss"] for step in map(json.loads, lines) if "loss" in step and "step" in step]
    ms.set_context(ranks=ranks, threads=1)
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    net, losses = Mlp(), Losses()
    model = ms.Model(
        net, nn.SoftmaxCrossEntropyWithLogits(True, "mean"), nn.Momentum(net.trainable_params(), 0.05, 0.9)
    )
    model.train(2, ds.NumpySlicesDataset((rows, labels), ["image", "label"]).batch(64), callbacks=[losses])
    assert len(losses.values) == 8 and losses.values == expected[:8], (losses.values, expected)
    print(f"{ranks} ranks: 8 losses have the bits of the command's")
