"""Writes the files of tests/mindspore/files with MindSpore, which tests read without it: write_files.py [FOLDER]."""

import lzma
import os
import stat
import sys

import mindspore as ms
import numpy as np
from mindspore.mindrecord import FileWriter
from mindspore.train.node_strategy_pb2 import ParallelStrategyMap

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
from networks import training

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "files")
os.makedirs(folder, exist_ok=True)
os.chdir(folder)


def of_type(dtype, shape):
    return ms.Tensor(np.arange(int(np.prod(shape)), dtype="f4").reshape(shape) % 2, dtype)


types = {
    "float64": of_type(ms.float64, (2, 3)),
    "float32": ms.Tensor(np.linspace(-1, 1, 6, dtype="f4").reshape(3, 2)),
    "bfloat16": of_type(ms.bfloat16, (5,)),
    "float16": of_type(ms.float16, (2, 2)),
    "int64": ms.Tensor(np.array([-(2**40), 2**40], "i8")),
    "int32": of_type(ms.int32, (1, 2)),
    "uint8": ms.Tensor(np.array([0, 255], "u1")),
    "uint32": ms.Tensor(np.array([2**32 - 1], "u4")),
    "bool": of_type(ms.bool_, (3,)),
    "scalar": ms.Tensor(0.25, ms.float32),
}
named = [{"name": name, "data": ms.Parameter(one, name=name)} for name, one in types.items()]
more = {"epoch": 7, "rate": 0.5, "is_best": True, "who": "Zoë, 東京", "nothing": ""}
ms.save_checkpoint(named, "types.ckpt", append_dict=more, crc_check=True)
integers = {
    "int8": np.array([-128, -1, 127], "i1"),
    "int16": np.array([[-(2**15)], [2**15 - 1]], "i2"),
    "uint16": np.array([2**16 - 1, 0], "u2"),
}
named_integers = [{"name": name, "data": ms.Parameter(ms.Tensor(one), name=name)} for name, one in integers.items()]
ms.save_checkpoint(named_integers, "small_integers.ckpt")
largest = ms.Tensor(np.array([2**64 - 1], "u8"))
ms.save_checkpoint([{"name": "q", "data": ms.Parameter(largest, name="q")}], "uint64.ckpt")
ms.save_checkpoint(named[:1], "encrypted.ckpt", enc_key=b"0123456789ABCDEF")
for network, optimizer in (("norms", "adam"), ("dense", "momentum")):
    cell, train = training(ms, network, optimizer)
    losses = train(0, 3)
    ms.save_checkpoint(cell, f"{optimizer}.ckpt")
    following = ms.Tensor(np.array(train(3, 3), "f4"))
    given = ms.load_checkpoint(f"{optimizer}.ckpt")
    os.chmod(f"{optimizer}.ckpt", stat.S_IRUSR | stat.S_IWUSR)
    ms.save_checkpoint(given, f"{optimizer}.ckpt", append_dict={"next_losses": following})
ms.export(ms.nn.Dense(2, 1), ms.Tensor(np.ones((1, 2), "f4")), file_name="net", file_format="MINDIR")

strategy = ParallelStrategyMap(current_stage=1)
strategy.parallel_strategy_item.add(node_name="MatMul-op0").parallel_strategys.stage = 0
for name, matrix, tensor_map, step, size in (
    ("w", [2, 4], [1, 0], 0, 0),  # rows in 2 parts, columns in 4
    ("v", [2, 4], [0, -1], 4, 2),  # rows in 4 parts, and each of these in 2 for the optimizer
    ("1-far", [4], [0], 0, 0),  # of the second stage
):
    layout = strategy.parallel_layout_item.add(param_name=name).parallel_layouts
    layout.dev_matrix.add().dim.extend(matrix)
    layout.tensor_map.add().dim.extend(tensor_map)
    layout.param_split_shape.add()
    layout.field, layout.opt_weight_shard_step, layout.opt_weight_shard_size = 0, step, size
with open("strategy.ckpt", "wb") as file:
    file.write(strategy.SerializeToString())
writer = FileWriter("rows.mindrecord", 1, overwrite=True)
writer.set_header_size(1 << 14)
writer.set_page_size(1 << 15)
fields = {"name": {"type": "string"}, "label": {"type": "int32"}, "image": {"type": "bytes"}}
writer.add_schema({**fields, "x": {"type": "float32", "shape": [2]}, "ids": {"type": "int64", "shape": [-1]}}, "rows")
writer.write_raw_data(
    [
        {
            "name": f"Zoë {i}",
            "label": i - 2,
            "image": bytes(range(i, i + 3 * i + 1)),
            "x": np.array([i, 0.5], "f4"),
            "ids": np.arange(i + 1, dtype="i8") * (-1000) ** i,
        }
        for i in range(6)
    ]
)
writer.commit()
for name in ("rows.mindrecord", "rows.mindrecord.db"):
    with open(name, "rb") as file, lzma.open(f"{name}.xz", "wb") as packed:
        packed.write(file.read())
    os.remove(name)
for name in os.listdir("."):
    os.chmod(name, 0o644)
