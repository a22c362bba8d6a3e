"""An SSD head on two scales: matches by NumPy, smooth L1, negatives mined by sorting losses of an image twice."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, report, start
from mindspore import Tensor, nn, ops

CLASSES, SIDES, RATIO = 3, (4, 2), 3
rank, ranks = start()


def anchors():
    boxes = []
    for side in SIDES:
        for y in range(side):
            for x in range(side):
                for width, height in ((1.0, 1.0), (1.4, 0.7)):
                    boxes.append([(y + 0.5) / side, (x + 0.5) / side, height / side, width / side])
    return np.array(boxes, np.float32)


def corners(boxes):
    return np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)


def overlap(one, others):
    one, others = corners(one), corners(others)
    sides = np.clip(np.minimum(one[2:], others[:, 2:]) - np.maximum(one[:2], others[:, :2]), 0, None)
    both = sides.prod(-1)
    return both / ((one[2:] - one[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(-1) - both)


def make_data(count, size=16):
    random, all_anchors = np.random.default_rng(12), anchors()
    images = random.normal(0, 0.2, (count, 3, size, size)).astype(np.float32)
    offsets = np.zeros((count, len(all_anchors), 4), np.float32)
    labels = np.zeros((count, len(all_anchors)), np.int32)
    for i in range(count):
        for kind in range(1, CLASSES)[: 1 + i % 2]:
            box = np.append(random.uniform(0.3, 0.7, 2), random.uniform(0.25, 0.5, 2)).astype(np.float32)
            top, left, low, right = np.clip((corners(box) * size).astype(int), 0, size)
            images[i, kind, top:low, left:right] += 1.0
            found = overlap(box, all_anchors)
            taken = (found > 0.3) | (found == found.max())
            offsets[i, taken, :2] = (box[:2] - all_anchors[taken, :2]) / all_anchors[taken, 2:] / 0.1
            offsets[i, taken, 2:] = np.log(box[2:] / all_anchors[taken, 2:]) / 0.2
            labels[i, taken] = kind
    matched = (labels > 0).sum(1).astype(np.int32)
    return images, offsets, labels, matched


class Head(nn.Cell):
    """Flattens the predictions of each scale and joins them."""

    def __init__(self, channels, outputs):
        super().__init__()
        self.outputs = outputs
        self.layers = nn.CellList([nn.Conv2d(one, 2 * outputs, 3, has_bias=True) for one in channels])

    def construct(self, features):
        found = ()
        for layer, feature in zip(self.layers, features):
            x = ops.transpose(layer(feature), (0, 2, 3, 1))
            found += (ops.reshape(x, (x.shape[0], -1, self.outputs)),)
        return ops.concat(found, 1)


class SSD(nn.Cell):
    def __init__(self):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8, eps=1e-3, momentum=0.97), nn.ReLU6(),
                                      nn.Conv2d(8, 12, 3, 2), nn.BatchNorm2d(12), nn.ReLU6())  # fmt: skip
        self.extra = nn.SequentialCell(nn.Conv2d(12, 16, 3, 2, pad_mode="pad", padding=1), nn.ReLU6())
        self.boxes, self.scores = Head((12, 16), 4), Head((12, 16), CLASSES)

    def construct(self, x):
        first = self.stem(x)
        features = (first, self.extra(first))
        return self.boxes(features), self.scores(features)


class SSDWithLoss(nn.Cell):
    def __init__(self, network):
        super().__init__()
        self.network = network
        self.smooth = nn.SmoothL1Loss(reduction="none")
        self.cross_entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
        self.sort_descending, self.sort = ops.Sort(axis=1, descending=True), ops.Sort(axis=1)

    def construct(self, image, offsets, labels, matched):
        boxes, scores = self.network(image)
        positive = ops.cast(ops.greater(labels, 0), ms.float32)
        found = ops.cast(matched, ms.float32).sum()
        where = ops.tile(ops.expand_dims(positive, -1), (1, 1, 4))
        box_loss = ops.reduce_sum(self.smooth(boxes, offsets) * where)
        each = self.cross_entropy(scores.view(-1, CLASSES), labels.view(-1)).view(labels.shape)
        # The rank of each loss among the negatives of its image: the largest are kept.
        negatives = ops.stop_gradient(ops.masked_fill(each, positive.astype(ms.bool_), 0.0))
        _, order = self.sort_descending(negatives)
        _, places = self.sort(order.astype(ms.float32))
        most = ops.minimum(RATIO * matched, Tensor(labels.shape[1], ms.int32)).expand_dims(1)
        kept = ops.cast(ops.less(places, most), ms.float32)
        kept = ops.maximum(kept, positive)
        class_loss = (each * kept).sum()
        return (class_loss + box_loss) / ops.maximum(found, Tensor(1.0, ms.float32))


class TrainingWrapper(nn.Cell):
    """A step that scales the gradients by its sens, as scripts of that time write it."""

    def __init__(self, network, optimizer, sens=1.0):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer, self.sens = network, optimizer, sens
        self.network.set_grad()
        self.weights = ms.ParameterTuple(network.trainable_params())
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)
        self.reducer = nn.DistributedGradReducer(optimizer.parameters, True, ranks) if ranks > 1 else None

    def construct(self, *args):
        loss = self.network(*args)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        gradients = self.grad(self.network, self.weights)(*args, sens)
        if self.reducer is not None:
            gradients = self.reducer(gradients)
        self.optimizer(gradients)
        return loss


columns = dict(zip(("image", "box", "label", "matched"), make_data(32)))
net = SSD()
give_weights(net, scale=1.7)
rates = nn.cosine_decay_lr(0.001, 0.05, total_step=8, step_per_epoch=4, decay_epoch=2)
sens = 16.0
optimizer = nn.Momentum(net.trainable_params(), rates, 0.9, 1.5e-4, loss_scale=sens)
step = TrainingWrapper(SSDWithLoss(net), optimizer, sens)
step.set_train()
for i, given in enumerate(batches(columns, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    report(i, step(*given))
finish(net.stem[0].weight, net.boxes.layers[0].weight, net.scores.layers[1].bias, net.stem[4].moving_variance)
