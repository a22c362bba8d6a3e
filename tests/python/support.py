"""Helpers of the tests of the Python package: small data, small networks, the folder of the package."""

import contextlib
import inspect
import io
import os
import struct
import tempfile
import unittest

import numpy as np

import partita as ms
from partita import nn


def rng(seed=1):
    return np.random.default_rng(seed)


def parameters_text(function):
    """The text of the parameters of a function or class, without their types."""
    signature = inspect.signature(function)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


class Case(unittest.TestCase):
    """A test in a context of its own."""

    def setUp(self):
        ms.reset_auto_parallel_context()
        ms.set_context(mode=ms.PYNATIVE_MODE, ranks=1, threads=1, batch_norm="", save_graphs=0)
        ms.set_seed(1)

    def close(self, got, expected, tolerance=1e-6):
        got = got.asnumpy() if isinstance(got, ms.Tensor) else np.asarray(got)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)

    @contextlib.contextmanager
    def refuses(self, kind, *texts):
        """An error of this class whose text has all of these."""
        with self.assertRaises(kind) as caught:
            yield caught
        for text in texts:
            self.assertIn(text, str(caught.exception))


@contextlib.contextmanager
def printed():
    """Captures the text that is printed in a `with` block."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out


@contextlib.contextmanager
def warned():
    """Captures the lines of warnings that are new in a `with` block, in the list that it gives."""
    lines = []
    with contextlib.redirect_stderr(io.StringIO()) as err:
        yield lines
    lines += [line for line in err.getvalue().splitlines() if line.startswith("partita: warning:")]


class Folder:
    """Small files of MNIST and CIFAR-10 whose images say their labels."""

    def __init__(self, rows=96):
        self._folder = tempfile.TemporaryDirectory()
        self.path, numbers = self._folder.name, rng()
        self.labels = {}
        for part in ("train", "t10k"):
            labels = numbers.integers(0, 10, rows).astype("u1")
            images = numbers.integers(0, 64, (rows, 28, 28)).astype("u1") + labels[:, None, None] * np.uint8(15)
            self._write(f"{part}-images-idx3-ubyte", struct.pack(">IIII", 0x803, rows, 28, 28) + images.tobytes())
            self._write(f"{part}-labels-idx1-ubyte", struct.pack(">II", 0x801, rows) + labels.tobytes())
            self.labels[part] = labels
            setattr(self, f"{part}_images", images)
        for name in ("data_batch_1.bin", "test_batch.bin"):
            labels = numbers.integers(0, 10, (rows, 1)).astype("u1")
            images = numbers.integers(0, 64, (rows, 3072)).astype("u1") + labels * np.uint8(15)
            self._write(name, np.hstack([labels, images]).tobytes())

    def _write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data)

    def close(self):
        self._folder.cleanup()


class Small(nn.Cell):
    """Two layers with a batch norm between them."""

    def __init__(self, inputs=6, hidden=8, classes=3, norm=False):
        super().__init__()
        self.fc1 = nn.Dense(inputs, hidden)
        self.norm = nn.BatchNorm1d(hidden) if norm else nn.Identity()
        self.relu = nn.ReLU()
        self.fc2 = nn.Dense(hidden, classes)

    def construct(self, x):
        return self.fc2(self.relu(self.norm(self.fc1(x))))


def labelled(rows=64, inputs=6, classes=3, seed=1):
    """Arrays of inputs and classes."""
    numbers = rng(seed)
    x = numbers.standard_normal((rows, inputs)).astype("f4")
    return x, (x @ numbers.standard_normal((inputs, classes))).argmax(1).astype("i4")


class Losses(ms.train.Callback):
    """Keeps the loss of each step."""

    def __init__(self):
        self.values = []

    def on_train_step_end(self, run_context):
        self.values.append(run_context.original_args().loss_value)
