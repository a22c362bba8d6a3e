"""Strategy files: how the states of a training are cut over its ranks, as JSON. The names of the documented file's
fields, and `slices`: what each rank holds, of any cut and of all stages. Files of MindSpore, JSON and binary, are read
as well."""

import json
import os
import socket

from partita import _core, context
from partita.train import documented_layouts


def file_to_save():
    """The strategy file to save that the context names; "" if none."""
    get = context.get_auto_parallel_context
    return get("strategy_ckpt_config").get("save_file") or get("strategy_ckpt_save_file")


def cuts_to_load():
    """(file, cuts of nodes) of the file that the context names; None: none."""
    get = context.get_auto_parallel_context
    path = get("strategy_ckpt_config").get("load_file") or get("strategy_ckpt_load_file")
    return (path, cuts_of("strategy_ckpt_load_file", path)) if path else None


def coalesced(axes, dims):
    """(sizes of axes, for each dimension the axes that cut it, by their numbers), neighbours that always cut together
    as one axis."""
    groups = [[i] for i in range(len(axes))]

    def together(left, right):
        for dim in dims:
            places = [dim.index(one) if one in dim else -1 for one in (left, right)]
            if places[0] != places[1] and (min(places) < 0 or places[1] != places[0] + 1):
                return False
        return True

    merged = []
    for group in groups:
        if merged and together(merged[-1][-1], group[0]):
            merged[-1] += group
        else:
            merged.append(group)
    number = {one: i for i, group in enumerate(merged) for one in group}
    sizes = []
    for group in merged:
        size = 1
        for one in group:
            size *= axes[one][1]
        sizes.append(size)
    return sizes, [list(dict.fromkeys(number[one] for one in dim)) for dim in dims]


def documented(layout):
    """(dev_matrix, tensor_map): the sizes of axes of the stage's ranks, and for each dimension the axis that cuts it,
    counted from the last one, -1 for none, several in a list."""
    sizes, dims = coalesced(layout["axes"], layout["dims"])
    last = len(sizes) - 1
    tensor_map = [-1 if not dim else last - dim[0] if len(dim) == 1 else [last - one for one in dim] for dim in dims]
    return sizes or [1], tensor_map


def entry_of(layout):
    """A state in the file."""
    dev_matrix, tensor_map = documented(layout)
    return {
        "stage": layout["stage"],
        "dev_matrix": dev_matrix,
        "tensor_map": tensor_map,
        "tensor_shape": list(layout["shape"]),
        "param_split_shape": [],
        "indices_offset": [],
        "field": 0,
        "opt_weight_shard_step": 0,
        "opt_weight_shard_size": 0,
        "is_weight": layout["is_weight"],
        "slices": [[rank, [list(one) for one in box]] for rank, box in layout["slices"]],
    }


def write(path, layouts, cuts=None):
    """The file of a training; `cuts` are those of its nodes, where there is one stage."""
    write_entries(path, {one["name"]: entry_of(one) for one in layouts}, cuts)


def write_entries(path, entries, cuts=None):
    """Replaces the file as a whole; its folder is made."""
    text = json.dumps({"parallel_layout_item": entries, "parallel_strategy_item": cuts or {}}, indent=1)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, f".strategy.{socket.gethostname()}.{os.getpid()}")
    with open(name, "w") as file:
        file.write(text + "\n")
    os.replace(name, path)


def cuts_of(where, path):
    """The cuts of nodes that a file has, for a training that runs them again."""
    if any(one.get("in_units") for one in read(where, path).values()):
        raise NotImplementedError(
            f"[{where}] the file has the cuts of MindSpore's own nodes, got {path}, expected a file of this package: "
            "set shard in the script"
        )
    with open(path, "rb") as file:
        cuts = json.loads(file.read()).get("parallel_strategy_item")
    if not cuts:
        raise NotImplementedError(
            f"[{where}] the file has cuts of a training with stages, got {path}, expected a file of one without: "
            "set pipeline_stage and shard in the script"
        )
    return cuts


def _is_entry(entry):
    def is_box(box, dims):
        return len(box) == dims and all(0 <= begin <= end for begin, end in box)

    shape = entry["tensor_shape"]
    if not all(isinstance(size, int) and size >= 0 for size in shape):
        return False
    return all(isinstance(rank, int) and is_box(box, len(shape)) for rank, box in entry["slices"])


def _entries_of(where, content, path):
    """The entries of the bytes of a file."""
    if content.lstrip()[:1] not in (b"{", b""):
        stage, layouts = _core.read_strategy(content, path)
        return documented_layouts.entries_of(where, layouts, stage)
    found = json.loads(content)
    entries = found["parallel_layout_item"]
    if not entries or any("slices" in one for one in entries.values()):
        return entries
    nodes = found.get("parallel_strategy_item") or {}
    stage = next((one.get("stage", 0) for one in nodes.values()), 0)
    return documented_layouts.entries_of(where, entries.items(), stage)


def read(where, path):
    """The entries of a file by the names of their states. ValueError for what is no such file."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"[{where}] the strategy file is not a path, got {type(path).__name__}, expected str")
    try:
        with open(path, "rb") as file:
            entries = _entries_of(where, file.read(), os.fspath(path))
        if all(_is_entry(one) for one in entries.values()):
            return entries
        reason = "a box is not of its tensor"
    except OSError as error:
        raise ValueError(f"[{where}] cannot read strategy file {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        text = str(error)
        if text.startswith("[strategy] "):  # of the library
            reason = text.partition("is not a strategy file: ")[2].partition(", expected")[0]
        else:
            reason = f"{type(error).__name__}: {text}"
    raise ValueError(
        f"[{where}] {path} is not a strategy file ({reason}), expected one that strategy_ckpt_save_file named"
    )


def merge(where, paths):
    """The entries of several files."""
    merged = {}
    for path in paths:
        for name, entry in read(where, path).items():
            other = merged.setdefault(name, entry)
            if other.get("in_units") and entry.get("in_units") and other is not entry:
                merged[name] = documented_layouts.united(where, name, [other, entry])
            elif other != entry:
                raise ValueError(f"[{where}] '{name}' is cut differently in {path}, expected files of one training")
    return merged


def entry_named(where, entries, name):
    """KeyError with the nearest name for one that is not there."""
    if name in entries:
        return entries[name]
    near = _core.nearest(name, list(entries))
    raise KeyError(
        f"[{where}] '{name}' is not in the strategy, got {len(entries)} names"
        + (f", did you mean '{near}'?" if near else "")
    )


def ranks_of(entries):
    """How many ranks the training had."""
    return 1 + max((rank for entry in entries.values() for rank, _ in entry["slices"]), default=0)


def box_on(entry, rank):
    """The part that a rank holds, as a tuple of ranges; None if it holds nothing."""
    for holder, box in entry["slices"]:
        if holder == rank:
            return tuple(tuple(one) for one in box)
    return None
