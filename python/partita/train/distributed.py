"""Checkpoints of parts: files in which each rank has what it holds, put together or cut anew."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Sequence

import numpy as np

from partita.common.parameter import Parameter
from partita.nn.cell import Cell
from partita.train import documented_layouts, strategy
from partita.train.parts import joined, parameter_of, values_of
from partita.train.serialization import load_checkpoint, load_param_into_net, save_parameters
from partita.train.strategy import entry_named

_RANK_FOLDER = re.compile(r"rank_(\d+)")


def build_searched_strategy(strategy_filename: str):
    """How the states of a training were cut, by their names."""
    return strategy.read("build_searched_strategy", strategy_filename)


def merge_pipeline_strategys(src_strategy_dirs: str, dst_strategy_file: str) -> None:
    """Writes one strategy file, `dst_strategy_file`, of those of the stages of a pipeline, which stand in a folder."""
    where = "merge_pipeline_strategys"
    if not os.path.isdir(src_strategy_dirs):
        raise ValueError(f"[{where}] no folder, got {src_strategy_dirs!r}, expected one with strategy files")
    paths = sorted(os.path.join(src_strategy_dirs, name) for name in os.listdir(src_strategy_dirs))
    entries = strategy.merge(where, [path for path in paths if os.path.isfile(path)])
    strategy.write_entries(dst_strategy_file, entries)


def merge_sliced_parameter(sliced_parameters: Sequence[Parameter], strategy: dict | None = None) -> Parameter:
    """Merges the parts of a parameter, given in the order of the ranks. If the parts do not say where they belong,
    `strategy` does; without one they are concatenated along the first dimension. Raises TypeError or ValueError if the
    list holds anything but the parts of one parameter."""
    where = "merge_sliced_parameter"
    if not isinstance(sliced_parameters, list):
        raise TypeError(f"[{where}] not a list, got {type(sliced_parameters).__name__}, expected parameters in a list")
    if not sliced_parameters:
        raise ValueError(f"[{where}] nothing to merge, got an empty list, expected the parts of a parameter")
    for one in sliced_parameters:
        if not isinstance(one, Parameter):
            raise TypeError(f"[{where}] not a parameter, got {type(one).__name__}, expected Parameter")
    first = sliced_parameters[0]
    for one in sliced_parameters:
        if one.name != first.name:
            raise ValueError(
                f"[{where}] the parts belong to several parameters, got '{one.name}', expected '{first.name}'"
            )
        if one.shape[1:] != first.shape[1:] and strategy is None and first.box is None:
            raise ValueError(
                f"[{where}] '{one.name}' has parts of different shapes, got {one.shape}, expected {first.shape}"
            )
    entry = None
    if strategy is not None:
        entry = entry_named(where, strategy, first.name)
        if len(entry["slices"]) != len(sliced_parameters):
            raise ValueError(
                f"[{where}] wrong number of parts of '{first.name}', got {len(sliced_parameters)}, "
                f"expected {len(entry['slices'])}"
            )
    ranks = [rank for rank, _ in entry["slices"]] if entry else list(range(len(sliced_parameters)))
    if entry is None and first.box is None:
        values = np.concatenate([values_of(one) for one in sliced_parameters])
        made = parameter_of(values, first.dtype, first.name)
    else:
        made = joined(where, first.name, list(zip(ranks, sliced_parameters)), entry)
    made.requires_grad, made.layerwise_parallel = first.requires_grad, first.layerwise_parallel
    return made


def _merged(where, files, entries=None, needed=None):
    """The parameters of the files of ranks, {rank: path}, as wholes by their names. With `needed` only the box that it
    gives for (name, shape) has to be there."""
    parts = {}
    for rank, path in sorted(files.items()):
        for name, one in load_checkpoint(path).items():
            if isinstance(one, str):
                continue
            parts.setdefault(name, []).append((rank, one))
    return {
        name: joined(where, name, own, (entries or {}).get(name), needed and functools.partial(needed, name))
        for name, own in parts.items()
    }


def load_distributed_checkpoint(
    network: Cell | None,
    checkpoint_filenames: Sequence[str] | None = None,
    predict_strategy=None,
    train_strategy_filename: str | None = None,
    strict_load: bool = False,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    format: str = "ckpt",
    unified_safetensors_dir: str | None = None,
    dst_safetensors_dir: str | None = None,
    rank_id: int | None = None,
    output_format: str = "safetensors",
    name_map: dict | None = None,
    max_process_num: int = 64,
    return_param_dict: bool = False,
):
    """Gives a network the parameters of the files of all ranks of a training, in their order: to be used on any number
    of ranks. `predict_strategy` is not needed: parameters are cut when a program is made."""
    where = "load_distributed_checkpoint"
    for name, value in (("dec_key", dec_key), ("dst_safetensors_dir", dst_safetensors_dir), ("name_map", name_map)):
        if value is not None:
            raise NotImplementedError(f"[{where}] not supported, got {name}, expected None")
    if unified_safetensors_dir is not None:
        names = sorted(one for one in os.listdir(unified_safetensors_dir) if one.endswith(".safetensors"))
        checkpoint_filenames = [os.path.join(unified_safetensors_dir, one) for one in names]
    if not isinstance(checkpoint_filenames, (list, tuple)):
        raise TypeError(
            f"[{where}] not a list of files, got {type(checkpoint_filenames).__name__}, expected one for each rank"
        )
    if not checkpoint_filenames:
        raise ValueError(f"[{where}] no files, got an empty list, expected one for each rank")
    entries = None
    if train_strategy_filename is not None:
        entries = strategy.read(where, train_strategy_filename)
        if strategy.ranks_of(entries) != len(checkpoint_filenames):
            raise ValueError(
                f"[{where}] there is not one file for each rank of the training, got {len(checkpoint_filenames)}, "
                f"expected {strategy.ranks_of(entries)}"
            )
    found = _merged(where, dict(enumerate(checkpoint_filenames)), entries)
    not_loaded = load_param_into_net(network, found, strict_load)[0]
    return (not_loaded, found) if return_param_dict else not_loaded


def _rank_files(where, folder):
    """The last file, by the numbers in its name, of each rank_N of a folder."""
    if not os.path.isdir(folder):
        raise ValueError(f"[{where}] no folder, got {folder!r}, expected one with rank_0, rank_1, ..")
    files = {}
    for name in os.listdir(folder):
        match = _RANK_FOLDER.fullmatch(name)
        if match:
            names = os.listdir(os.path.join(folder, name))
            own = [one for one in names if one.endswith((".ckpt", ".safetensors"))]
            own.sort(key=lambda one: ([int(number) for number in re.findall(r"\d+", one)], one))
            if own:
                files[int(match[1])] = os.path.join(folder, name, own[-1])
    if not files:
        raise ValueError(f"[{where}] no files of ranks, got {folder!r}, expected rank_0/*.ckpt, rank_1/*.ckpt, ..")
    return files


def _entries(where, path):
    """Entries of a strategy file, or of a folder of such files. None if `path` is None: nothing is cut."""
    if path is None:
        return None
    if os.path.isdir(path):
        return strategy.merge(where, sorted(os.path.join(path, name) for name in os.listdir(path)))
    return strategy.read(where, path)


def _save_part(where, path, wholes, entries, rank):
    """Writes the parts of the parameters that a rank holds."""
    parts = {}
    for name, one in wholes.items():
        entry = None if entries is None else entries.get(name)
        if entry is None:
            parts[name] = one
            continue
        entry = documented_layouts.scaled(where, name, entry, one.shape)
        if tuple(entry["tensor_shape"]) != one.shape:
            raise ValueError(
                f"[{where}] '{name}' is of another shape than in the strategy, got {one.shape}, "
                f"expected {tuple(entry['tensor_shape'])}"
            )
        box = strategy.box_on(entry, rank)
        if box is None:
            continue
        place = tuple(slice(begin, end) for begin, end in box)
        part = parameter_of(values_of(one)[place], one.dtype, name)
        if part.shape != one.shape:
            part.box = (box, one.shape)
        parts[name] = part
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    save_parameters(path, list(parts.items()))


def transform_checkpoints(
    src_checkpoints_dir: str,
    dst_checkpoints_dir: str,
    ckpt_prefix: str,
    src_strategy_file: str | None = None,
    dst_strategy_file: str | None = None,
    process_num: int = 1,
    output_format: str = "ckpt",
) -> None:
    """Cuts the files SRC/rank_N/*.ckpt of a training as another strategy does: DST/rank_N/PREFIXN.ckpt. Without a
    strategy of the destination whole parameters of one rank are written."""
    where = "transform_checkpoints"
    if output_format not in ("ckpt", "safetensors"):
        raise ValueError(f"[{where}] unknown output_format, got {output_format!r}, expected ckpt or safetensors")
    wholes = _merged(where, _rank_files(where, src_checkpoints_dir), _entries(where, src_strategy_file))
    entries = _entries(where, dst_strategy_file)
    for rank in range(1 if entries is None else strategy.ranks_of(entries)):
        path = os.path.join(dst_checkpoints_dir, f"rank_{rank}", f"{ckpt_prefix}{rank}.{output_format}")
        _save_part(where, path, wholes, entries, rank)


def transform_checkpoint_by_rank(
    rank_id: int,
    checkpoint_files_map: dict[int, str],
    save_checkpoint_file_name: str,
    src_strategy_file: str | None = None,
    dst_strategy_file: str | None = None,
):
    """The file of one rank under another strategy, from those of some ranks, {rank: path}."""
    where = "transform_checkpoint_by_rank"
    if not isinstance(checkpoint_files_map, dict):
        raise TypeError(
            f"[{where}] not a dict, got {type(checkpoint_files_map).__name__}, expected ranks and their files"
        )
    entries = _entries(where, dst_strategy_file)

    def needed(name, shape):
        """The box of the rank; None for all of a parameter that is not cut, nothing of one of another stage."""
        entry = None if entries is None else entries.get(name)
        if entry is None:
            return None
        box = strategy.box_on(documented_layouts.scaled(where, name, entry, shape), rank_id)
        return tuple((0, 0) for _ in shape) if box is None else box

    wholes = _merged(where, checkpoint_files_map, _entries(where, src_strategy_file), needed)
    _save_part(where, save_checkpoint_file_name, wholes, entries, rank_id)


def rank_list_for_transform(
    rank_id: int, src_strategy_file: str | None = None, dst_strategy_file: str | None = None
) -> list[int]:
    """The ranks of the first training whose files have what a rank of the second one holds."""
    where = "rank_list_for_transform"
    source, target = _entries(where, src_strategy_file), _entries(where, dst_strategy_file)
    if source is None:
        return [0]
    if target is not None and not 0 <= rank_id < strategy.ranks_of(target):
        raise ValueError(f"[{where}] no such rank, got {rank_id}, expected 0 to {strategy.ranks_of(target) - 1}")
    needed = set()
    for name, entry in source.items():
        wanted = tuple((0, size) for size in entry["tensor_shape"])
        if target is not None and name in target:
            shape = documented_layouts.common_shape(entry, target[name])
            entry = documented_layouts.scaled(where, name, entry, shape)
            wanted = strategy.box_on(documented_layouts.scaled(where, name, target[name], shape), rank_id)
        if wanted is not None:
            needed |= _holders(entry, wanted)
    return sorted(needed)


def _holders(entry, wanted):
    """One rank for each distinct part that overlaps the box `wanted`."""
    found = {}
    for rank, box in entry["slices"]:
        overlaps = all(max(a, c) < min(b, d) for (a, b), (c, d) in zip(box, wanted))
        if overlaps:
            found.setdefault(str(box), rank)
    return set(found.values())


def unified_safetensors(
    src_dir: str,
    src_strategy_file: str | None,
    dst_dir: str,
    merge_with_redundancy: bool = True,
    file_suffix: str | None = None,
    max_process_num: int = 64,
    choice_func: Callable | None = None,
    split_dst_file: dict | None = (),
):
    """Merges SRC/rank_N/* into one file of whole parameters, DST/part0.safetensors, and writes the list of its names,
    DST/param_name_map.json. With `choice_func` only parameters for whose name it is true."""
    where = "unified_safetensors"
    wholes = _merged(where, _rank_files(where, src_dir), _entries(where, src_strategy_file))
    named = [(name, one) for name, one in wholes.items() if choice_func is None or choice_func(name)]
    os.makedirs(dst_dir, exist_ok=True)
    save_parameters(os.path.join(dst_dir, "part0.safetensors"), named)
    with open(os.path.join(dst_dir, "param_name_map.json"), "w") as file:
        json.dump({name: "part0.safetensors" for name, _ in named}, file, indent=1)
