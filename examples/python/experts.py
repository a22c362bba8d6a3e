"""A mixture of experts with a loss of its own: four experts, one on each rank, and a second loss that balances them.

    python3 experts.py
    mpirun -n 4 python3 experts.py

The tokens are the rows of an image. A router sends each of them to two of the experts, which `dispatch` and `combine`
exchange between ranks. The network returns its loss itself: the cross entropy plus a small part of the balance loss
(Fedus et al., 2021). Prints how many all-to-alls rank 0 takes part in; the losses must be those of one rank.
"""

import digits

import partita as ms
from partita import nn, ops
from partita.common.initializer import Normal, initializer
from partita.ops import registry

RANKS = EXPERTS = 4
CHOICES, SLOTS = 2, 20  # experts of a token; tokens that an expert takes of an image
WIDTH, INNER = 32, 64  # of a token; within an expert


class Experts(nn.Cell):
    """Two products for each expert, on [experts, rows, width]."""

    def __init__(self, width):
        super().__init__()
        self.up = ms.Parameter(initializer(Normal(0.1), [EXPERTS, width, INNER]), name="up")
        self.down = ms.Parameter(initializer(Normal(0.1), [EXPERTS, INNER, width]), name="down")
        self.widen, self.relu, self.narrow = ops.BatchMatMul(), ops.ReLU(), ops.BatchMatMul()
        for product in (self.widen, self.narrow):
            product.shard(((EXPERTS, 1, 1), (EXPERTS, 1, 1)))
        self.relu.shard(((EXPERTS, 1, 1),))

    def construct(self, x):
        return self.narrow(self.relu(self.widen(x, self.up)), self.down)


class Mixture(nn.Cell):
    """Returns what the experts make of x[batch, tokens, width], and the balance loss."""

    def __init__(self, width):
        super().__init__()
        self.width, self.router, self.experts = width, nn.Dense(width, EXPERTS), Experts(width)

    def construct(self, x):
        shares = ops.softmax(self.router(x))
        weights, chosen = ops.topk(shares, CHOICES)
        weights = weights / weights.sum(-1, keepdims=True)
        slots = registry.assign_slots(chosen, experts=EXPERTS, capacity=SLOTS)
        sent = registry.dispatch(x, slots, size=EXPERTS * SLOTS)
        by_expert = sent.reshape(-1, EXPERTS, SLOTS, self.width).transpose(1, 0, 2, 3)
        made = self.experts(by_expert.reshape(EXPERTS, -1, self.width))
        back = made.reshape(EXPERTS, -1, SLOTS, self.width).transpose(1, 0, 2, 3)
        mixed = registry.combine(back.reshape(-1, EXPERTS * SLOTS, self.width), slots, weights)
        used = ops.one_hot(chosen, EXPERTS).mean((1, 2))
        return mixed, EXPERTS * (used * shares.mean(1)).sum(-1).mean()


class Loss(nn.Cell):
    """The cross entropy of the digits, plus a hundredth of the balance loss."""

    def __init__(self):
        super().__init__()
        self.embed, self.mixture = nn.Dense(digits.SIZE, WIDTH), Mixture(WIDTH)
        self.classes = nn.SequentialCell(nn.Flatten(), nn.Dense(digits.SIZE * WIDTH, digits.CLASSES))
        self.entropy = nn.CrossEntropyLoss()

    def construct(self, image, label):
        tokens = self.embed(image.reshape(-1, digits.SIZE, digits.SIZE))
        mixed, balance = self.mixture(tokens)
        return self.entropy(self.classes(tokens + mixed), label) + 0.01 * balance


def make_model():
    return digits.model_of(Loss(), loss=None)


if __name__ == "__main__":
    digits.start(RANKS)
    data = digits.rows(batch=32)
    expected = digits.losses_on_one_rank(make_model, data)

    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")
    ms.set_seed(1)
    model = make_model()
    exchanges = str(model.program(data).rank(0)).count("= all_to_all")
    digits.say(f"rank 0 takes part in {exchanges} all-to-alls a step")
    assert exchanges == 4, exchanges  # to the experts and back, forward and backward
    digits.compare("experts", digits.losses_of(model, data), expected)
