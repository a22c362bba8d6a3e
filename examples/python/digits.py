"""Helpers of the examples in this folder: rows of digits, a short training, the comparison with one rank.

The digits are the first test images of MNIST when PARTITA_DATA names a folder that has `mnist/`. Otherwise they are
drawn.
"""

import os
import shutil

import numpy as np

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.communication import get_group_size, get_rank, init

SIZE, CLASSES = 28, 10


def start(ranks):
    """Returns the rank of this process. A launcher decides how many processes there are; without one, `ranks` threads
    of this process are the ranks."""
    ms.set_context(mode=ms.GRAPH_MODE, threads=1)  # networks this small gain nothing from threads within a rank
    init()
    if get_group_size() == 1:
        ms.set_context(ranks=ranks)
    if get_group_size() != ranks:
        raise SystemExit(f"this example is for {ranks} ranks, got {get_group_size()}")
    return get_rank()


def empty_folder(*names):
    """The path of a folder of these names, without what an earlier run left there."""
    path = os.path.join(*names)
    shutil.rmtree(path, ignore_errors=True)
    return path


def say(*words):
    """Prints in the first process alone."""
    if get_rank() == 0:
        print(*words, flush=True)


def _drawn(count):
    """Gray noise in which each class brightens a band of rows of its own."""
    numbers = np.random.default_rng(7)
    labels = numbers.integers(0, CLASSES, count).astype("u4")
    images = numbers.integers(0, 96, (count, SIZE, SIZE, 1)).astype("u1")
    for image, label in zip(images, labels):
        image[2 * label + 3 : 2 * label + 6] += 128
    return images, labels


def rows(batch, count=512, shards=1, shard=0):
    """The columns image f32[1,28,28] and label i32 of `count` digits, or of one of `shards` parts of them."""
    parts = {"num_shards": shards, "shard_id": shard} if shards > 1 else {}
    folder = os.path.join(os.environ.get("PARTITA_DATA", ""), "mnist")
    if os.path.isdir(folder):
        digits = ds.MnistDataset(folder, "test", num_samples=count // shards, shuffle=False, **parts)
    else:
        digits = ds.NumpySlicesDataset(_drawn(count), ["image", "label"], shuffle=False, **parts)
    digits = digits.map([ds.vision.Rescale(1 / 255, 0), ds.vision.HWC2CHW()], "image")
    return digits.map(ds.transforms.TypeCast(ms.int32), "label").batch(batch)


class Losses(train.Callback):
    """Keeps the loss of each step."""

    def __init__(self):
        self.values = []

    def on_train_step_end(self, run_context):
        self.values.append(float(run_context.original_args().loss_value))


def model_of(network, loss="classes", rate=0.05):
    """A model that classifies, or, with loss=None, whose network gives its loss itself."""
    optimizer = nn.Momentum(network.trainable_params(), rate, 0.9)
    return train.Model(network, nn.CrossEntropyLoss() if loss == "classes" else loss, optimizer)


def losses_of(model, data, *callbacks, epochs=1):
    """Trains and returns the loss of each step."""
    losses = Losses()
    model.train(epochs, data, callbacks=[losses, *callbacks])
    return losses.values


def losses_on_one_rank(make_model, data, epochs=1):
    """Losses of the same training without a plan. Leaves the parallel settings at their defaults."""
    ms.reset_auto_parallel_context()
    ms.set_seed(1)
    return losses_of(make_model(), data, epochs=epochs)


def compare(title, losses, expected, tolerance=1e-4):
    """Fails unless the losses are those that are expected, and fall."""
    worst = max(abs(one - other) / abs(other) for one, other in zip(losses, expected, strict=True))
    assert worst <= tolerance, f"{title}: losses differ by {worst:.1e}, got {losses}, expected {expected}"
    assert losses[-1] < losses[0], f"{title}: the loss does not fall, got {losses}"
    say(f"{title}: loss {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps, as on one rank")
