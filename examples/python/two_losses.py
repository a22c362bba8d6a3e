"""A loss of your own: one network, two outputs, two losses, in `Model` and in a loop that you write yourself.

    python3 two_losses.py
    mpirun -n 2 python3 two_losses.py

The network learns the class of a digit and the share of its pixels that are bright. `Model` takes the sum of both
losses from a cell. The loop computes the same steps with `value_and_grad` under `jit`, and also sees each loss. Prints
both; all three trainings must have equal losses.
"""

import digits

import partita as ms
from partita import nn, ops
from partita.communication import get_rank

RANKS, BATCH, RATE = 2, 32, 0.02


class TwoHeads(nn.Cell):
    def __init__(self):
        super().__init__()
        self.body = nn.SequentialCell(nn.Flatten(), nn.Dense(digits.SIZE**2, 64), nn.ReLU())
        self.classes, self.brightness = nn.Dense(64, 10), nn.Dense(64, 1)

    def construct(self, image):
        x = self.body(image)
        return self.classes(x), self.brightness(x)


class TwoLosses(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network, self.entropy = network, nn.CrossEntropyLoss()

    def construct(self, image, label):
        """Returns the sum to minimise, then its parts."""
        logits, brightness = self.network(image)
        bright = (image > 0.5).astype(ms.float32).mean((1, 2, 3)).expand_dims(1)
        entropy, error = self.entropy(logits, label), ops.square(brightness - bright).mean()
        return entropy + 2 * error, entropy, error


def make_model():
    return digits.model_of(TwoLosses(TwoHeads()), loss=None, rate=RATE)


def losses_of_loop(data):
    losses = TwoLosses(TwoHeads())
    optimizer = nn.Momentum(losses.trainable_params(), RATE, 0.9)
    step_of = ms.value_and_grad(losses, None, optimizer.parameters, has_aux=True)

    @ms.jit
    def step(image, label):
        (total, entropy, error), gradients = step_of(image, label)
        optimizer(gradients)
        return total, entropy, error

    found = []
    for image, label in data:
        total, entropy, error = step(image, label)
        found.append(float(total))
    digits.say(f"loop: in the end {float(entropy):.3f} for the class and {float(error):.4f} for the brightness")
    return found


if __name__ == "__main__":
    digits.start(RANKS)
    expected = digits.losses_on_one_rank(make_model, digits.rows(BATCH))
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    share = digits.rows(BATCH // RANKS, shards=RANKS, shard=get_rank())
    ms.set_seed(1)
    digits.compare("Model", digits.losses_of(make_model(), share), expected)
    ms.set_seed(1)
    digits.compare("loop", losses_of_loop(share), expected)
