#!/usr/bin/env python3
"""The pipeline of bench_data_pipeline with torchvision's transforms on u8 tensors, one thread, for comparison.

    data_torchvision.py CIFAR10_DIR [SIDE=224] [BATCHES=100]

CIFAR10_DIR holds unpacked data_batch_*.bin files. Needs `pip install torchvision`.
"""
import pathlib
import sys
import time

import numpy as np
import torch

# torchvision's compiled part wants a CUDA build of PyTorch; importing it without needs these names.
library = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
from torchvision.transforms import v2  # noqa: E402


def main():
    folder = pathlib.Path(sys.argv[1])
    side, batches = (int(value) for value in (sys.argv[2:] + ["224", "100"][len(sys.argv) - 2:])[:2])
    torch.set_num_threads(1)
    records = np.fromfile(folder / "data_batch_1.bin", np.uint8).reshape(-1, 3073)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    maps = [v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()]
    if side != 32:
        maps.append(v2.Resize((side, side), antialias=False))
    maps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize((0.4465, 0.4822, 0.4914), (0.2010, 0.1994, 0.2023))]
    transform = v2.Compose(maps)
    rng = np.random.default_rng(0)

    def batch():
        return torch.stack([transform(images[i]) for i in rng.integers(0, len(images), 32)])

    batch()
    cpu, begin = time.process_time(), time.perf_counter()
    for _ in range(batches):
        batch()
    wall, used = time.perf_counter() - begin, time.process_time() - cpu
    print(f"torchvision [32, 3, {side}, {side}], this process: {32 * batches / wall:.0f} images/s, "
          f"{32 * batches / used:.0f} per CPU second")


main()
