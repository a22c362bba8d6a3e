"""Parameters as files: checkpoints of MindSpore and safetensors. Readers know them by their content; files that end in
.ckpt are written as checkpoints of MindSpore."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from partita import _core
from partita._names import absent, refuse_missing
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.nn.cell import Cell
from partita.nn.optim import Optimizer, documented_states
from partita.train.parts import joined_over_ranks, parameter_of, values_of

_ENDINGS = {"ckpt": ".ckpt", "safetensors": ".safetensors"}


def _path(where, name, format):
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"[{where}] the file is not a path, got {type(name).__name__}, expected str")
    if format not in _ENDINGS:
        raise ValueError(f"[{where}] unknown format, got {format!r}, expected ckpt or safetensors")
    return os.fspath(name)


def _refuse_key(where, key):
    if key is not None:
        raise NotImplementedError(f"[{where}] files cannot be encrypted, got a key, expected None")


def save_checkpoint(
    save_obj: Cell | Optimizer | dict | list,
    ckpt_file_name: str | os.PathLike,
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: dict | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs,
) -> None:
    """Writes the parameters of a cell, of a dict, or of a list of {"name", "data"} to a file; a name without an ending
    gets that of `format`, .ckpt or .safetensors. Those of a cell that trains include the states of its optimizer, by
    the documented names. `append_dict`: numbers, texts and tensors that are written, too. `choice_func(name)`: which
    names are written. `crc_check`: a .ckpt file ends with a checksum that MindSpore can check. Files are complete on
    return, whatever `async_save`. Raises TypeError for other objects, NotImplementedError for a key."""
    _refuse_key("save_checkpoint", enc_key)
    path = _path("save_checkpoint", ckpt_file_name, format)
    if not path.endswith((".ckpt", ".safetensors")):
        path += _ENDINGS[format]
    if isinstance(save_obj, Optimizer):
        save_obj = save_obj.kept_by
    if isinstance(save_obj, Cell):
        named = [(one.name, one) for one in save_obj.get_parameters()]
    elif isinstance(save_obj, dict):
        named = list(save_obj.items())
    elif isinstance(save_obj, list):
        named = [(one["name"], one["data"]) for one in save_obj]
    else:
        raise TypeError(
            f"[save_checkpoint] nothing to save, got {type(save_obj).__name__}, expected a Cell, a dict or a list"
        )
    if isinstance(save_obj, Optimizer):
        numbers, texts = save_obj.saved_numbers()
        named += numbers
    else:
        texts = _texts_of(named)
        for optimizer in _optimizers_of(save_obj):
            named += documented_states.saved(optimizer)
        known = {id(one) for _, one in named}
        named += [(one.name, one) for one in _states_of_groups(save_obj) if id(one) not in known]
    if choice_func is not None:
        named = [(name, one) for name, one in named if choice_func(name)]
    known = {name: i for i, (name, _) in enumerate(named)}
    for name, one in _appended(append_dict):
        one = one if isinstance(one, (Tensor, str)) else Tensor(one)
        if name in known:  # such as the number of steps of the optimizer
            named[known[name]] = name, _in_place_of(name, named[known[name]][1], one)
        else:
            named.append((name, one))
    texts.update({_TEXT + name: one for name, one in named if isinstance(one, str)})
    named = [(name, one) for name, one in named if not isinstance(one, str)]
    for name, one in named:
        if not isinstance(one, Tensor):
            raise TypeError(f"[save_checkpoint] '{name}' is not a tensor, got {type(one).__name__}, expected one")
    tied = {(name, id(one)): (name, one) for name, one in named}  # a library may list a parameter twice
    save_parameters(path, list(tied.values()), texts, bool(crc_check))


def append_to(path, given):
    """Adds numbers, texts and tensors to a file, by their names, and leaves the rest as it is. Another process sees the
    former file or the new one."""
    arrays, texts = _core.load_arrays(path)
    for name, one in _appended(given):
        if isinstance(one, str):
            texts[_TEXT + name] = one
        else:
            arrays[name] = (one if isinstance(one, Tensor) else Tensor(one)).array
    head, ending = os.path.splitext(path)
    _core.save_arrays(f"{head}.appended{ending}", list(arrays.items()), texts, False)
    os.replace(f"{head}.appended{ending}", path)


_TEXT = "text:"  # begins the keys of metadata that are texts of the user


def _appended(given):
    """Entries of an append_dict. Raises TypeError for other keys than texts, and other values than numbers, texts and
    tensors."""
    if given is not None and not isinstance(given, dict):
        raise TypeError(f"[save_checkpoint] append_dict is not a dict, got {type(given).__name__}, expected one")
    for name, one in (given or {}).items():
        if not isinstance(name, str) or not isinstance(one, (int, float, bool, str, Tensor)):
            raise TypeError(
                f"[save_checkpoint] bad append_dict, got {name!r}: {type(one).__name__}, expected a str and a number, "
                "a str or a Tensor"
            )
        yield name, one


def _in_place_of(name, former, one):
    """A number of `append_dict` with the shape and the element type of what it takes the place of. Raises ValueError
    for what is no number."""
    if isinstance(one, str) or one.size != 1 or former.size != 1:
        raise ValueError(
            f"[save_checkpoint] append_dict has a name that is taken, got '{name}', expected another name, or a number "
            "in place of a number"
        )
    return Tensor(one.asnumpy().reshape(former.shape), former.dtype)


def _optimizers_of(cell):
    """The optimizers that a cell trains with."""
    found = []
    for _, one in cell.cells_and_names() if isinstance(cell, Cell) else ():
        inner = one.__dict__.get("optimizer")
        given = [own.kept_by for own in (one, inner) if isinstance(own, Optimizer)]
        found += [own for own in given if own not in found]
    return found


def _states_of_groups(cell):
    """The states of optimizers of `experimental.optim` and `mint.optim` that a cell trains with."""
    found = {}
    for _, one in cell.cells_and_names() if isinstance(cell, Cell) else ():
        for own in (one, one.__dict__.get("optimizer")):
            states = getattr(type(own), "states_in_files", None)
            found.update({id(state): state for state in (states(own) if states else ())})
    return list(found.values())


def save_parameters(path, named, texts=None, crc32=False):
    """(name, tensor) to a file, with the places of those that are parts of others. `texts`: metadata of the file."""
    texts = dict(texts or {})
    texts.update({f"box:{name}": _box_text(one.box) for name, one in named if getattr(one, "box", None)})
    _core.save_arrays(path, [(name, one.array) for name, one in named], texts, crc32)


# What PyTorch calls the parameters of norms and embeddings.
_NAMES_OF_TORCH = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
}


def _name_in(names, name, own):
    """The name of a parameter there, or that of a state_dict of PyTorch where no other parameter of `own` has it."""
    head, dot, last = name.rpartition(".")
    other = head + dot + _NAMES_OF_TORCH.get(last, last)
    return name if name in names or other in own else other


def is_part(parameter):
    """Whether it is less than the whole that the file is of."""
    box = getattr(parameter, "box", None)
    return box is not None and parameter.shape != box[1]


def _box_text(box):
    """ "0:16,0:64 of 64,64", as the library writes it."""
    ranges, shape = box
    return ",".join(f"{begin}:{end}" for begin, end in ranges) + " of " + ",".join(map(str, shape))


def _box_of(text):
    if text is None:
        return None
    ranges, shape = text.split(" of ")
    pairs = (one.split(":") for one in ranges.split(","))
    return tuple((int(begin), int(end)) for begin, end in pairs), tuple(int(size) for size in shape.split(","))


def load_checkpoint(
    ckpt_file_name: str | os.PathLike,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Callable | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Parameter]:
    """Returns the parameters and texts of a file as a dict by their names, and loads them into `net` if it is given.
    "hf:FOLDER" is a folder of Hugging Face: its model.safetensors, or all shards of its index, by the names there.
    Names that begin with one of `filter_prefix` are left out; with `specify_prefix` only those are kept that begin so,
    with `choice_func(name)` those for which it is true. Checksums that the file has are always checked. Raises
    ValueError for a path that ends neither in .ckpt nor in .safetensors and does not begin with hf:, for a file that is
    missing or damaged, or if no parameter is left to load, NotImplementedError for a key."""
    _refuse_key("load_checkpoint", dec_key)
    path = _path("load_checkpoint", ckpt_file_name, format)
    if not path.startswith("hf:") and not path.endswith((".ckpt", ".safetensors")):
        raise ValueError(
            f"[load_checkpoint] bad name of a file, got '{path}', expected one that ends in .ckpt or .safetensors, or "
            "hf:FOLDER"
        )
    left_out, chosen = _prefixes(filter_prefix), _prefixes(specify_prefix)
    found = {}
    arrays, texts = _core.load_arrays(path)
    measures = _measures(arrays, texts, path)

    def is_wanted(name):
        if (left_out and name.startswith(left_out)) or (chosen and not name.startswith(chosen)):
            return False
        return choice_func is None or choice_func(name)

    for name, array in arrays.items():
        if not is_wanted(name):
            continue
        found[name] = Parameter(Tensor(array), name=name)
        found[name].box = _box_of(texts.get(f"box:{name}"))
        found[name].measures = (measures.get(name, measures["states"]), path, measures["are_named"])
    own = ((key.removeprefix(_TEXT), text) for key, text in texts.items() if key.startswith(_TEXT))
    found.update({name: text for name, text in own if is_wanted(name)})
    if not found:
        raise ValueError(f"[load_checkpoint] nothing to load, got no parameters of '{path}', expected at least 1")
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


# Numbers of files, and where a file names what they measure.
_MEASURED = {
    "checkpoint.loss_scale": "partita.measures.loss_scale",
    "checkpoint.learning_rate": "partita.measures.learning_rate",
}


def _texts_of(named):
    """Metadata of a file for (name, tensor): names of the measures of those that were loaded from one."""
    texts, optimizers = {}, set()
    for name, one in named:
        measures = (getattr(one, "measures", None) or ("",))[0]
        if measures and name in _MEASURED:
            texts[_MEASURED[name]] = measures
        elif measures:
            optimizers.add(measures)
    if len(optimizers) == 1:
        texts["partita.measures.optimizer"] = optimizers.pop()
    return texts


def _measures(arrays, texts, path):
    """Names of what the numbers of a file measure, by their names, and of what its "states" do; and whether the file
    itself names any ("are_named"). Reads the configuration in the file only if there are such numbers."""
    optimizer = texts.get("partita.measures.optimizer", "")
    are_named = any(name.startswith("partita.measures.") for name in texts)
    if not arrays.keys() & set(_MEASURED):
        return {"states": optimizer, "are_named": are_named}
    saved = _core.saved_measures(texts, path)
    return {
        "states": optimizer,
        "are_named": are_named,
        "checkpoint.loss_scale": saved.get("loss_scale", ""),
        "checkpoint.learning_rate": saved.get("learning_rate", optimizer),
    }


def _prefixes(given):
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _prefix_in(given, own):
    """The words ("backbone.") that precede, in `given`, all names of `own` that it lacks; "" if there are none."""
    lacking = [name for name in own if _name_in(given, name, own) not in given]
    if not lacking:
        return ""
    begins = {name.removesuffix(lacking[0]) for name in given if name.endswith(f".{lacking[0]}")}
    for begin in sorted(begins, key=lambda one: (len(one), one)):
        is_state = documented_states.parameter_of(begin + lacking[0], lacking[:1]) != ""
        if not is_state and all(begin + name in given for name in lacking):
            warn(f"[load_param_into_net] names are taken without '{begin}', got {len(lacking)} that begin with it")
            return begin
    return ""


def _fitted(one, given, strict_load):
    """The value of a file for a parameter. Raises RuntimeError if it is only a part, or of another shape or type, and
    TypeError if it is no tensor."""
    if not isinstance(given, Tensor):
        raise TypeError(
            f"[load_param_into_net] not a parameter, got {type(given).__name__} for '{one.name}', expected a "
            "Parameter, as load_checkpoint gives, or Parameter(Tensor(array))"
        )
    if is_part(given):
        raise RuntimeError(
            f"[load_param_into_net] '{one.name}' is a part, got {_box_text(given.box)}, expected the whole: "
            "load_distributed_checkpoint(net, the files of all ranks)"
        )
    if given.shape[: len(one.shape)] == one.shape and set(given.shape[len(one.shape) :]) == {1}:
        # Dimensions of 1 that some devices add.
        given = parameter_of(values_of(given).reshape(one.shape), given.dtype, one.name)
    if given.shape != one.shape:
        raise RuntimeError(
            f"[load_param_into_net] '{one.name}' is of another shape, got {given.shape}, expected {one.shape}"
        )
    if (strict_load and given.dtype != one.dtype) or mstype.is_float(given.dtype) != mstype.is_float(one.dtype):
        raise RuntimeError(
            f"[load_param_into_net] '{one.name}' is of another type, got {given.dtype}, expected {one.dtype}"
        )
    return given


def load_param_into_net(
    net: Cell | Optimizer,
    parameter_dict: dict[str, Parameter],
    strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:
    """Loads parameters into those of a cell with the same names, or states into an optimizer. With the states of a
    training come the learning rate of the next step and the scale of the loss, as far as the file has them; a rate that
    is set later counts. Names of the file may all begin with words that those of the cell lack, unless `strict_load`.
    Warns of that, of a rate of another optimizer, or of none that the file names, and leaves it. Returns the names
    without a counterpart: (of the cell, of the dict). If processes hold only parts of some parameters, all processes
    call it, and get whole ones. Raises TypeError if `net` is no Cell or `parameter_dict` no dict, RuntimeError for a
    parameter of another shape, ValueError if a rate, a scale or a position is bad."""
    if not isinstance(net, Cell):
        raise TypeError(
            f"[load_param_into_net] the network is not a cell, got {type(net).__name__}, expected an nn.Cell"
        )
    if not isinstance(parameter_dict, dict):
        raise TypeError(
            f"[load_param_into_net] not a dict, got {type(parameter_dict).__name__}, expected names and parameters"
        )
    if ranks.is_process() and any(getattr(one, "box", None) for one in parameter_dict.values()):
        parameter_dict = joined_over_ranks("load_param_into_net", parameter_dict)
    if isinstance(net, Optimizer):
        net = net.kept_by
        unused = net.take_states(parameter_dict)
        if unused and not net.states and (net.is_composed or net.kept_states()):
            warn(
                f"[load_param_into_net] no state is loaded, got {len(unused)} names, none of one of "
                f"{type(net).__name__}"
            )
        return [], unused
    missing, used = [], set()
    parameters = list(net.get_parameters())
    own = {one.name: None for one in parameters}
    prefix = "" if strict_load else _prefix_in(parameter_dict, own)
    for one in parameters:
        key = _name_in(parameter_dict, one.name, own)
        key = key if key in parameter_dict else prefix + one.name
        given = parameter_dict.get(key)
        if given is None or isinstance(given, str):
            missing.append(one.name)
            continue
        one.set_data(_fitted(one, given, strict_load))
        used.add(key)
    if not used:
        count = len(parameter_dict)
        warn(f"[load_param_into_net] nothing is loaded, got {count} names, none of them one of {len(own)}")
    left = {name: one for name, one in parameter_dict.items() if name not in used}
    missing += _taken_by_groups(net, left, {id(one) for one in parameters}, strict_load)
    for optimizer in _optimizers_of(net):
        missing += documented_states.missing(optimizer, left)
        if any(documented_states.is_of(optimizer, name) for name in left):
            unused = optimizer.take_states(left)
            left = {name: one for name, one in left.items() if name in unused}
    return missing, list(left)


def _taken_by_groups(net, left, known, strict_load):
    """Takes the states of optimizers with groups, but for known ones, out of what is left of a file. Returns the names
    of those that are not there."""
    missing = []
    for one in _states_of_groups(net):
        if id(one) in known:
            continue
        if isinstance(left.get(one.name), Tensor):
            one.set_data(_fitted(one, left.pop(one.name), strict_load))
        else:
            missing.append(one.name)
    return missing


def sync_pipeline_shared_parameters(net: Cell):
    """Kept, without effect: parameters of several stages are one."""


_exec_save = absent("_exec_save", __name__, "save_checkpoint")
_load_map_parameter = absent("_load_map_parameter", __name__, "load_checkpoint")
_parse_ckpt_proto = absent("_parse_ckpt_proto", __name__, "load_checkpoint")
tensor_to_ms_type = {one.name: one for one in (*mstype.number_type, mstype.bool_)}
tensor_to_ms_type["str"] = mstype.string


class _TypesByNames(dict):
    """A table that can be called as a function, too, which gives None for other names."""

    __call__ = dict.get


tensor_to_np_type = _TypesByNames({one.name: one.numpy.type for one in mstype.number_type if one.numpy is not None})
tensor_to_np_type.update(Bool=mstype.bool_.numpy.type, str="U")


def export(net: Cell, *inputs, file_name: str, file_format: str, **kwargs):
    """Not there: raises NotImplementedError."""
    raise NotImplementedError(
        f"[export] files of other systems are not supported, got file_format={file_format!r}, expected save_checkpoint"
    )


def _get_merged_param_data(net, parameter_layout_dict, param_name, param_data, integrated_save):
    """The values of a parameter: those of a parameter are whole."""
    return param_data


load = absent("load", __name__, "load_checkpoint of parameters: graphs of another compiler are not read")


def _update_param(param, new_param, strict_load):
    """Sets a parameter to the value of another one. Raises RuntimeError if it is of another shape or type, TypeError if
    it is no tensor."""
    param.set_data(_fitted(param, new_param, strict_load).astype(param.dtype))


def _load_dismatch_prefix_params(net, parameter_dict, param_not_load, strict_load):
    """Loads parameters whose names in the dict have a prefix that those of the network lack, and takes the names from
    the list `param_not_load`."""
    while param_not_load:
        begins = {
            other[: -len(name)] for name in param_not_load for other in parameter_dict if other.endswith(f".{name}")
        }
        known = [one for _, one in net.parameters_and_names() if one.name in param_not_load]
        found = [(one, begin) for begin in sorted(begins) for one in known if begin + one.name in parameter_dict]
        if not found:
            return
        begin = found[0][1]
        for one in [one for one, other in found if other == begin]:
            _update_param(one, parameter_dict[begin + one.name], strict_load)
            param_not_load.remove(one.name)


__getattr__ = refuse_missing(globals())
