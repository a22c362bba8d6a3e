"""The lines of LossMonitor of networks over 20 steps."""

import contextlib
import importlib
import io
import re

import numpy as np
from both import Count, give_parameters

COUNT = Count("networks over 20 steps", 4)
numbers = np.random.default_rng(1)
IMAGES = numbers.random((160, 1, 28, 28), "f4")
LABELS = (IMAGES.mean((1, 2, 3)) * 4000 % 10).astype("i4")
TARGETS = numbers.random((160, 4), "f4")


def lines(system, net, loss_fn, make, targets):
    """The losses that LossMonitor prints."""
    ds = importlib.import_module(f"{system.__name__}.dataset")
    train = importlib.import_module(f"{system.__name__}.train")
    give_parameters(system, net)
    data = ds.NumpySlicesDataset((IMAGES, targets), ["data", "label"], shuffle=False).batch(16)
    model = train.Model(net, loss_fn, make(net.trainable_params()))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        model.train(2, data, callbacks=[train.LossMonitor()], dataset_sink_mode=False)
    found = re.findall(r"epoch: (\d+) step: (\d+), loss is (\S+)", out.getvalue())
    assert len(found) == 20, out.getvalue()
    return [np.array([float(one) for one in line]) for line in found]


def mlp(system):
    nn = system.nn
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(784, 32), nn.ReLU(), nn.Dense(32, 10))
    return lines(system, net, nn.CrossEntropyLoss(), lambda p: nn.Momentum(p, 0.01, 0.9), LABELS)


def lenet(system):
    nn = system.nn
    net = nn.SequentialCell(nn.Conv2d(1, 6, 5, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
                            nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
                            nn.Dense(400, 84), nn.ReLU(), nn.Dense(84, 10))  # fmt: skip
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(True, "mean")
    return lines(system, net, loss_fn, lambda p: nn.SGD(p, 0.001), LABELS)


def normed(system):
    nn = system.nn
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3, 2), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(2, 2), nn.Flatten(),
                            nn.Dense(196, 4))  # fmt: skip
    return lines(system, net, nn.MSELoss(), lambda p: nn.Adam(p, 0.001), TARGETS)


def summed(system):
    """A loss that is not reduced is minimised as a sum, and reported as a mean."""
    nn = system.nn
    net = nn.SequentialCell(nn.Flatten(), nn.Dense(784, 32), nn.LayerNorm((32,)), nn.ReLU(), nn.Dense(32, 10))
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(True)
    return lines(system, net, loss_fn, lambda p: nn.Momentum(p, 0.0005, 0.9, weight_decay=0.1), LABELS)


for name, run in (("mlp", mlp), ("lenet", lenet), ("batch norm", normed), ("summed losses", summed)):
    COUNT.add(name, run)
COUNT.finish()
