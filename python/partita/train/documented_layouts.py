"""Layouts in strategy files of MindSpore: the axes of ranks that cut each dimension of a parameter. Shapes are not in
these files, so an entry counts in units, of which each part has one; `scaled` gives it a shape."""

import math
import re

from partita._names import refuse_missing

_OF_STAGE = re.compile(r"(\d+)-(.+)")  # names in files of several stages
_MAX_RANKS = 1_000_000


def entries_of(where, layouts, stage):
    """Entries by the names of their parameters, of (name, layout) of one stage, or of all in a merged file. Raises
    ValueError for a bad layout, NotImplementedError for uneven parts."""
    known, of_stages = {}, {}
    for name, layout in layouts:
        match = _OF_STAGE.fullmatch(name)
        own, at = (match[2], int(match[1])) if match else (name, stage)
        entry = _entry(where, own, layout, at, known)
        others = of_stages.setdefault(own, [])
        others.append(entry)
    return {name: united(where, name, entries) for name, entries in of_stages.items()}


def united(where, name, entries):
    """One entry of those that several stages have of a parameter. Raises ValueError unless they cut it alike."""
    first = entries[0]
    for one in entries[1:]:
        if one["tensor_shape"] != first["tensor_shape"]:
            raise ValueError(f"[{where}] '{name}' is cut differently in its stages, expected one layout of it")
    if len(entries) == 1:
        return first
    slices = {rank: box for one in entries for rank, box in one["slices"]}
    return {**first, "slices": [[rank, slices[rank]] for rank in sorted(slices)]}


def _numbers(layout, key, least):
    found = layout.get(key, [])
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, int) and one >= least for one in found):
        raise ValueError(f"a bad {key}, got {found!r}")
    return list(found)


def _entry(where, name, layout, stage, known):
    for key, empty in (("param_split_shape", []), ("field", 0)):
        if layout.get(key) not in (None, empty):
            raise NotImplementedError(
                f"[{where}] '{name}' has uneven parts, got {key}={layout[key]}, expected none: join its files in "
                "MindSpore (merge_sliced_parameter)"
            )
    axes = _numbers(layout, "dev_matrix", 1)
    given = layout.get("tensor_map")
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"a bad tensor_map of '{name}', got {given!r}")
    dims = [[one] if isinstance(one, int) else one for one in given]
    if not all(isinstance(dim, (list, tuple)) and all(isinstance(one, int) for one in dim) for dim in dims):
        raise ValueError(f"a bad tensor_map of '{name}', got {given!r}")
    dims = [[len(axes) - 1 - one for one in dim if one != -1] for dim in dims]
    step, size = layout.get("opt_weight_shard_step") or 0, layout.get("opt_weight_shard_size") or 0
    if not isinstance(step, int) or not isinstance(size, int):
        raise ValueError(f"bad parts of the optimizer of '{name}', got {step!r}, {size!r}")
    key = (tuple(axes), tuple(map(tuple, dims)), step, size, stage)
    if key not in known:
        known[key] = _units(name, axes, dims, 1 if step == 0 or size == 0 else size, stage)
    shape, slices = known[key]
    kept = {"dev_matrix": axes, "tensor_map": given, "opt_weight_shard_step": step, "opt_weight_shard_size": size}
    return {**kept, "stage": stage, "tensor_shape": shape, "slices": slices, "in_units": True}


def _units(name, axes, dims, shards, stage):
    """(units of each dimension, [[rank, its box in units], ..])."""
    used = [one for dim in dims for one in dim]
    if len(set(used)) != len(used) or not all(0 <= one < len(axes) for one in used):
        raise ValueError(f"a bad tensor_map of '{name}': an axis is used twice, or is not in dev_matrix")
    ranks = math.prod(axes)
    if ranks > _MAX_RANKS:
        raise ValueError(f"'{name}' has too many ranks, got {ranks}, expected at most {_MAX_RANKS}")
    rest = [i for i in range(len(axes)) if i not in used]
    copies = math.prod(axes[i] for i in rest)
    shards = copies if shards == -1 else shards
    if shards < 1 or copies % shards or (shards > 1 and not dims):
        raise ValueError(f"'{name}' cannot be cut for the optimizer, got {shards} parts of {copies} copies")
    slices = []
    for rank in range(ranks):
        place = _digits(rank, axes)
        indices = [_number(place, dim, axes) for dim in dims]
        if shards > 1:
            indices[0] = indices[0] * shards + _number(place, rest, axes) % shards
        slices.append([stage * ranks + rank, [[index, index + 1] for index in indices]])
    shape = [math.prod(axes[i] for i in dim) for dim in dims]
    if shards > 1:
        shape[0] *= shards
    return shape, slices


def _digits(number, sizes):
    digits = []
    for size in reversed(sizes):
        digits.insert(0, number % size)
        number //= size
    return digits


def _number(digits, places, sizes):
    number = 0
    for i in places:
        number = number * sizes[i] + digits[i]
    return number


def scaled(where, name, entry, shape):
    """The entry of a parameter of this shape; one that has a shape stays. Raises ValueError if its parts do not divide
    the shape."""
    if not entry.get("in_units"):
        return entry
    units = entry["tensor_shape"]
    if len(units) != len(shape) or any(size % unit for size, unit in zip(shape, units)):
        raise ValueError(
            f"[{where}] '{name}' cannot be cut, got the shape {tuple(shape)}, expected multiples of {units}"
        )
    factors = [size // unit for size, unit in zip(shape, units)]
    slices = [
        [rank, [[begin * factor, end * factor] for (begin, end), factor in zip(box, factors)]]
        for rank, box in entry["slices"]
    ]
    return {**entry, "tensor_shape": list(shape), "slices": slices, "in_units": False}


def whole_shape(entry, part):
    """The shape of the whole parameter whose parts have the shape `part`."""
    if not entry.get("in_units"):
        return tuple(entry["tensor_shape"])
    return tuple(size * unit for size, unit in zip(part, entry["tensor_shape"]))


def common_shape(first, second):
    """A shape in which the boxes of two entries can be compared."""
    for one in (first, second):
        if not one.get("in_units"):
            return one["tensor_shape"]
    return [math.lcm(*pair) for pair in zip(first["tensor_shape"], second["tensor_shape"])]


__getattr__ = refuse_missing(globals())
