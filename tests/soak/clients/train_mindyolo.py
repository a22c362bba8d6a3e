"""Trains a small YOLOX of mindyolo by the library's own step: prints the losses of a few steps. The images and boxes
are drawn."""

import sys

import numpy as np

import mindspore as ms
from mindspore import nn, ops
from mindyolo.models import create_loss, create_model
from mindyolo.utils.config import Config
from mindyolo.utils.train_step_factory import create_train_step_fn, get_gradreducer, get_loss_scaler

CLASSES, EDGE, ROWS, BOXES = 4, 64, 2, 6
# [from, how often, layer, arguments], in the form of the library's files.
NETWORK = {
    "model_name": "yolox",
    "depth_multiple": 0.33,
    "width_multiple": 0.25,
    "max_channels": 1024,
    "stride": [8, 16, 32],
    "backbone": [
        [-1, 1, "ConvNormAct", [64, 3, 2]],
        [-1, 1, "ConvNormAct", [128, 3, 2]],
        [-1, 3, "C2f", [128, True]],
        [-1, 1, "ConvNormAct", [256, 3, 2]],
        [-1, 3, "C2f", [256, True]],
        [-1, 1, "ConvNormAct", [512, 3, 2]],
        [-1, 3, "C2f", [512, True]],
        [-1, 1, "ConvNormAct", [1024, 3, 2]],
        [-1, 1, "SPPF", [1024, 5]],
    ],
    "head": [
        [-1, 1, "Upsample", ["None", 2, "nearest"]],
        [[-1, 6], 1, "Concat", [1]],
        [-1, 3, "C2f", [512]],
        [-1, 1, "Upsample", ["None", 2, "nearest"]],
        [[-1, 4], 1, "Concat", [1]],
        [-1, 3, "C2f", [256]],
        [[14, 11, 8], 1, "YOLOXHead", ["nc", "stride"]],
    ],
}


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
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_seed(1)
    network = create_model("yolox", model_cfg=Config(NETWORK), num_classes=CLASSES)
    rows = np.random.default_rng(5)
    for parameter in network.get_parameters():
        if parameter.ndim == 4 or parameter.name.endswith("bias"):
            scale = np.sqrt(1.5 / np.prod(parameter.shape[1:])) if parameter.ndim == 4 else 0.1
            values = rows.standard_normal(parameter.shape) * scale
            parameter.set_data(ms.Tensor(values.astype(np.float32)))
    loss = create_loss("YOLOXLoss", nc=CLASSES, input_size=(EDGE, EDGE), strides=(8, 16, 32), use_l1=True)
    network.set_train(True)
    loss.set_train(True)
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.0001, momentum=0.9)
    scaler = get_loss_scaler("static", scale_value=1024)
    step = create_train_step_fn("detect", network, loss, optimizer, 1.0, scaler, get_gradreducer(False, None))
    images, boxes = drawn()
    losses = []
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        value, parts, _, finite = step(images, boxes)
        losses.append(float(np.asarray(value.asnumpy()).reshape(-1)[0]))
        assert bool(finite.asnumpy() if hasattr(finite, "asnumpy") else finite)
    print("losses", losses)
    assert ops.isfinite(ms.Tensor(losses)).all()


if __name__ == "__main__":
    main()
