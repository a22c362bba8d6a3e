"""Trains ResNet-18 at 224 on folders of JPEG files of unlike sizes, which this generates: from Python, and by the
command on the same rows. By hand, with Pillow and the package:

    PYTHONPATH=PACKAGE python3 tests/soak/images.py [--images 2000] [--steps 3] [--batch 16] [--side 224]
        [--command build/release/partita]

The full run takes `--steps 124 --batch 16`, one epoch. Checks that

- all rows of an epoch are the same with any number of workers, and after a new start,
- another epoch has another order and other windows,
- the losses of two trainings with different numbers of workers are equal in every bit, and fall from 20 steps on,
- the command trains on the same decoded images (--command): it reads no JPEG files, so these become `npy:` files first.

Ends with 1 if one of these fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
from PIL import Image

import partita as ms
from partita import dataset as ds
from partita import nn
from partita.dataset import vision

CLASSES = ("beach", "city", "forest", "night")
TINTS = np.array([[70, 40, -40], [0, 0, 0], [-50, 40, -30], [-80, -70, -10]])
MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]


def write_files(folder, count):
    """`count` JPEG files of unlike sizes, whose colours say their classes."""
    numbers = np.random.default_rng(1)
    for name in CLASSES:
        os.mkdir(os.path.join(folder, name))
    for i in range(count):
        height, width = (int(one) for one in numbers.integers(120, 420, 2))
        y, x = np.mgrid[0:height, 0:width]
        waves = [127 + 60 * np.sin(x / a + y / b) for a, b in numbers.uniform(9, 60, (3, 2))]
        picture = np.stack(waves, -1) + TINTS[i % 4] + numbers.normal(0, 8, (height, width, 3))
        file = os.path.join(folder, CLASSES[i % 4], f"{i:05}.jpg")
        Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(file, quality=88)


def rows_of(folder, side, batch, workers):
    """The training rows."""
    ds.config.set_num_parallel_workers(workers)
    steps = [vision.RandomCropDecodeResize(side), vision.RandomHorizontalFlip(), vision.Normalize(MEAN, STD)]
    data = ds.ImageFolderDataset(folder, shuffle=True, num_parallel_workers=workers)
    data = data.map([*steps, vision.HWC2CHW()], "image", num_parallel_workers=workers)
    return data.batch(batch, drop_remainder=True, num_parallel_workers=workers)


class Block(nn.Cell):
    """Two convolutions, added to their input (He et al. 2016)."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.path = nn.SequentialCell(
            nn.Conv2d(inputs, width, 3, stride, pad_mode="same", weight_init="he_normal"),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, pad_mode="same", weight_init="he_normal"),
            nn.BatchNorm2d(width),
        )
        other = nn.Conv2d(inputs, width, 1, stride, pad_mode="same"), nn.BatchNorm2d(width)
        self.skip = nn.Identity() if stride == 1 and inputs == width else nn.SequentialCell(*other)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.path(x) + self.skip(x))


class ResNet18(nn.Cell):
    """ResNet-18 for images of about 224."""

    def __init__(self, classes):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, pad_mode="same", weight_init="he_normal"), nn.BatchNorm2d(64), nn.ReLU()]
        layers.append(nn.MaxPool2d(3, 2, pad_mode="same"))
        inputs = 64
        for width in (64, 128, 256, 512):
            layers += [Block(inputs, width, 1 if width == 64 else 2), Block(width, width, 1)]
            inputs = width
        self.layers, self.dense = nn.SequentialCell(*layers), nn.Dense(512, classes)

    def construct(self, x):
        return self.dense(self.layers(x).mean((2, 3)))


def checksums(data, epochs):
    """A checksum of each batch, one list for each epoch."""
    found = []
    for _ in range(epochs):
        batches = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        found.append([zlib.crc32(image.tobytes() + label.tobytes()) for image, label in batches])
    return found


def losses_of(folder, options, workers):
    """The losses of a training of some steps."""
    ms.set_seed(3)
    network = ResNet18(len(CLASSES))
    rates = nn.Momentum(network.trainable_params(), 0.02, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(True, "mean")), rates)
    step.set_train()
    found, begin = [], time.time()
    data = rows_of(folder, options.side, options.batch, workers)
    while len(found) < options.steps:
        for image, label in data.create_tuple_iterator(num_epochs=1):
            found.append(float(step(image, label).asnumpy()))
            if len(found) == options.steps:
                break
    print(f"{workers} workers: losses {found[0]:.6f} to {found[-1]:.6f}, {time.time() - begin:.1f} s")
    return found


def by_command(folder, options):
    """The last line with a loss of a training of the command on the decoded images."""
    resize = [vision.Decode(), vision.Resize((options.side, options.side))]
    count = options.steps * options.batch
    data = ds.ImageFolderDataset(folder, shuffle=True, num_samples=count).map(resize, "image")
    rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    files = [os.path.join(folder, name) for name in ("images.npy", "labels.npy")]
    np.save(files[0], np.stack([row[0] for row in rows]))
    np.save(files[1], np.array([row[1] for row in rows], np.int32))
    model, batch = f"resnet18:size={options.side}", str(options.batch)
    command = [options.command, "train", model, "--data", "npy:" + ",".join(files), "--batch", batch]
    command += ["--steps", str(options.steps), "--per-print-times", "1", "--no-eval", "--ranks", "1"]
    made = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in made.stdout.splitlines() if "loss" in line]
    if made.returncode or not lines:
        sys.exit(f"the command failed: {made.returncode}\n{made.stdout}\n{made.stderr}")
    return lines[-1]


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("images", 2000), ("steps", 3), ("batch", 16), ("side", 224)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--command", default="")
    options, faults = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, options.images)
        ms.set_seed(3)
        begin = time.time()
        one, many = (checksums(rows_of(folder, options.side, options.batch, workers), 2) for workers in (1, 4))
        seconds = time.time() - begin
        print(f"{4 * len(one[0]) * options.batch} rows read in {seconds:.1f} s, {len(one[0])} batches an epoch")
        if one != many:
            faults.append("rows depend on the number of workers")
        if set(one[0]) & set(one[1]):
            faults.append("epochs have batches in common")
        first, second = (losses_of(folder, options, workers) for workers in (1, 4))
        if first != second:
            faults.append(f"losses depend on the number of workers: {first} and {second}")
        if options.steps >= 20 and not min(first[-5:]) < 0.7 * first[0]:
            faults.append(f"losses do not fall: {first}")
        if options.command:
            print("by the command:", by_command(folder, options))
    print("images:", "; ".join(faults) or "ok")
    sys.exit(bool(faults))


main()
