"""Planning: the best way to train a network on a cluster that you do not have.

    python3 plan_for_a_cluster.py

Nothing is trained and no GPU is needed. Prints the best configuration for 8 H100 GPUs, and what it costs to choose
four-fold tensor parallelism instead, which must not be less.
"""

import digits

import partita as ms
from partita import nn

if __name__ == "__main__":
    digits.start(1)
    width = 4096
    network = nn.SequentialCell(
        nn.Flatten(), nn.Dense(digits.SIZE**2, width), nn.ReLU(), nn.Dense(width, width), nn.ReLU(), nn.Dense(width, 10)
    )
    model, data = digits.model_of(network), digits.rows(batch=4096, count=4096)
    best = ms.plan(model, data, cluster="h100", ranks=8)
    digits.say(f"best: {best.configuration}: {1e6 * best.seconds:.0f} us a step, {best.memory / 2**20:.0f} MiB a GPU")
    pinned = ms.plan(model, data, cluster="h100", ranks=8, pins="tensor=4")
    digits.say(f"tensor=4: {pinned.configuration}: {1e6 * pinned.seconds:.0f} us a step")
    assert best.fits and best.seconds <= pinned.seconds, (best.seconds, pinned.seconds)
