"""Burgers' equation: the residual has first and second derivatives by the inputs, and terms of its own."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Tensor, nn, ops

VISCOSITY = 0.01 / np.pi
rank, ranks = start()


class Network(nn.Cell):
    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(2, width), nn.Tanh(), nn.Dense(width, width), nn.Tanh(), nn.Dense(width, 1)
        )

    def construct(self, x, t):
        return self.layers(ops.concat((x, t), 1))


class Residual(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.by_both = ops.grad(net, (0, 1))
        self.by_place_twice = ops.grad(lambda x, t: ops.grad(net, 0)(x, t))

    def construct(self, x, t):
        u_x, u_t = self.by_both(x, t)
        return u_t + self.net(x, t) * u_x - VISCOSITY * self.by_place_twice(x, t)


random = np.random.default_rng(21)
rows = {
    "x": random.uniform(-1, 1, (64, 1)).astype(np.float32),
    "t": random.uniform(0, 1, (64, 1)).astype(np.float32),
}
places = np.linspace(-1, 1, 20, dtype=np.float32).reshape(-1, 1)
places, begin = Tensor(places), Tensor(-np.sin(np.pi * places))
net = Network()
give_weights(net)
residual = Residual(net)
optimizer = nn.Adam(net.trainable_params(), 0.01, eps=1e-4)
reduce = reducer_of(optimizer, ranks)


def forward(x, t):
    first = net(places, ops.zeros_like(places)) - begin
    ends = net(ops.ones_like(t), t) ** 2 + net(-ops.ones_like(t), t) ** 2
    return ops.mean(residual(x, t) ** 2) + ops.mean(first**2) + ends.mean()


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
for i, (x, t) in enumerate(batches(rows, 16, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    loss, gradients = grad_fn(x, t)
    optimizer(reduce(gradients))
    report(i, loss)
finish(net.layers[0].weight, net.layers[4].bias)
