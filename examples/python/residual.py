"""Residual networks for images (He et al., 2016), built from a list of depths. `photos.py` trains a small one.

    residual_network([1, 1], width=16)    two stages of one block each
    resnet50()                            the published one, 25.6 million weights at 1000 classes
"""

from partita import nn
from partita.common.initializer import Normal

EXPANSION = 4  # channels of the output of a block, in those of its middle


def scaled(inputs, outputs, size, stride=1, gamma="ones"):
    """A convolution and a batch norm, whose factors begin as `gamma` says."""
    convolution = nn.Conv2d(inputs, outputs, size, stride, pad_mode="same", weight_init="he_normal")
    return nn.SequentialCell(convolution, nn.BatchNorm2d(outputs, gamma_init=gamma))


class Bottleneck(nn.Cell):
    """A narrow path of three convolutions, added to its input. It begins as the identity: the last norm gives zeros."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.path = nn.SequentialCell(
            scaled(inputs, width, 1),
            nn.ReLU(),
            scaled(width, width, 3, stride),
            nn.ReLU(),
            scaled(width, EXPANSION * width, 1, gamma="zeros"),
        )
        fits = stride == 1 and inputs == EXPANSION * width
        self.skip = nn.Identity() if fits else scaled(inputs, EXPANSION * width, 1, stride)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.path(x) + self.skip(x))


class Classifier(nn.Cell):
    """Means over the image, then one dense layer."""

    def __init__(self, channels, classes):
        super().__init__()
        self.dense = nn.Dense(channels, classes, weight_init=Normal(0.01), bias_init="zeros")

    def construct(self, x):
        return self.dense(x.mean((2, 3)))


def residual_network(depths, width=64, classes=10):
    """One stage for each depth; each but the first halves the image and doubles the channels."""
    cells = [scaled(3, width, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same")]
    channels = width
    for stage, depth in enumerate(depths):
        for block in range(depth):
            narrow = width << stage
            cells.append(Bottleneck(channels, narrow, stride=2 if stage and not block else 1))
            channels = EXPANSION * narrow
    return nn.SequentialCell(*cells, Classifier(channels, classes))


def resnet50(classes=10):
    return residual_network([3, 4, 6, 3], classes=classes)
