#!/usr/bin/env python3
"""Images per second and core: JPEG files, decoded, a random window of 224 x 224, flipped, normalized, channels first.

    PYTHONPATH=PACKAGE bench/image_rows.py [COUNT=300] [ROUNDS=5]

Compares this library with MindSpore and torchvision, if these can be imported, and with Pillow and NumPy alone, on the
same generated files, which are read in turns in one run. A core second is one of the process, all its threads together.
Prints the median of the rounds and the ratios to the others. Needs Pillow.
"""

import contextlib
import importlib
import os
import statistics
import sys
import tempfile
import time

import numpy as np
from PIL import Image

MEAN, STD = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]


def write_files(folder, count):
    """Pictures of waves and noise, 375 x 500 and around, as those of ImageNet are."""
    numbers = np.random.default_rng(1)
    os.mkdir(os.path.join(folder, "class"))
    for i in range(count):
        height, width = (int(one) for one in numbers.integers((300, 400), (460, 600)))
        y, x = np.mgrid[0:height, 0:width]
        waves = [127 + 90 * np.sin(x / a + y / b) for a, b in numbers.uniform(9, 60, (3, 2))]
        picture = np.clip(np.stack(waves, -1) + numbers.normal(0, 8, (height, width, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(os.path.join(folder, "class", f"{i}.jpg"), quality=90)


def library(name, folder, fused):
    """A function that reads all files once by a library of data sets."""
    ds = importlib.import_module(f"{name}.dataset")
    vision = importlib.import_module(f"{name}.dataset.vision")
    first = [vision.RandomCropDecodeResize(224)] if fused else [vision.Decode(), vision.RandomResizedCrop(224)]
    steps = [*first, vision.RandomHorizontalFlip(0.5), vision.Normalize(MEAN, STD), vision.HWC2CHW()]
    data = ds.ImageFolderDataset(folder, shuffle=False, num_parallel_workers=1)
    data = data.map(steps, "image", num_parallel_workers=1).batch(32)

    def read():
        return sum(len(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True))

    return read


def by_pillow(folder):
    """A function that reads all files once with Pillow and NumPy."""
    files = [os.path.join(folder, "class", one) for one in os.listdir(os.path.join(folder, "class"))]
    numbers = np.random.default_rng(2)

    def read():
        for file in files:
            with Image.open(file) as image:
                image = image.convert("RGB")
            width, height = image.size
            side = int(min(width, height) * numbers.uniform(0.4, 0.9))
            left, top = int(numbers.integers(width - side)), int(numbers.integers(height - side))
            image = image.resize((224, 224), Image.BILINEAR, (left, top, left + side, top + side))
            array = np.asarray(image)[:, ::-1] if numbers.random() < 0.5 else np.asarray(image)
            np.ascontiguousarray(((array - np.float32(MEAN)) / np.float32(STD)).transpose(2, 0, 1))
        return len(files)

    return read


def by_torchvision(folder):
    """A function that reads all files once with torchvision, in the calling process."""
    torch, vision = importlib.import_module("torch"), importlib.import_module("torchvision")
    maps = vision.transforms
    mean, std = [one / 255 for one in MEAN], [one / 255 for one in STD]
    steps = [maps.RandomResizedCrop(224), maps.RandomHorizontalFlip(), maps.ToTensor(), maps.Normalize(mean, std)]
    torch.set_num_threads(1)
    rows = vision.datasets.ImageFolder(folder, maps.Compose(steps))
    batches = torch.utils.data.DataLoader(rows, batch_size=32)
    return lambda: sum(len(images) for images, _ in batches)


def main():
    words = [int(one) for one in sys.argv[1:]] + [300, 5][len(sys.argv) - 1 :]
    count, rounds = words[:2]
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, count)
        ways = {"Pillow and NumPy": by_pillow(folder)}
        for name in ("partita", "mindspore"):
            with contextlib.suppress(ImportError):
                ways[f"{name}, Decode"] = library(name, folder, False)
                ways[f"{name}, RandomCropDecodeResize"] = library(name, folder, True)
        with contextlib.suppress(ImportError):
            ways["torchvision"] = by_torchvision(folder)
        speeds = {name: [] for name in ways}
        for _ in range(rounds):
            for name, read in ways.items():
                begin = time.process_time()
                read_images = read()
                speeds[name].append(read_images / (time.process_time() - begin))
    middle = {name: statistics.median(all_of) for name, all_of in speeds.items()}
    for name, speed in middle.items():
        others = {"MindSpore": name.replace("partita", "mindspore"), "torchvision": "torchvision"}
        known = {title: middle[one] for title, one in others.items() if "partita" in name and one in middle}
        ratio = "".join(f", {speed / other:.2f} of {title}'s" for title, other in known.items())
        low, high = min(speeds[name]), max(speeds[name])
        print(f"{name}: {speed:.0f} images a second and core ({low:.0f} to {high:.0f}){ratio}")


main()
