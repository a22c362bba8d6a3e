"""Recomputation: the backward pass recomputes the activations of a layer, which are not kept.

    python3 recomputation.py

Eight wide layers run on two ranks, first as they are, then with `recompute()` on each. Prints the ops of both programs
and their memory. The second program must have more ops, need less memory, and give the same losses.
"""

import re

import digits

import partita as ms
from partita import nn

RANKS, LAYERS, WIDTH = 2, 8, 128


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm, self.gelu = nn.Dense(WIDTH, WIDTH), nn.LayerNorm([WIDTH]), nn.GELU()

    def construct(self, x):
        return x + self.gelu(self.norm(self.dense(x)))


def make_model(recompute=False):
    layers = [Layer() for _ in range(LAYERS)]
    for layer in layers if recompute else ():
        layer.recompute()
    network = nn.SequentialCell(nn.Flatten(), nn.Dense(784, WIDTH), *layers, nn.Dense(WIDTH, 10))
    return digits.model_of(network, rate=0.01)


if __name__ == "__main__":
    digits.start(RANKS)
    data = digits.rows(batch=256, count=2048)
    expected = digits.losses_on_one_rank(make_model, data)
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")
    ops, memory = [], []
    for recompute in (False, True):
        ms.set_seed(1)
        model = make_model(recompute)
        program = model.program(data)
        ops.append(len(program.graph))
        memory.append(float(re.search(r"memory: ([\d.]+) MiB", str(program))[1]))
        title = "recomputed" if recompute else "kept"
        digits.say(f"{title}: {ops[-1]} ops, {memory[-1]} MiB of each rank")
        digits.compare(title, digits.losses_of(model, data), expected)
    assert ops[1] > ops[0] and memory[1] < memory[0], (ops, memory)
