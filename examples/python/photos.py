"""Photos with augmentation: a small residual network on CIFAR-10 over two ranks, under a plan that you choose.

    python3 photos.py [data|auto]
    mpirun -n 2 python3 photos.py [data|auto]

Rows are cropped, flipped and normalised while they are read. Which pixels a row gets follows from the seed, the epoch
and the row, so every plan sees the same images; `batch_norm="global"` takes the statistics over all ranks. Prints the
losses, which must be those of one rank. The photos are those of PARTITA_DATA/cifar10, or drawn without it.
"""

import os
import sys

import digits
import numpy as np
from residual import residual_network

import partita as ms
from partita import dataset as ds

RANKS, BATCH, COUNT = 2, 32, 256


def drawn_photos():
    """Noise in which the class decides how red, and how blue, a photo is."""
    numbers = np.random.default_rng(5)
    labels = numbers.integers(0, 10, COUNT).astype("u4")
    photos = numbers.integers(0, 64, (COUNT, 32, 32, 3)).astype("u1")
    photos[..., 0] += (labels * 18).astype("u1")[:, None, None]
    photos[..., 2] += (180 - labels * 18).astype("u1")[:, None, None]
    return photos, labels


def photos(batch, shards=1, shard=0):
    parts = {"num_shards": shards, "shard_id": shard} if shards > 1 else {}
    folder = os.path.join(os.environ.get("PARTITA_DATA", ""), "cifar10")
    if os.path.isdir(folder):
        rows = ds.Cifar10Dataset(folder, "test", num_samples=COUNT // shards, shuffle=False, **parts)
    else:
        rows = ds.NumpySlicesDataset(drawn_photos(), ["image", "label"], shuffle=False, **parts)
    vision = ds.vision
    changes = [vision.RandomCrop(32, 4), vision.RandomHorizontalFlip(), vision.Rescale(1 / 255, 0)]
    changes += [vision.Normalize([0.49, 0.48, 0.45], [0.25, 0.24, 0.26]), vision.HWC2CHW()]
    return rows.map(changes, "image").map(ds.transforms.TypeCast(ms.int32), "label").batch(batch)


def make_model():
    return digits.model_of(residual_network([1, 1], width=8))


if __name__ == "__main__":
    plan = sys.argv[1] if len(sys.argv) > 1 else "data"
    rank = digits.start(RANKS)
    ms.set_context(batch_norm="global")
    expected = digits.losses_on_one_rank(make_model, photos(BATCH), epochs=2)

    ms.set_auto_parallel_context(parallel_mode=f"{plan}_parallel", gradients_mean=True)
    ms.set_seed(1)
    share = photos(BATCH // RANKS, shards=RANKS, shard=rank)
    digits.compare(f"photos, {plan}", digits.losses_of(make_model(), share, epochs=2), expected)
