"""Helpers of the scripts of this folder: their place in a job, rows by shards, given weights, and the lines they print.

Every script runs unchanged under MindSpore and under `python -m partita.msrun`."""

import os

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Tensor, nn
from mindspore.communication import get_group_size, get_rank, init

STEPS = int(os.environ.get("PORTION_STEPS", "8"))


def start(seed=1):
    """Begins the script: the mode, and the job when the environment asks for one. Returns (rank, ranks)."""
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
    ms.set_seed(seed)
    if "PORTION_RANKS" not in os.environ:
        return 0, 1
    init()
    if "PORTION_BATCH_NORM" in os.environ:  # which only partita has
        ms.set_context(batch_norm=os.environ["PORTION_BATCH_NORM"])
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    return get_rank(), get_group_size()


def reducer_of(optimizer, ranks):
    """The reduction of gradients over ranks; one process needs none."""
    if ranks == 1:
        return lambda gradients: gradients
    return nn.DistributedGradReducer(optimizer.parameters, mean=True)


def batches(columns, batch, rank, ranks, epochs=1):
    """Tuples of the columns, `batch` rows of all ranks in each."""
    names = list(columns)
    data = ds.NumpySlicesDataset(columns, names, shuffle=False, num_shards=ranks, shard_id=rank)
    data = data.batch(batch // ranks, drop_remainder=True)
    for _ in range(epochs):
        yield from data.create_tuple_iterator(num_epochs=1)


def give_weights(net, seed=3, scale=1.0):
    """Weights and biases from NumPy in the order of the parameters; norms keep their ones and zeros."""
    random = np.random.default_rng(seed)
    for one in net.trainable_params():
        if one.name.endswith(("gamma", "beta")):
            continue
        bound = scale / np.sqrt(max(1, int(np.prod(one.shape[1:]))))
        one.set_data(Tensor(random.uniform(-bound, bound, one.shape).astype(np.float32)))


def report(step, loss):
    print(f"step {step} loss {float(loss.asnumpy()):.8g}", flush=True)


def finish(*parameters):
    """Prints a few numbers of each parameter, and the sum of its squares."""
    for one in parameters:
        values = one.asnumpy().astype(np.float64).ravel()
        few = " ".join(f"{value:.7g}" for value in [*values[:3], np.square(values).sum()])
        print(f"weight {one.name} {few}", flush=True)
