"""Steps of batches in parts on ranks: divided_ranks.py VALUES writes the losses of one rank, or compares with them
those of four ranks: two stages times two of data, and four with rows of their own."""

import os
import sys

import numpy as np
from test_divided import KEPT, Masked, Step, X

import partita as ms
from partita import Tensor, nn, ops
from partita.communication import create_group, get_group_size, get_rank, init

init()
ms.set_context(mode=ms.GRAPH_MODE)
ranks, rank = get_group_size(), get_rank()
stages = 2 if ranks > 1 else 1
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, pipeline_stages=stages)
within = ranks // stages
create_group("stages", [rank % within + i * within for i in range(stages)])


class Shared(nn.Cell):
    """The network on the last stage, with a sum over the stages: others have nothing of it."""

    def __init__(self):
        super().__init__()
        self.net = Masked()
        self.net.fc.matmul.shard(((within, 1), (1, 1)))
        self.net.pipeline_stage = stages - 1
        self.sum_of_stages = ops.AllReduce(group="stages")

    def construct(self, x, kept):
        return self.sum_of_stages(self.net(x, kept))


def losses(parts):
    ms.set_seed(1)
    net = Shared()
    step = Step(nn.PipelineCell(net, parts), nn.Momentum(net.trainable_params(), 0.05, 0.9), 4.0, parts)
    x, kept = np.tile(X, (2, 1)), np.tile(KEPT, 2)
    return [float(step(Tensor(x), Tensor(kept))) for _ in range(4)]


def of_own_rows(parts):
    """The losses where every process has rows of its own: each part has rows of each."""
    ms.set_auto_parallel_context(full_batch=False, dataset_strategy="data_parallel", pipeline_stages=1)
    ms.set_seed(1)
    net, size = Masked(), len(X) // parts  # rows of a part in one of four processes
    step = Step(nn.GradAccumulationCell(net, parts), nn.Momentum(net.trainable_params(), 0.05, 0.9), 4.0, parts)
    if ranks == 1:  # the rows of four processes: a part of all has that part of each
        places = [i + 4 * j for part in range(parts) for i in range(4) for j in range(part * size, (part + 1) * size)]
    else:
        places = range(rank, 24, 4)
    rows = [Tensor(one[list(places)]) for one in (X24, KEPT24)]
    return [float(step(*rows)) for _ in range(4)]


drawn = np.random.default_rng(8)
X24, KEPT24 = drawn.standard_normal((24, 3)).astype("f4"), (drawn.random(24) < 0.6).astype("f4")
found = np.array([losses(parts) for parts in (2, 3)] + [of_own_rows(parts) for parts in (2, 3)])
path = sys.argv[1]
if os.path.exists(path):
    np.testing.assert_allclose(found, np.load(path), rtol=1e-5)
else:
    np.save(path, found)
print("parts of batches: ok", flush=True)
