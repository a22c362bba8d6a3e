"""Hybrid parallelism: data parallel, but each rank keeps a quarter of the optimizer's states and of one large weight.

    python3 optimizer_shards.py
    mpirun -n 4 python3 optimizer_shards.py

`layerwise_parallel` gives each rank its rows of a weight, so the gradient of that weight is not communicated.
`enable_parallel_optimizer` divides the momentum of all other weights. Prints how many bytes of states a rank holds of
how many; the losses must be those of one rank.
"""

import digits
import numpy as np

import partita as ms
from partita import nn, ops
from partita.common.initializer import Normal, initializer

RANKS, WIDE = 4, 512


class WideFirst(nn.Cell):
    def __init__(self):
        super().__init__()
        start = initializer(Normal(0.05), [WIDE, digits.SIZE**2])
        self.wide = ms.Parameter(start, name="wide", layerwise_parallel=True)
        self.flat, self.product, self.relu = nn.Flatten(), ops.MatMul(transpose_b=True), nn.ReLU()
        self.inner, self.classes = nn.Dense(WIDE, 128), nn.Dense(128, 10)

    def construct(self, image):
        x = self.relu(self.product(self.flat(image), self.wide))
        return self.classes(self.relu(self.inner(x)))


def make_model():
    return digits.model_of(WideFirst())


def bytes_of_rank_0(layouts, wanted):
    """(those that rank 0 holds, all) of the states that are wanted."""
    held = whole = 0
    for one in layouts:
        if wanted(one):
            whole += 4 * int(np.prod(one["shape"]))
            own = [box for rank, box in one["slices"] if rank == 0]
            held += sum(4 * int(np.prod([end - begin for begin, end in box])) for box in own)
    return held, whole


if __name__ == "__main__":
    rank = digits.start(RANKS)
    expected = digits.losses_on_one_rank(make_model, digits.rows(batch=32))

    ms.set_auto_parallel_context(
        parallel_mode="hybrid_parallel",
        gradients_mean=True,
        enable_parallel_optimizer=True,
        parallel_optimizer_config={"parallel_optimizer_threshold": 0},  # small states are divided, too
    )
    ms.set_seed(1)
    model = make_model()
    share = digits.rows(batch=8, shards=RANKS, shard=rank)
    layouts = model.program(share).layouts
    for kind, is_weight in (("weights", True), ("states of the optimizer", False)):
        held, whole = bytes_of_rank_0(layouts, lambda one: one["is_weight"] == is_weight)
        digits.say(f"{kind}: rank 0 holds {held} of {whole} bytes")
        assert held < (0.5 if is_weight else 0.3) * whole, kind
    digits.compare("hybrid", digits.losses_of(model, share), expected)
