"""Steps of a network of many kinds of layers on ranks: layers_of_ranks.py FILE writes the losses of one process there,
or compares those of several with them."""

import os
import sys

import numpy as np

import partita as ms
from partita import Tensor, nn, ops
from partita.communication import get_group_size, get_rank, init

ROWS, STEPS = 8, 4
MAP = np.array([[[0.9, 0.1, 0], [0, 0.8, 0.1]]], "f4")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table, self.conv, self.dense = nn.Embedding(6, 8), nn.Conv2d(1, 4, 3), nn.Linear(8, 4)
        self.norms = nn.SequentialCell(nn.InstanceNorm2d(4), nn.GroupNorm(2, 4), nn.LRN(1))
        self.pool, self.loss = nn.AdaptiveMaxPool2d((5, 3)), nn.CTCLoss(reduction="none")

    def construct(self, x, ids, labels):
        n = x.shape[0]
        y = self.pool(self.norms(self.conv(x)))
        y = ops.grid_sample(y, ops.affine_grid(Tensor(np.tile(MAP, (n, 1, 1))), (n, 4, 5, 3)))
        y = ops.pixel_unshuffle(ops.interpolate(y, (6, 4), mode="bicubic"), 2)
        y = self.dense(y.reshape(n, 8, 12)[:, :, :8] + self.table(ids).expand_dims(1))
        lengths = Tensor(np.full(n, 8, "i4")), Tensor(np.full(n, 2, "i4"))
        return self.loss(ops.log_softmax(y.swapaxes(0, 1), -1), labels, *lengths).mean()


init()
ms.set_seed(1)
ranks, rank, drawn = get_group_size(), get_rank(), np.random.default_rng(3)
if ranks > 1:
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
net = Net()
optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
step, losses = ms.value_and_grad(net, None, optimizer.parameters), []
own = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)
for _ in range(STEPS):
    images = drawn.standard_normal((ROWS, 1, 7, 6)).astype("f4")
    ids, labels = drawn.integers(-3, 3, ROWS).astype("i4"), drawn.integers(1, 4, (ROWS, 2)).astype("i4")
    loss, gradients = step(*(Tensor(one[own]) for one in (images, ids, labels)))
    optimizer(gradients)
    losses.append(float(loss))
if ranks == 1 and not os.path.exists(sys.argv[1]):
    np.save(sys.argv[1], losses)
else:
    np.testing.assert_allclose(losses, np.load(sys.argv[1]), rtol=2e-5)
    if rank == 0:
        print(f"layers on {ranks} processes: ok", flush=True)
