"""Distillation: a teacher that is a deep copy, trained first, then a student with soft targets and hints by a hook."""

import copy

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Tensor, nn, ops

CLASSES, FEATURES = 4, 12
rank, ranks = start()


def make_data(count):
    random = np.random.default_rng(21)
    centres = random.normal(size=(CLASSES, FEATURES))
    labels = np.arange(count) % CLASSES
    return (centres[labels] + random.normal(0, 0.8, (count, FEATURES))).astype(np.float32), labels.astype(np.int32)


class Layer(nn.Cell):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.dense, self.norm = nn.Dense(inputs, outputs), nn.BatchNorm1d(outputs, momentum=0.8)

    def construct(self, x):
        return ops.gelu(self.norm(self.dense(x)))


class Net(nn.Cell):
    def __init__(self, width, depth=2):
        super().__init__()
        sizes = [FEATURES] + [width] * depth
        self.body = nn.SequentialCell([Layer(a, b) for a, b in zip(sizes, sizes[1:])])
        self.head = nn.Dense(width, CLASSES)

    def construct(self, x):
        return self.head(self.body(x))


class Kept:
    """Keeps what a layer returned, by a hook of its calls."""

    def __init__(self, cell):
        self.output, self.calls = None, 0
        self.handle = cell.register_forward_hook(self)

    def __call__(self, cell, inputs, output):
        self.output = output
        self.calls += 1


def soft_loss(student, teacher, temperature):
    logs = ops.log_softmax(student / temperature, axis=-1)
    probabilities = ops.softmax(teacher / temperature, axis=-1)
    return ops.kl_div(logs, probabilities, reduction="batchmean") * temperature**2


def train_teacher(net, columns):
    """Two steps on labels alone."""
    optimizer = nn.SGD(net.trainable_params(), 0.3)
    reduce, loss_fn = reducer_of(optimizer, ranks), nn.CrossEntropyLoss()
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    net.set_train()
    for _, (x, y) in zip(range(2), batches(columns, 16, rank, ranks)):
        loss, gradients = grad_fn(x, y)
        optimizer(reduce(gradients))
        print(f"value teacher {float(loss):.7g}")


columns = dict(zip(("x", "y"), make_data(64)))
student = Net(10)
give_weights(student, scale=1.5)
teacher = copy.deepcopy(student)
train_teacher(teacher, columns)
teacher.set_train(False)
teacher.set_grad(False)
for one in teacher.get_parameters():
    one.requires_grad = False
of_student, of_teacher = Kept(student.body[0]), Kept(teacher.body[0])
frozen = student.body[1].dense.bias
frozen.requires_grad = False
rates = nn.piecewise_constant_lr([3, 6, 8], [0.1, 0.05, 0.02])
optimizer = nn.Momentum(student.trainable_params(), learning_rate=rates, momentum=0.9, use_nesterov=False)
reduce = reducer_of(optimizer, ranks)
hard_loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def forward(x, y, weight):
    logits = student(x)
    soft = soft_loss(logits, ops.stop_gradient(teacher(x)), 2.0)
    hint = ops.mse_loss(of_student.output, ops.stop_gradient(of_teacher.output))
    return weight * hard_loss(logits, y) + (1 - weight) * soft + 0.3 * hint, logits


grad_fn = ms.value_and_grad(forward, None, student.trainable_params(), has_aux=True)
student.set_train()
for i, (x, y) in enumerate(batches(columns, 16, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    (loss, logits), gradients = grad_fn(x, y, 0.9 - 0.1 * i)
    optimizer(reduce(gradients))
    report(i, loss)
    if i == 5:
        teacher = copy.deepcopy(student)  # born again: from here on its own teacher
        teacher.set_train(False)
        of_teacher.handle.remove()
        of_teacher = Kept(teacher.body[0])
print(f"value calls {of_student.calls} {of_teacher.calls}")
student.set_train(False)
print(f"value right {float((student(Tensor(columns['x'])).argmax(1).asnumpy() == columns['y']).mean()):.5f}")
kept = student.body[1].norm
finish(student.head.weight, student.body[0].dense.bias, frozen, kept.moving_variance, teacher.head.weight)
