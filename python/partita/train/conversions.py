"""Checkpoints from one kind of file to the other, loaded in the background, or from several files."""

from __future__ import annotations

import concurrent.futures
import glob
import os
import re
from collections.abc import Callable, Sequence

from partita._names import refuse_missing
from partita.common.parameter import Parameter
from partita.communication import management
from partita.nn.cell import Cell
from partita.train.distributed import _entries, rank_list_for_transform, transform_checkpoints
from partita.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint

_background = None


def load_checkpoint_async(
    ckpt_file_name: str | os.PathLike,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Callable | None = None,
):
    """`load_checkpoint` in a thread of its own: `.result()` of what this returns waits for the parameters, and raises
    what it raised."""
    global _background
    if _background is None:
        _background = concurrent.futures.ThreadPoolExecutor(1, "load_checkpoint_async")
    options = net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
    return _background.submit(load_checkpoint, ckpt_file_name, *options)


def async_ckpt_thread_status() -> bool:
    """Whether `save_checkpoint` still writes a file: it does not, files are there when it returns."""
    return False


def load_segmented_checkpoints(
    ckpt_file_dir: str | os.PathLike,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Callable | None = None,
) -> dict[str, Parameter]:
    """The parameters of all .ckpt files of a folder, in the order of their names, as one dict; they are loaded into
    `net` if it is given. Raises ValueError for what is no folder, or for one without such files."""
    files = sorted(glob.glob(os.path.join(glob.escape(os.fspath(ckpt_file_dir)), "*.ckpt")))
    if not files:
        raise ValueError(f"[load_segmented_checkpoints] no files, got '{ckpt_file_dir}', expected .ckpt files in it")
    found = {}
    for path in files:
        options = filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
        found.update(load_checkpoint(path, None, False, *options))
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def _renamed(names, name):
    """The new name of a parameter, where one is given: whole names, or parts of them."""
    return (names or {}).get(name, name)


def _converted(where, given, folder, names, pattern, ending):
    """Writes files that end otherwise. Raises ValueError for paths that are neither such a file nor a folder of
    them."""
    former = {".safetensors": ".ckpt", ".ckpt": ".safetensors"}[ending]
    given = os.fspath(given)
    if os.path.isdir(given):
        found = [os.path.join(top, name) for top, _, inner in os.walk(given) for name in inner if name.endswith(former)]
        found = [one for one in found if pattern is None or re.search(pattern, os.path.basename(one))]
        base = given
    else:
        found, base = ([given] if given.endswith(former) and os.path.isfile(given) else []), os.path.dirname(given)
    if not found:
        raise ValueError(f"[{where}] nothing to convert, got '{given}', expected a {former} file or a folder of some")
    for path in sorted(found):
        parameters = {_renamed(names, name): one for name, one in load_checkpoint(path).items()}
        out = os.path.join(folder or base, os.path.relpath(path, base or "."))
        os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
        save_checkpoint(parameters, out[: -len(former)] + ending, format=ending[1:])


def ckpt_to_safetensors(
    file_path: str | os.PathLike,
    save_path: str | os.PathLike | None = None,
    name_map: dict | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Writes the parameters of a .ckpt file, or of those of a folder whose names match, as .safetensors: next to it, or
    into `save_path`. `name_map`: new names of parameters."""
    _converted("ckpt_to_safetensors", file_path, save_path, name_map, file_name_regex, ".safetensors")


def safetensors_to_ckpt(
    file_path: str | os.PathLike,
    save_path: str | os.PathLike | None = None,
    name_map: dict | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Writes the parameters of a .safetensors file, or of those of a folder whose names match, as .ckpt: next to it, or
    into `save_path`. `name_map`: new names of parameters."""
    _converted("safetensors_to_ckpt", file_path, save_path, name_map, file_name_regex, ".ckpt")


def get_ckpt_path_with_strategy(cur_ckpt_path: str, cur_strategy_path: str) -> str | None:
    """The path of a checkpoint with the parameters of this rank: its own, else that of a rank with the same parts by a
    strategy file; None if no file is there. Ranks are the numbers after "rank_" in the path."""
    own = management.get_rank()
    if f"rank_{own}" in cur_ckpt_path and os.path.isfile(cur_ckpt_path):
        return cur_ckpt_path
    for rank in _alike(cur_strategy_path, own):
        path = re.sub(r"rank_\d+", f"rank_{rank}", cur_ckpt_path)
        if os.path.isfile(path):
            return path
    return None


def _alike(strategy_path, own):
    """The ranks whose parts of all tensors are those of a rank, by a strategy file."""
    boxes = {}
    for name, entry in _entries("get_ckpt_path_with_strategy", strategy_path).items():
        for rank, box in entry["slices"]:
            boxes.setdefault(rank, []).append((name, str(box)))
    return [rank for rank, one in sorted(boxes.items()) if one == boxes.get(own)]


def convert_checkpoints(
    src_checkpoints_dir,
    dst_checkpoints_dir,
    ckpt_prefix,
    src_strategy_file=None,
    dst_strategy_file=None,
    process_num=1,
    output_format="ckpt",
):
    """`transform_checkpoints` by its newer name."""
    transform_checkpoints(
        src_checkpoints_dir,
        dst_checkpoints_dir,
        ckpt_prefix,
        src_strategy_file,
        dst_strategy_file,
        output_format=output_format,
    )


rank_list_for_convert = rank_list_for_transform
__getattr__ = refuse_missing(globals())
