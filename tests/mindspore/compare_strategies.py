"""Compares what this package and MindSpore make of strategy files: compare_strategies.py mindspore|partita FOLDER.

The first call, with mindspore, writes strategies of random layouts, binary and JSON, and files of ranks that it cuts by
them; both print the checksums of what transform_checkpoints makes, and transform_checkpoint_by_rank of the files that
rank_list_for_transform names."""

import importlib
import itertools
import json
import os
import random
import sys
import zlib

import numpy as np

side, folder = sys.argv[1:3]
ms = importlib.import_module(side)
RANKS, PARAMETERS = 8, {"w": (16, 32), "v": (8, 16), "moments.w": (16, 32), "t": (8, 8, 16), "b": (64,)}


def layout_of(dims, chance):
    """A random cut of `dims` dimensions over 8 ranks: (dev_matrix, tensor_map, step, size)."""
    matrix = chance.choice([[8], [2, 4], [4, 2], [2, 2, 2]])
    axes = chance.sample(range(len(matrix)), len(matrix))
    cut = [axes.pop() if axes and chance.random() < 0.6 else -1 for _ in range(dims)]
    tensor_map = [-1 if one == -1 else len(matrix) - 1 - one for one in cut]
    rest = [size for i, size in enumerate(matrix) if i not in cut]
    step, size = 0, 0
    used = [one for one in cut if one != -1]
    # Parts of the optimizer, where copies are apart by as many ranks as there are other parts.
    if rest and all(i >= len(rest) for i in used) and chance.random() < 0.5:
        step = int(np.prod([matrix[i] for i in used], dtype=int))
        size = chance.choice([int(np.prod(rest)), -1])
    return matrix, tensor_map, step, size


def write_strategies():
    from mindspore.train.node_strategy_pb2 import ParallelStrategyMap

    chance = random.Random(7)
    for case in range(12):
        layouts = {name: layout_of(len(shape), chance) for name, shape in PARAMETERS.items()}
        binary = ParallelStrategyMap(current_stage=1)
        item = binary.parallel_strategy_item.add(node_name="MatMul-op0")
        item.parallel_strategys.stage = 0
        item.parallel_strategys.parallel_strategy.add().dim.extend([2, 4])
        text = {
            "current_stage": 1,
            "parallel_strategy_item": {"MatMul-op0": {"stage": 0, "parallel_strategy": [[2, 4]]}},
        }
        text["parallel_layout_item"] = {}
        for name, (matrix, tensor_map, step, size) in layouts.items():
            one = binary.parallel_layout_item.add(param_name=name).parallel_layouts
            one.dev_matrix.add().dim.extend(matrix)
            one.tensor_map.add().dim.extend(tensor_map)
            one.param_split_shape.add()
            one.indices_offset.add()
            one.field, one.opt_weight_shard_step, one.opt_weight_shard_size = 0, step, size
            text["parallel_layout_item"][name] = {
                "dev_matrix": matrix,
                "tensor_map": tensor_map,
                "param_split_shape": [],
                "indices_offset": [],
                "field": 0,
                "opt_weight_shard_step": step,
                "opt_weight_shard_size": size,
            }
        with open(os.path.join(folder, f"{case}.ckpt"), "wb") as file:
            file.write(binary.SerializeToString())
        with open(os.path.join(folder, f"{case}.json"), "w") as file:
            json.dump(text, file)
    chance = np.random.default_rng(1)
    whole = [
        {"name": name, "data": ms.Parameter(ms.Tensor(chance.random(shape, "f4")), name=name)}
        for name, shape in PARAMETERS.items()
    ]
    whole.append({"name": "global_step", "data": ms.Parameter(ms.Tensor([7], ms.int32), name="global_step")})
    os.makedirs(os.path.join(folder, "whole", "rank_0"))
    ms.save_checkpoint(whole, os.path.join(folder, "whole", "rank_0", "net.ckpt"))


def print_files(path):
    for rank in sorted(os.listdir(path)):
        (name,) = os.listdir(os.path.join(path, rank))
        found = ms.load_checkpoint(os.path.join(path, rank, name))
        sums = [
            f"{one}{tuple(found[one].shape)}:{zlib.crc32(found[one].asnumpy().tobytes()):08x}" for one in sorted(found)
        ]
        print(" ", rank, *sums)


def strategy(case):
    return os.path.join(folder, f"{case}.{'ckpt' if case % 2 else 'json'}")


if side == "mindspore" and not os.path.exists(os.path.join(folder, "whole")):
    write_strategies()
for case in range(12):
    out = os.path.join(folder, f"{side}-{case}")
    ms.transform_checkpoints(os.path.join(folder, "whole"), out, "net", None, strategy(case))
    print("cut by", case)
    print_files(out)
for source, target in itertools.islice(itertools.permutations(range(12), 2), 0, 132, 5):
    for rank in range(RANKS):  # each side names the ranks whose files it needs
        needed = ms.rank_list_for_transform(rank, strategy(source), strategy(target))
        files = {one: os.path.join(folder, f"mindspore-{source}", f"rank_{one}", f"net{one}.ckpt") for one in needed}
        path = os.path.join(folder, f"{side}-of-rank-{source}-{target}", f"rank_{rank}", "net.ckpt")
        os.makedirs(os.path.dirname(path))
        ms.transform_checkpoint_by_rank(rank, files, path, strategy(source), strategy(target))
    print("ranks", source, target)
    print_files(os.path.dirname(os.path.dirname(path)))
    out = os.path.join(folder, f"{side}-{source}-{target}")
    ms.transform_checkpoints(
        os.path.join(folder, f"mindspore-{source}"), out, "net", strategy(source), strategy(target)
    )
    print_files(out)
for case in range(12):
    out = os.path.join(folder, f"{side}-joined-{case}")
    ms.transform_checkpoints(os.path.join(folder, f"mindspore-{case}"), out, "net", strategy(case), None)
    print("joined", case)
    print_files(out)
