"""Whole checkpoints: each process writes a file with all weights, although each rank holds only a part of them.

    python3 save_whole.py [FOLDER]
    mpirun -n 4 python3 save_whole.py [FOLDER]

The files are FOLDER/rank_N/digits-1_16.safetensors. Reads the file in two ways: into another network, which must
evaluate alike, and with NumPy alone. Prints what is in it.
"""

import json
import sys

import digits
import numpy as np

import partita as ms
from partita import nn, ops, train
from partita.common.initializer import Normal, initializer
from partita.communication import comm_func, get_group_size
from partita.communication.management import is_process

RANKS = 4


class WideNetwork(nn.Cell):
    """Two layers. A rank holds a part of the rows of the first weight, or all of them without `parts`."""

    def __init__(self, parts=1):
        super().__init__()
        self.wide = ms.Parameter(initializer(Normal(0.05), [256, digits.SIZE**2]), name="wide")
        self.flat, self.product, self.relu = nn.Flatten(), ops.MatMul(transpose_b=True), nn.ReLU()
        self.classes = nn.Dense(256, digits.CLASSES)
        if parts > 1:
            self.product.shard(((1, 1), (parts, 1)))

    def construct(self, image):
        return self.classes(self.relu(self.product(self.flat(image), self.wide)))


def make_model(network):
    optimizer = nn.Momentum(network.trainable_params(), 0.05, 0.9)
    return train.Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"loss", "acc"})


def read_safetensors(path):
    """The arrays of a file: eight bytes with the length of a JSON header, the header, then the elements."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        elements = file.read()
    header.pop("__metadata__", None)
    types = {"F32": "f4", "I32": "i4", "I64": "i8", "F64": "f8"}
    return {
        name: np.frombuffer(elements[slice(*one["data_offsets"])], types[one["dtype"]]).reshape(one["shape"])
        for name, one in header.items()
    }


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "whole"
    rank = digits.start(RANKS)
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch")
    ms.set_seed(1)
    model, data = make_model(WideNetwork(RANKS)), digits.rows(batch=32)
    config = train.CheckpointConfig(save_checkpoint_steps=8, keep_checkpoint_max=1, format="safetensors")
    own = digits.empty_folder(folder, f"rank_{rank}")
    checkpoints = train.ModelCheckpoint("digits", own, config)
    digits.losses_of(model, data, checkpoints)
    trained = model.eval(data)

    path = checkpoints.latest_ckpt_file_name
    other = WideNetwork()
    missing, unused = ms.load_param_into_net(other, ms.load_checkpoint(path))
    assert not missing and unused, (missing, unused)  # what the network does not need are the optimizer's states
    ms.reset_auto_parallel_context()
    loaded = make_model(other).eval(data)
    assert abs(loaded["loss"] - trained["loss"]) < 1e-5 * trained["loss"], (loaded, trained)
    digits.say(f"{path}: loss {loaded['loss']:.4f}, accuracy {loaded['acc']:.2f}, as before")

    for name, array in read_safetensors(path).items():
        digits.say(f"  {name} {list(array.shape)}")
        if name in other.parameters_dict():
            np.testing.assert_array_equal(array, other.parameters_dict()[name].asnumpy())
    if is_process():
        comm_func.barrier()  # until all have written
        texts = {open(path.replace(f"rank_{rank}", f"rank_{i}"), "rb").read() for i in range(get_group_size())}
        assert len(texts) == 1, "files of ranks differ"
