"""SimCLR: two views of an image, a projection, the loss of pairs, groups of weights, a schedule of one's own."""

import math

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Tensor, nn, ops
from mindspore.nn.learning_rate_schedule import LearningRateSchedule

rank, ranks = start()


def make_data(count, size=8):
    random = np.random.default_rng(20)
    images = random.normal(size=(count, 3, size, size))
    views = []
    for _ in range(2):
        changed = images + random.normal(0, 0.3, images.shape)
        flipped = random.random(count) < 0.5
        changed[flipped] = changed[flipped][..., ::-1]
        views.append(changed.astype(np.float32))
    return views


class WarmCosine(LearningRateSchedule):
    def __init__(self, rate, warm, steps):
        super().__init__()
        self.rate, self.warm, self.steps = rate, warm, steps

    def construct(self, global_step):
        step = ops.cast(global_step, ms.float32)
        rising = self.rate * (step + 1) / self.warm
        share = (step - self.warm) / (self.steps - self.warm)
        falling = 0.5 * self.rate * (1 + ops.cos(math.pi * share))
        return ops.select(step < self.warm, rising, falling)


class Residual(nn.Cell):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, pad_mode="pad", padding=1)
        self.bn2 = nn.BatchNorm2d(outputs, gamma_init="zeros")
        self.down = nn.SequentialCell(nn.Conv2d(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU()

    def construct(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.down(x))


class SimCLR(nn.Cell):
    def __init__(self, width=8, projected=6):
        super().__init__()
        self.encoder = nn.SequentialCell([Residual(3, width, 1), Residual(width, 2 * width, 2)])
        self.projector = nn.SequentialCell(
            nn.Dense(2 * width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(), nn.Dense(2 * width, projected)
        )

    def construct(self, x):
        features = ops.mean(self.encoder(x), (2, 3))
        return self.projector(features)


class PairLoss(nn.Cell):
    """The cross entropy of each view with its partner among all other views."""

    def __init__(self, temperature=0.5):
        super().__init__()
        self.temperature = temperature

    def construct(self, first, second):
        rows = first.shape[0]
        both = ops.concat((first, second), 0)
        both = both / ops.maximum(ops.norm(both, dim=1, keepdim=True), Tensor(1e-12, ms.float32))
        similar = ops.matmul(both, both.T) / self.temperature
        itself = ops.eye(2 * rows, 2 * rows, ms.bool_)
        similar = ops.masked_fill(similar, itself, -1e9)
        partner = np.concatenate([np.arange(rows, 2 * rows), np.arange(rows)]).astype(np.int32)
        return ops.cross_entropy(similar, Tensor(partner))


class AlignmentLoss(nn.Cell):
    """The part of the loss that rows of one image have: their distance."""

    def construct(self, first, second):
        return (2 - 2 * ops.cosine_similarity(first, second, dim=1)).mean()


net = SimCLR()
give_weights(net, scale=1.6)
for one in net.get_parameters():
    if one.name.endswith("bn2.gamma"):
        one.set_data(ops.full_like(one, 0.5))
pair, alignment = PairLoss(), AlignmentLoss()
with_decay = list(filter(lambda one: len(one.shape) > 1, net.trainable_params()))
without = list(filter(lambda one: len(one.shape) <= 1, net.trainable_params()))
optimizer = nn.Momentum(
    [{"params": with_decay, "weight_decay": 1e-3}, {"params": without, "weight_decay": 0.0}],
    learning_rate=WarmCosine(0.3, 3, 8),
    momentum=0.9,
)
reduce = reducer_of(optimizer, ranks)


def forward(first, second):
    z1, z2 = net(first), net(second)
    return pair(z1, z2) + 0.1 * alignment(z1, z2), z1


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
net.set_train()
first, second = make_data(64)
for i, views in enumerate(batches({"first": first, "second": second}, 16, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    if i % 2:
        views = views[::-1]
    (loss, z), gradients = grad_fn(*views)
    optimizer(ops.clip_by_global_norm(reduce(gradients), clip_norm=2.0))
    report(i, loss)
    assert z.shape == (len(views[0]), 6), z.shape
net.set_train(False)
features = ops.mean(net.encoder(Tensor(first[:4])), (2, 3))
print("value features", *(f"{one:.6g}" for one in features.asnumpy()[0, :3]))
finish(net.encoder[0].conv1.weight, net.encoder[1].down[1].moving_mean, net.projector[1].gamma, net.projector[3].bias)
