"""A loop of one's own with annotated products on eight processes, as the documented samples write it.
operator_parallel.py FILE: writes what it computed there, or compares it when the file is there."""

import os
import sys

import numpy as np

import partita as ms
from partita import nn, ops
from partita import dataset as ds
from partita.common.initializer import initializer
from partita.communication import get_group_size, init
from partita.nn.utils import no_init_parameters
from partita.parallel.auto_parallel import AutoParallel

ms.set_context(mode=ms.GRAPH_MODE)
init()
ms.set_seed(1)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = ops.Flatten()
        self.fc1_weight = ms.Parameter(initializer("normal", [16, 24], ms.float32))
        self.fc2_weight = ms.Parameter(initializer("normal", [24, 8], ms.float32))
        self.matmul1, self.relu1, self.matmul2 = ops.MatMul(), ops.ReLU(), ops.MatMul()

    def construct(self, x):
        x = self.flatten(x)
        x = self.matmul1(x, self.fc1_weight)
        x = self.relu1(x)
        return self.matmul2(x, self.fc2_weight)


with no_init_parameters():
    net = Network()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
net.matmul1.shard(((2, 4), (4, 1)))
net.relu1.shard(((4, 1),))
loss_fn = nn.CrossEntropyLoss()


def forward_fn(data, target):
    logits = net(data)
    return loss_fn(logits, target), logits


grad_fn = ms.value_and_grad(forward_fn, None, net.trainable_params(), has_aux=True)


@ms.jit
def train_step(inputs, targets):
    (loss_value, _), grads = grad_fn(inputs, targets)
    optimizer(grads)
    return loss_value


numbers = np.random.default_rng(1)
images, labels = numbers.standard_normal((64, 4, 4)).astype("f4"), numbers.integers(0, 8, 64).astype("i4")
data_set = ds.NumpySlicesDataset((images, labels), ["image", "label"], shuffle=False).batch(32)
parallel_net = train_step
if get_group_size() > 1:
    parallel_net = AutoParallel(train_step, parallel_mode="semi_auto")
    parallel_net.dataset_strategy("full_batch")
found = []
for epoch in range(2):
    for step, (image, label) in enumerate(data_set):
        loss_output = parallel_net(image, label)
        found.append(float(loss_output))
found = np.array([*found, *net.fc1_weight.asnumpy().ravel()])
if get_group_size() == 1 and not os.path.exists(sys.argv[1]):
    np.save(sys.argv[1], found)
else:
    np.testing.assert_allclose(found, np.load(sys.argv[1]), rtol=2e-5, atol=1e-6)
    print("annotated products: ok")
