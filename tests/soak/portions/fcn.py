"""Segmentation by a small FCN: two strides, skips, transposed convolutions, pixels without a label, poly rates."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, report, start
from mindspore import Tensor, nn, ops

CLASSES, IGNORED = 4, 255
rank, ranks = start()


def make_data(count, size=16):
    random = np.random.default_rng(11)
    images = random.normal(0, 0.3, (count, 3, size, size)).astype(np.float32)
    labels = np.zeros((count, size, size), np.int32)
    for i in range(count):
        kind = 1 + i % (CLASSES - 1)
        top, left = random.integers(0, size // 2, 2)
        labels[i, top : top + size // 2, left : left + size // 2] = kind
        images[i, kind - 1, top : top + size // 2, left : left + size // 2] += 1.0
    labels[:, 0, :] = IGNORED
    return images, labels


def block(inputs, outputs):
    return nn.SequentialCell([nn.Conv2d(inputs, outputs, 3, has_bias=False), nn.BatchNorm2d(outputs), nn.ReLU()])


class FCN(nn.Cell):
    def __init__(self, classes):
        super().__init__()
        self.block1 = block(3, 8)
        self.pool1 = nn.MaxPool2d(2, 2)
        self.block2 = block(8, 12)
        self.pool2 = nn.MaxPool2d(2, 2)
        self.block3 = block(12, 16)
        self.score3 = nn.Conv2d(16, classes, 1, has_bias=True)
        self.score2 = nn.Conv2d(12, classes, 1, has_bias=True)
        self.up2 = nn.Conv2dTranspose(classes, classes, 4, 2, pad_mode="same", has_bias=True)
        self.up1 = nn.Conv2dTranspose(classes, classes, 4, 2, pad_mode="pad", padding=1)

    def construct(self, x):
        first = self.block1(x)
        second = self.block2(self.pool1(first))
        third = self.block3(self.pool2(second))
        fused = self.up2(self.score3(third)) + self.score2(second)
        return self.up1(fused)


class SoftmaxLoss(nn.Cell):
    """Cross entropy over pixels with a label; classes are weighted."""

    def __init__(self, classes, ignored):
        super().__init__()
        self.classes, self.ignored = classes, ignored
        self.weights = Tensor(np.array([0.5] + [1.5] * (classes - 1)), ms.float32)
        self.cross_entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=False)
        self.one_hot = nn.OneHot(depth=classes)

    def construct(self, logits, labels):
        labels = labels.reshape((-1,))
        logits = ops.transpose(logits, (0, 2, 3, 1)).reshape((-1, self.classes))
        known = (labels != self.ignored).astype(ms.float32)
        labels = ops.select(labels != self.ignored, labels, ops.zeros_like(labels))
        hot = self.one_hot(labels)
        pixels = self.cross_entropy(logits, hot) * known * (hot * self.weights).sum(axis=-1)
        return pixels.sum() / known.sum()


class ClippedStep(nn.TrainOneStepCell):
    def __init__(self, network, optimizer, norm):
        super().__init__(network, optimizer)
        self.norm = norm

    def construct(self, *inputs):
        loss = self.network(*inputs)
        gradients = self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss))
        gradients = self.grad_reducer(gradients)
        gradients = ops.clip_by_global_norm(gradients, self.norm)
        self.optimizer(gradients)
        return loss


def mean_iou(net, images, labels):
    """The mean over classes of intersection by union, by NumPy."""
    net.set_train(False)
    found = net(Tensor(images)).argmax(axis=1).asnumpy()
    net.set_train(True)
    known = labels != IGNORED
    matrix = np.bincount(labels[known] * CLASSES + found[known], minlength=CLASSES**2).reshape(CLASSES, CLASSES)
    joined = matrix.sum(0) + matrix.sum(1) - np.diag(matrix)
    return float(np.mean(np.diag(matrix) / np.maximum(joined, 1)))


images, labels = make_data(32)
net = FCN(CLASSES)
give_weights(net, scale=1.7)
decayed = [one for one in net.trainable_params() if "gamma" not in one.name and "beta" not in one.name]
others = [one for one in net.trainable_params() if "gamma" in one.name or "beta" in one.name]
rate = nn.PolynomialDecayLR(0.1, 0.001, 20, 0.9)
groups = [{"params": decayed, "weight_decay": 1e-3}, {"params": others}, {"order_params": net.trainable_params()}]
optimizer = nn.Momentum(groups, learning_rate=rate, momentum=0.9)
step = ClippedStep(nn.WithLossCell(net, SoftmaxLoss(CLASSES, IGNORED)), optimizer, 1.0)
step.set_train()
for i, (image, label) in enumerate(batches({"image": images, "label": labels}, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    report(i, step(image, label))
print(f"value iou {mean_iou(net, images[:8], labels[:8]):.5f}")
finish(net.block1[0].weight, net.up2.weight, net.block2[1].moving_mean, net.block3[1].gamma)
