"""A U-Net with crops and skips, dice and binary cross entropy, Adam whose rate is assigned, gradients clipped."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import nn, ops

rank, ranks = start()


def make_data(count, size=20):
    random = np.random.default_rng(13)
    masks = np.zeros((count, 1, size, size), np.float32)
    across = np.arange(size)
    for i in range(count):
        y, x, radius = random.uniform(5, size - 5, 2).tolist() + [random.uniform(3, 6)]
        masks[i, 0] = (across[:, None] - y) ** 2 + (across[None, :] - x) ** 2 < radius**2
    images = masks * 0.7 + random.normal(0, 0.4, masks.shape).astype(np.float32)
    return images.astype(np.float32), masks


class DoubleConv(nn.Cell):
    def __init__(self, inputs, outputs, middle=None):
        super().__init__()
        middle = middle or outputs
        self.double_conv = nn.SequentialCell([
            nn.Conv2d(inputs, middle, 3, pad_mode="same"), nn.BatchNorm2d(middle), nn.ReLU(),
            nn.Conv2d(middle, outputs, 3, pad_mode="pad", padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
        ])  # fmt: skip

    def construct(self, x):
        return self.double_conv(x)


class Up(nn.Cell):
    """Doubles the size, pads to that of the skip and joins both."""

    def __init__(self, inputs, outputs, bilinear):
        super().__init__()
        self.bilinear = bilinear
        if not bilinear:
            self.up = nn.Conv2dTranspose(inputs, inputs // 2, 2, 2, pad_mode="valid", has_bias=True)
        else:
            self.reduce = nn.Conv2d(inputs, inputs // 2, 1)
        self.conv = DoubleConv(inputs // 2 + outputs, outputs)

    def construct(self, x, skip):
        if self.bilinear:
            size = (x.shape[2] * 2, x.shape[3] * 2)
            x = self.reduce(ops.interpolate(x, size=size, mode="bilinear", align_corners=True))
        else:
            x = self.up(x)
        high, wide = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        if high or wide:
            x = ops.pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2))
        return self.conv(ops.cat((skip, x), axis=1))


class UNet(nn.Cell):
    def __init__(self, width=6):
        super().__init__()
        self.enter = DoubleConv(1, width)
        self.down = nn.CellList([DoubleConv(width * 2**i, width * 2 ** (i + 1)) for i in range(3)])
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.up = nn.CellList([Up(width * 2 ** (3 - i), width * 2 ** (2 - i), i % 2 == 0) for i in range(3)])
        self.leave = nn.Conv2d(width, 1, 1, has_bias=True)

    def construct(self, x):
        skips = [self.enter(x)]
        for layer in self.down:
            skips.append(layer(self.pool(skips[-1])))
        x = skips.pop()
        while skips:
            x = self.up[3 - len(skips)](x, skips.pop())
        return self.leave(x)


net = UNet()
give_weights(net, scale=1.7)
optimizer = nn.Adam(net.trainable_params(), learning_rate=0.004, beta2=0.99, eps=1e-5, weight_decay=1e-4)
reduce = reducer_of(optimizer, ranks)
entropy = nn.BCEWithLogitsLoss()


def dice(logits, mask, smooth=1e-5):
    found = ops.sigmoid(logits).reshape(logits.shape[0], -1)
    mask = mask.reshape(mask.shape[0], -1)
    both = (found * mask).sum(-1)
    return (1 - (2.0 * both + smooth) / (found.square().sum(-1) + ops.square(mask).sum(-1) + smooth)).mean()


def forward(image, mask):
    logits = net(image)
    first, second = entropy(logits, mask), dice(logits, mask)
    return 0.5 * first + second, first, logits


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)


def train_step(image, mask):
    (loss, first, logits), gradients = grad_fn(image, mask)
    gradients = ops.clip_by_global_norm(reduce(gradients), 0.5)
    loss = ops.depend(loss, optimizer(gradients))
    return loss, first, logits


net.set_train(True)
images, masks = make_data(16)
best = None
for i, (image, mask) in enumerate(batches({"image": images, "mask": masks}, 8, rank, ranks, epochs=4), 1):
    if i > STEPS:
        break
    loss, first, logits = train_step(image, mask)
    report(i, loss)
    if best is not None and float(loss.asnumpy()) > best:
        ops.assign(optimizer.learning_rate, optimizer.learning_rate * 0.7)
    best = min(best or 1e9, float(loss.asnumpy()))
    if i % 4 == 0:
        ops.assign(optimizer.learning_rate, ms.Tensor(0.002, ms.float32))
print(f"value rate {float(optimizer.learning_rate.asnumpy()):.6f}")
finish(net.enter.double_conv[0].weight, net.up[0].reduce.weight, net.up[1].up.weight, net.leave.bias)
