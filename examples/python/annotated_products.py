"""Semi-automatic sharding: annotations cut two matrix products over a grid of ranks, and their weights with them.

    python3 annotated_products.py
    mpirun -n 4 python3 annotated_products.py

The ranks form a grid of 2 x 2. The batch is cut along one axis of the grid and the hidden layer along the other: `up`
by its columns, `down` by its rows (Shoeybi et al., 2019). Ops without an annotation, such as the loss, cut the batch
over all ranks. Prints the part of each weight that a rank holds, and what rank 0 communicates in a step: sums of the
gradients, and around the loss. The losses must be those of one rank.
"""

import re

import digits

import partita as ms
from partita import nn, ops
from partita.common.initializer import Normal, initializer

RANKS, HIDDEN = 4, 64
GRID = ms.Layout((2, 2), ("batch", "hidden"))


class TwoProducts(nn.Cell):
    def __init__(self):
        super().__init__()
        pixels = digits.SIZE**2
        self.up = ms.Parameter(initializer(Normal(0.05), [pixels, HIDDEN]), name="up")
        self.down = ms.Parameter(initializer(Normal(0.05), [HIDDEN, digits.CLASSES]), name="down")
        # Each annotation says, for each operand, which axis of the grid cuts each dimension.
        self.flat = ops.Flatten().shard((GRID("batch", "None", "None", "None"),))
        self.widen = ops.MatMul().shard((GRID("batch", "None"), GRID("None", "hidden")))
        self.relu = ops.ReLU().shard((GRID("batch", "hidden"),))
        self.narrow = ops.MatMul().shard((GRID("batch", "hidden"), GRID("hidden", "None")))

    def construct(self, image):
        return self.narrow(self.relu(self.widen(self.flat(image), self.up)), self.down)


def make_model():
    return digits.model_of(TwoProducts())


if __name__ == "__main__":
    digits.start(RANKS)
    data = digits.rows(batch=32)
    expected = digits.losses_on_one_rank(make_model, data)

    # Every rank reads the whole batch and takes its rows of it.
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")
    ms.set_seed(1)
    model = make_model()
    program = model.program(data)
    parts = {one["name"]: [end - begin for begin, end in one["slices"][0][1]] for one in program.layouts}
    digits.say(f"a rank holds up{parts['up']} and down{parts['down']}")
    assert parts["up"] == [784, HIDDEN // 2] and parts["down"] == [HIDDEN // 2, 10], parts
    for kind, value, size in re.findall(r"= (\w+)\(%(\w+)\).* bytes (\d+)", str(program.rank(0))):
        if int(size) > 4:
            digits.say(f"rank 0: {kind} of %{value}, {size} bytes")
    digits.compare("annotated", digits.losses_of(model, data), expected)
