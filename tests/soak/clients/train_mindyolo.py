"""Trains a small network of mindyolo by the library's own step: `train_mindyolo.py x|3|4|5|7|8 [STEPS]` prints the
losses of a few steps. Each version has its own layers, head and loss; the images and boxes are drawn."""

import sys

import numpy as np

import mindspore as ms
from mindspore import nn, ops
from mindyolo.models import create_loss, create_model
from mindyolo.utils.config import Config
from mindyolo.utils.train_step_factory import create_train_step_fn, get_gradreducer, get_loss_scaler

CLASSES, EDGE, ROWS, BOXES = 4, 64, 2, 6
STRIDES = [8, 16, 32]
ANCHORS = [[6, 8, 10, 20, 22, 12], [20, 40, 40, 28, 38, 70], [70, 56, 100, 120, 220, 200]]
GAINS = {"box": 0.05, "obj": 1.0, "cls": 0.5, "anchor_t": 4.0, "label_smoothing": 0.0, "fl_gamma": 0.0}
GAINS.update(cls_pw=1.0, obj_pw=1.0)
MISH, LEAKY = "act=nn.Mish()", "act=nn.LeakyReLU(0.1)"


class Layers:
    """Layers in the form of the library's files: [from, how often, layer, arguments]."""

    def __init__(self):
        self.rows = []

    def add(self, layer, arguments, of=-1, times=1):
        """Adds a layer and returns its number."""
        self.rows.append([of, times, layer, arguments])
        return len(self.rows) - 1


def _block(layers, version, channels, shortcut=True):
    """The layers between two reductions, which are those that the version is known for."""
    if version in "x8":
        return layers.add("C2f", [channels, shortcut], times=3)
    if version == "5":
        return layers.add("C3", [channels, shortcut], times=3)
    if version == "3":
        return layers.add("Bottleneck", [channels, shortcut], times=2)
    if version == "4":
        layers.add("ConvNormAct", [channels, 1, 1, MISH])
        first = layers.add("Residualblock", [channels, MISH])
        layers.add("ConvNormAct", [channels, 1, 1, LEAKY], of=first - 1)
        layers.add("Concat", [1], of=[-1, -2])
        return layers.add("ConvNormAct", [channels, 1, 1, LEAKY])
    first = layers.add("ConvNormAct", [channels // 2, 1, 1])
    for _ in range(2):
        layers.add("ConvNormAct", [channels // 2, 3, 1])
    layers.add("Concat", [1], of=[-1, -2, first])
    return layers.add("RepConv", [channels, 3, 1])


def _reduction(layers, version, channels):
    if version == "7" and channels > 256:
        layers.add("MP", [])
        return layers.add("ConvNormAct", [channels, 1, 1])
    return layers.add("ConvNormAct", [channels, 3, 2])


def _pooled(layers, version, channels):
    """The last layers of the backbone, which see far."""
    if version == "3":
        layers.add("ConvNormAct", [channels // 2, 1, 1])
        layers.add("SP", [5, 1])
        layers.add("Concat", [1], of=[-1, -2])
        return layers.add("ConvNormAct", [channels, 1, 1])
    if version == "4":
        first = layers.add("ConvNormAct", [channels // 2, 1, 1, LEAKY])
        for size in (5, 9):
            layers.add("nn.MaxPool2d", [size, 1, "same"], of=first)
        layers.add("Concat", [1], of=[-1, -2, first])
        return layers.add("ConvNormAct", [channels, 1, 1, LEAKY])
    if version == "7":
        return layers.add("SPPCSPC", [channels])
    return layers.add("SPPF", [channels, 5])


def network_of(version):
    layers = Layers()
    layers.add("ConvNormAct", [64, 3, 2])
    _reduction(layers, version, 128)
    _block(layers, version, 128)
    kept = []
    for channels in (256, 512, 1024):
        _reduction(layers, version, channels)
        if channels < 1024:
            kept.append(_block(layers, version, channels))
    kept.append(_pooled(layers, version, 1024))
    for i, channels in ((1, 512), (0, 256)):
        layers.add("Upsample", ["None", 2, "nearest"])
        layers.add("Concat", [1], of=[-1, kept[i]])
        kept[i] = _block(layers, version, channels, shortcut=False)
    arguments = {"x": ["nc", "stride"], "4": ["nc", "anchors"], "8": ["nc", "reg_max", "stride"]}
    arguments = arguments.get(version, ["nc", "anchors", "stride"])
    kept = kept[::-1] if version == "4" else kept
    head = [[kept, 1, f"YOLO{version.upper() if version == 'x' else 'v' + version}Head", arguments]]
    network = {"depth_multiple": 0.33, "width_multiple": 0.25, "max_channels": 1024, "reg_max": 16}
    network.update(model_name=f"yolo{'x' if version == 'x' else 'v' + version}", backbone=layers.rows, head=head)
    network.update(stride=STRIDES, anchors=anchors_of(version))
    return network


def anchors_of(version):
    """The anchors of the three heads; version 4 has pairs, those of the largest boxes first."""
    if version == "4":
        return [pair for own in ANCHORS[::-1] for pair in np.reshape(own, (3, 2)).tolist()]
    return ANCHORS


def loss_of(version):
    if version == "x":
        return create_loss("YOLOXLoss", nc=CLASSES, input_size=(EDGE, EDGE), strides=tuple(STRIDES), use_l1=True)
    if version == "8":
        return create_loss("YOLOv8Loss", box=7.5, cls=0.5, dfl=1.5, stride=STRIDES, nc=CLASSES, reg_max=16)
    common = {"stride": STRIDES, "anchors": anchors_of(version), "nc": CLASSES, **GAINS}
    if version == "4":
        common.update(box=10.0, cls=1.0, ignore_threshold=0.7, iou_threshold=0.213)
    return create_loss(f"YOLOv{version}Loss", **common)


def take_earlier_meaning_of_max():
    """Lets `x.max(2)` give values alone, as in the versions that the library was written for. In 2.10 it gives indices
    as well, and the losses of versions 3, 5, 7 and 8 fail."""
    now = ms.Tensor.max

    def values(self, axis=None, keepdims=False, **others):
        return now(self, axis=axis, keepdims=keepdims, **others)

    ms.Tensor.max = values


def drawn():
    """Images, and rows (number of the image, class, centre, size) of boxes."""
    rows = np.random.default_rng(2)
    images = rows.random((ROWS, 3, EDGE, EDGE), np.float32)
    boxes = np.zeros((ROWS, BOXES, 6), np.float32)
    boxes[..., 0] = np.arange(ROWS)[:, None]
    boxes[..., 1] = rows.integers(0, CLASSES, (ROWS, BOXES))
    boxes[..., 2:4] = rows.uniform(0.3, 0.7, (ROWS, BOXES, 2))
    boxes[..., 4:] = rows.uniform(0.2, 0.5, (ROWS, BOXES, 2))
    return ms.Tensor(images), ms.Tensor(boxes)


def main():
    version, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    take_earlier_meaning_of_max()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_seed(1)
    settings = network_of(version)
    network = create_model(settings["model_name"], model_cfg=Config(settings), num_classes=CLASSES)
    rows = np.random.default_rng(5)
    for parameter in network.get_parameters():
        if parameter.ndim == 4 or parameter.name.endswith("bias"):
            scale = np.sqrt(1.5 / np.prod(parameter.shape[1:])) if parameter.ndim == 4 else 0.1
            values = rows.standard_normal(parameter.shape) * scale
            parameter.set_data(ms.Tensor(values.astype(np.float32)))
    loss = loss_of(version)
    network.set_train(True)
    loss.set_train(True)
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.0001, momentum=0.9)
    scaler = get_loss_scaler("static", scale_value=1024)
    step = create_train_step_fn("detect", network, loss, optimizer, 1.0, scaler, get_gradreducer(False, None))
    images, boxes = drawn()
    losses = []
    for _ in range(steps):
        value, parts, _, finite = step(images, boxes)
        losses.append(float(np.asarray(value.asnumpy()).reshape(-1)[0]))
        assert bool(finite.asnumpy() if hasattr(finite, "asnumpy") else finite)
    print("losses", losses)
    assert ops.isfinite(ms.Tensor(losses)).all()


if __name__ == "__main__":
    main()
