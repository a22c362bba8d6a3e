"""A script of the documented system, not a word changed: `partita.msrun` runs it, and `mindspore` is Partita there.

    python3 -m partita.msrun --worker_num 2 unchanged_imports.py

Fits a line through noisy points. Prints its slope and offset on each rank, which must be near 3 and -1.
"""

import numpy as np

import mindspore as ms
from mindspore import dataset as ds
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
numbers = np.random.default_rng(3)
x = numbers.uniform(-1, 1, (256, 1)).astype("f4")
y = 3 * x - 1 + numbers.normal(0, 0.1, x.shape).astype("f4")
shards = {"num_shards": get_group_size(), "shard_id": get_rank()} if get_group_size() > 1 else {}
points = ds.NumpySlicesDataset((x, y), ["x", "y"], **shards).batch(16)
line = nn.Dense(1, 1)
ms.Model(line, nn.MSELoss(), nn.SGD(line.trainable_params(), 0.1)).train(20, points)
slope, offset = line.weight.asnumpy().item(), line.bias.asnumpy().item()
print(f"rank {get_rank()}: {slope:.2f} x {offset:+.2f}", flush=True)
assert abs(slope - 3) < 0.1 and abs(offset + 1) < 0.1
