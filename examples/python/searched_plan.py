"""Automatic parallelism: three searches cut a network that says nothing about ranks.

    python3 searched_plan.py
    mpirun -n 4 python3 searched_plan.py

`recursive_programming` and `dynamic_programming` choose the cuts of all ops by their cost. `sharding_propagation`
completes the annotations that there are; here the input of the first layer has one. Prints how each search cuts the
weights; the losses must be those of one rank every time.
"""

import functools

import digits

import partita as ms
from partita import nn

RANKS = 4


def make_model(annotated=False):
    first = nn.Dense(digits.SIZE**2, 256)
    if annotated:
        first = first.shard(((1, RANKS),))  # each rank has a quarter of the pixels of every image
    rest = [nn.ReLU(), nn.Dense(256, 128), nn.ReLU(), nn.Dense(128, digits.CLASSES)]
    return digits.model_of(nn.SequentialCell(nn.Flatten(), first, *rest))


def cut_weights(program):
    """The parts of the weights that are cut."""
    found = []
    for one in program.layouts:
        part = [end - begin for begin, end in one["slices"][0][1]]
        if one["is_weight"] and part != list(one["shape"]):
            found.append(f"{one['name']} {list(one['shape'])} into {part}")
    return found


if __name__ == "__main__":
    digits.start(RANKS)
    data = digits.rows(batch=32, count=256)
    for search in ("recursive_programming", "dynamic_programming", "sharding_propagation"):
        make = functools.partial(make_model, annotated=search == "sharding_propagation")
        expected = digits.losses_on_one_rank(make, data)
        ms.set_auto_parallel_context(parallel_mode="auto_parallel", search_mode=search, dataset_strategy="full_batch")
        ms.set_seed(1)
        model = make()
        cuts = cut_weights(model.program(data))
        digits.say(f"{search} cuts", ", ".join(cuts) or "the batch alone")
        assert cuts or search != "sharding_propagation", "the annotation has no effect"
        digits.compare(search, digits.losses_of(model, data), expected)
