"""Small images for trainings of client libraries."""

import os

import numpy as np
from PIL import Image


def write_images(folder, classes, count, edge):
    """Writes the folders train and val with images, `count` of each class, whose colour says the class."""
    rows = np.random.default_rng(3)
    for split in ("train", "val"):
        for k in range(classes):
            os.makedirs(os.path.join(folder, split, f"class{k}"), exist_ok=True)
            for i in range(count):
                pixels = rows.integers(0, 120, (edge, edge, 3))
                pixels[..., k % 3] += 120
                path = os.path.join(folder, split, f"class{k}", f"{i}.png")
                Image.fromarray(pixels.astype(np.uint8)).save(path)
