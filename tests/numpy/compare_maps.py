#!/usr/bin/env python3
"""Compares the maps on images with NumPy: compare_maps.py make IMAGES.npy | check IMAGES.npy OUT.safetensors.

The resize is OpenCV's for bytes: weights of 11 bits, sums of a row shortened by 4 bits, of a column by 16 and 2.
"""
import json
import struct
import sys

import numpy as np

MEAN, STD = np.array([0.4465, 0.4822, 0.4914]), np.array([0.2010, 0.1994, 0.2023])


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    kinds = {"U8": np.uint8, "F32": np.float32}
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def taps(source, target, last_once):
    centre = ((np.arange(target) + 0.5) * (source / target) - 0.5).astype(np.float32)
    low = np.floor(centre).astype(np.int64)
    fraction = (centre - low).astype(np.float32)
    if last_once:
        fraction[(low < 0) | (low >= source - 1)] = 0
    weights = [np.rint((1 - fraction) * np.float32(2048)), np.rint(fraction * np.float32(2048))]
    return [np.clip(low, 0, source - 1), np.clip(low + 1, 0, source - 1)], [w.astype(np.int64) for w in weights]


def resize(images, height, width):
    (low, high), (a, b) = taps(images.shape[2], width, last_once=True)
    x = images.astype(np.int64)
    rows = (x[:, :, low] * a[:, None] + x[:, :, high] * b[:, None]) >> 4
    (low, high), (a, b) = taps(images.shape[1], height, last_once=False)
    a, b = a[:, None, None], b[:, None, None]
    return ((((rows[:, low] * a) >> 16) + ((rows[:, high] * b) >> 16) + 2) >> 2).astype(np.uint8)


def scaled(images):
    return ((images / 255.0 - MEAN) / STD).transpose(0, 3, 1, 2)


def main():
    if sys.argv[1] == "make":
        np.save(sys.argv[2], np.random.default_rng(5).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8))
        return
    images, found = np.load(sys.argv[2]), read_safetensors(sys.argv[3])
    sizes = [name[7:] for name in found if name.startswith("resize.")]
    assert len(sizes) == 4
    for size in sizes:
        small = resize(images, *map(int, size.split("x")))
        assert np.array_equal(found[f"resize.{size}"], small), size
        assert np.abs(found[f"pipeline.{size}"] - scaled(small)).max() < 2e-6, size
    assert np.abs(found["pipeline"] - scaled(images)).max() < 2e-6

    left, top, right, bottom = 1, 2, 3, 4
    padded = np.pad(images, ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = found["crop"].shape[1:3]
    places = set()
    for image, crop in zip(padded, found["crop"]):
        at = [(y, x) for y in range(image.shape[0] - height + 1) for x in range(image.shape[1] - width + 1)
              if np.array_equal(image[y:y + height, x:x + width], crop)]
        assert at, "no such window"
        places.add(at[0])
    assert len(places) > 20
    flipped = [np.array_equal(image[:, ::-1], flip) for image, flip in zip(images, found["flip"])]
    kept = [np.array_equal(image, flip) for image, flip in zip(images, found["flip"])]
    assert all(a != b for a, b in zip(flipped, kept)) and 8 < sum(flipped) < 32
    print(f"{len(found)} tensors of {len(images)} images as NumPy makes them")


main()
