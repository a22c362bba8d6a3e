"""Data parallelism: each of four ranks trains LeNet on a quarter of every batch.

    python3 data_parallel.py                 # the ranks are threads of this process
    mpirun -n 4 python3 data_parallel.py     # the ranks are processes

A rank reads its own shard of the digits: `shards` and `shard` below. The ranks average their gradients after each step,
so they keep equal weights. Prints the losses of an epoch, which must be those of one rank that reads everything, and
the accuracy on the same rows after four more.
"""

import digits

import partita as ms
from partita import nn, train

RANKS, BATCH = 4, 32


class LeNet(nn.Cell):
    """Two convolutions with pooling, then three dense layers (LeCun et al., 1998)."""

    def __init__(self):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU()
        )
        self.pool, self.flat = nn.MaxPool2d(2, 2), nn.Flatten()
        self.classes = nn.SequentialCell(nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10))

    def construct(self, image):
        return self.classes(self.flat(self.pool(self.features(image))))


def make_model():
    network = LeNet()
    optimizer = nn.Momentum(network.trainable_params(), 0.05, 0.9)
    return train.Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"acc"})


if __name__ == "__main__":
    rank = digits.start(RANKS)
    expected = digits.losses_on_one_rank(make_model, digits.rows(BATCH))

    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    ms.set_seed(1)
    model = make_model()
    share = digits.rows(BATCH // RANKS, shards=RANKS, shard=rank)
    digits.compare("data parallel", digits.losses_of(model, share), expected)

    digits.losses_of(model, share, epochs=4)
    accuracy = model.eval(digits.rows(BATCH))["acc"]
    digits.say(f"accuracy {accuracy:.2f}")
    assert accuracy > 0.5, accuracy
