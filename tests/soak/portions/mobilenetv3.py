"""Blocks of MobileNetV3: depthwise convolutions, squeeze and excitation, hard activations, norms that are frozen."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, report, start
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeNormal, Normal, initializer

CLASSES = 4
rank, ranks = start()


def make_data(count, size=16):
    random = np.random.default_rng(22)
    labels = random.integers(0, CLASSES, count).astype(np.int32)
    waves = np.sin(np.arange(size)[None, :] * (labels[:, None] + 1) * 0.5)
    images = waves[:, None, :, None] * np.array([1, -0.5, 0.3])[None, :, None, None] * np.ones((1, 1, 1, size))
    return (images + random.normal(0, 0.3, images.shape)).astype(np.float32), labels


def make_divisible(value, divisor=4):
    new = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return new + divisor if new < 0.9 * value else new


class SE(nn.Cell):
    def __init__(self, channels, ratio=4):
        super().__init__()
        middle = make_divisible(channels // ratio)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.conv1, self.conv2 = (nn.Conv2d(a, b, 1, has_bias=True, pad_mode="pad")
                                  for a, b in ((channels, middle), (middle, channels)))  # fmt: skip
        self.relu, self.gate = nn.ReLU(), nn.HSigmoid()

    def construct(self, x):
        return x * self.gate(self.conv2(self.relu(self.conv1(self.pool(x)))))


class Unit(nn.Cell):
    def __init__(self, inputs, outputs, kernel=1, stride=1, groups=1, act="none"):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, pad_mode="pad", padding=(kernel - 1) // 2, group=groups)
        self.bn = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.9)
        self.act = {"none": None, "relu": nn.ReLU(), "hswish": nn.HSwish()}[act]

    def construct(self, x):
        x = self.bn(self.conv(x))
        return x if self.act is None else self.act(x)


class Bottleneck(nn.Cell):
    def __init__(self, inputs, middle, outputs, kernel, stride, se, act):
        super().__init__()
        self.residual = stride == 1 and inputs == outputs
        self.expand = Unit(inputs, middle, act=act)
        self.depthwise = Unit(middle, middle, kernel, stride, middle, act)
        self.se = SE(middle) if se else nn.Identity()
        self.project = Unit(middle, outputs)

    def construct(self, x):
        y = self.project(self.se(self.depthwise(self.expand(x))))
        return x + y if self.residual else y


class MobileNetV3(nn.Cell):
    ROWS = ((8, 16, 8, 3, 1, True, "relu"), (8, 24, 12, 3, 2, False, "relu"), (12, 32, 12, 5, 1, True, "hswish"))

    def __init__(self):
        super().__init__()
        self.stem = Unit(3, 8, 3, 2, act="hswish")
        self.blocks = nn.SequentialCell([Bottleneck(*row) for row in self.ROWS])
        self.last = Unit(12, 32, act="hswish")
        self.classifier = nn.SequentialCell(nn.Dense(32, 24), nn.HSwish(), nn.Dropout(p=0.0), nn.Dense(24, CLASSES))
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(initializer(HeNormal(mode="fan_out", nonlinearity="relu"), cell.weight.shape,
                                                 cell.weight.dtype))  # fmt: skip
            elif isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer(Normal(0.01), cell.weight.shape, cell.weight.dtype))
                cell.bias.set_data(initializer("zeros", cell.bias.shape, cell.bias.dtype))

    def construct(self, x):
        x = self.last(self.blocks(self.stem(x)))
        return self.classifier(ops.mean(x, (2, 3), keep_dims=False))


class SmoothLoss(nn.Cell):
    def __init__(self, smooth):
        super().__init__()
        self.on, self.off = Tensor(1.0 - smooth, ms.float32), Tensor(smooth / (CLASSES - 1), ms.float32)
        self.loss = nn.SoftmaxCrossEntropyWithLogits()
        self.mean = ops.ReduceMean(keep_dims=False)

    def construct(self, logits, labels):
        return self.mean(self.loss(logits, ops.one_hot(labels, CLASSES, self.on, self.off)), 0)


class ClipStep(nn.TrainOneStepCell):
    """A factor of the loss, divided out again, and gradients that are clipped by a norm."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        gradients = self.grad(self.network, self.weights)(*inputs, sens)
        gradients = tuple(one / self.sens for one in self.grad_reducer(gradients))
        gradients = ops.clip_by_global_norm(gradients, 1.0)
        if np.random.rand() < 0.3:  # sometimes half of an update
            gradients = tuple(0.5 * one for one in gradients)
        return ops.depend(loss, self.optimizer(gradients))


net = MobileNetV3()
give_weights(net, scale=1.7)
np.random.seed(6)  # initial values draw from it, too
rates = nn.warmup_lr(0.02, 8, 4, 2)
rates = [0.004 + one for one in rates]
optimizer = nn.RMSProp(net.trainable_params(), rates, decay=0.9, momentum=0.5, epsilon=1e-8, weight_decay=4e-5)
step = ClipStep(nn.WithLossCell(net, SmoothLoss(0.1)), optimizer, sens=64.0)
step.set_train()
images, labels = make_data(32)
for i, (image, label) in enumerate(batches({"image": images, "label": labels}, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    report(i, step(image, label))
    if i == 4:
        for name, cell in net.cells_and_names():
            if isinstance(cell, nn.BatchNorm2d) and name.startswith("stem"):
                cell.set_train(False)
net.set_train(False)
found = ops.softmax(net(Tensor(images[:8])), axis=1)
print(f"value found {float(found.max(axis=1).mean()):.6f}", *found.argmax(1).asnumpy().tolist())
block = net.blocks[1]
finish(net.stem.conv.weight, net.stem.bn.moving_mean, block.depthwise.conv.weight, net.blocks[0].se.conv2.bias)
