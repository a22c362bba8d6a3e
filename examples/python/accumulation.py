"""Gradient accumulation: a batch goes through the network in parts, and the optimizer runs once for all of them.

    python3 accumulation.py
    mpirun -n 2 python3 accumulation.py

Two ranks take 64 rows a step, as a whole and in four micro-batches. The gradients are summed before they are averaged
over ranks, so the losses must be those of one rank and one whole batch. Prints them.
"""

import digits

import partita as ms
from partita import nn

RANKS, BATCH, PARTS = 2, 64, 4


def make_model():
    return digits.model_of(nn.SequentialCell(nn.Flatten(), nn.Dense(784, 128), nn.ReLU(), nn.Dense(128, 10)))


if __name__ == "__main__":
    rank = digits.start(RANKS)
    expected = digits.losses_on_one_rank(make_model, digits.rows(BATCH))
    share = digits.rows(BATCH // RANKS, shards=RANKS, shard=rank)
    for parts in (1, PARTS):
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, grad_accumulation_step=parts)
        ms.set_seed(1)
        model = make_model()
        title = "whole batches" if parts == 1 else f"{parts} micro-batches"
        digits.compare(title, digits.losses_of(model, share), expected)
