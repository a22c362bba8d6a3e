#!/usr/bin/env python3
"""The pipeline of bench_data_pipeline in MindSpore's own C++ engine, for comparison.

    data_mindspore.py CIFAR10_DIR [SIDE=224] [WORKERS=2] [BATCHES=400]

CIFAR10_DIR holds unpacked data_batch_*.bin files. Needs `pip install mindspore==2.10.0`.
"""
import resource
import sys
import time

import mindspore.dataset as ds
from mindspore.dataset import vision


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    folder = sys.argv[1]
    side, workers, batches = (int(value) for value in (sys.argv[2:] + ["224", "2", "400"][len(sys.argv) - 2:])[:3])
    maps = [vision.RandomCrop((32, 32), (4, 4, 4, 4)), vision.RandomHorizontalFlip()]
    if side != 32:
        maps.append(vision.Resize((side, side)))
    maps += [vision.Rescale(1 / 255, 0), vision.Normalize((0.4465, 0.4822, 0.4914), (0.2010, 0.1994, 0.2023)),
             vision.HWC2CHW()]
    rows = ds.Cifar10Dataset(folder, usage="train", shuffle=True)
    rows = rows.map(maps, "image", num_parallel_workers=workers).batch(32, drop_remainder=True).repeat(100)
    images = iter(rows.create_tuple_iterator(num_epochs=1, output_numpy=True, do_copy=False))
    for _ in range(10):
        image, _ = next(images)
    cpu, begin = cpu_seconds(), time.perf_counter()
    for _ in range(batches):
        next(images)
    wall, used = time.perf_counter() - begin, cpu_seconds() - cpu
    print(f"mindspore {list(image.shape)}, {workers} workers: {32 * batches / wall:.0f} images/s, "
          f"{32 * batches / used:.0f} per CPU second")


main()
