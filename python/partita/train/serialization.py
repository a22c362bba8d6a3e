"""Parameters as files: safetensors, whatever the ending."""

import os

from partita import _core
from partita._names import refuse_missing
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell

_ENDINGS = {"ckpt": ".ckpt", "safetensors": ".safetensors"}


def _path(where, name, format):
    if not isinstance(name, (str, os.PathLike)):
        raise TypeError(f"[{where}] the file is no path, got {type(name).__name__}, expected str")
    if format not in _ENDINGS:
        raise ValueError(f"[{where}] unknown format, got {format!r}, expected ckpt or safetensors")
    return os.fspath(name)


def _refuse_key(where, key):
    if key is not None:
        raise NotImplementedError(f"[{where}] files are not encrypted, got a key, expected None")


def save_checkpoint(
    save_obj,
    ckpt_file_name,
    integrated_save=True,
    async_save=False,
    append_dict=None,
    enc_key=None,
    enc_mode="AES-GCM",
    choice_func=None,
    crc_check=False,
    format="ckpt",
    **kwargs,
):
    """Writes the parameters of a cell, of a dict, or of a list of {"name", "data"}."""
    _refuse_key("save_checkpoint", enc_key)
    path = _path("save_checkpoint", ckpt_file_name, format)
    if not path.endswith((".ckpt", ".safetensors")):
        path += _ENDINGS[format]
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
    if choice_func is not None:
        named = [(name, one) for name, one in named if choice_func(name)]
    for name, one in (append_dict or {}).items():
        named.append((name, one if isinstance(one, Tensor) else Tensor(one)))
    for name, one in named:
        if not isinstance(one, Tensor):
            raise TypeError(f"[save_checkpoint] '{name}' is no tensor, got {type(one).__name__}, expected one")
    _core.save_arrays(path, [(name, one.array) for name, one in named], {})


def load_checkpoint(
    ckpt_file_name,
    net=None,
    strict_load=False,
    filter_prefix=None,
    dec_key=None,
    dec_mode="AES-GCM",
    specify_prefix=None,
    choice_func=None,
    crc_check=False,
    remove_redundancy=False,
    format="ckpt",
):
    """The parameters of a file by their names; given a cell, it gets them."""
    _refuse_key("load_checkpoint", dec_key)
    path = _path("load_checkpoint", ckpt_file_name, format)
    if not path.endswith((".ckpt", ".safetensors")):
        raise ValueError(
            f"[load_checkpoint] bad name of a file, got '{path}', expected one that ends in .ckpt or .safetensors"
        )
    left_out, chosen = _prefixes(filter_prefix), _prefixes(specify_prefix)
    found = {}
    for name, array in _core.load_arrays(path).items():
        if name.startswith(left_out) if left_out else False:
            continue
        if chosen and not name.startswith(chosen):
            continue
        if choice_func is not None and not choice_func(name):
            continue
        found[name] = Parameter(Tensor(array), name=name)
    if not found:
        raise ValueError(f"[load_checkpoint] nothing to load, got no parameters of '{path}', expected at least 1")
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def _prefixes(given):
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):
    """Gives parameters to those of a cell of the same names; the names of both that found none: (of the cell, of the
    dict)."""
    if not isinstance(net, Cell):
        raise TypeError(f"[load_param_into_net] the network is no cell, got {type(net).__name__}, expected an nn.Cell")
    if not isinstance(parameter_dict, dict):
        raise TypeError(
            f"[load_param_into_net] no dict, got {type(parameter_dict).__name__}, expected names and parameters"
        )
    missing, used = [], set()
    for one in net.get_parameters():
        given = parameter_dict.get(one.name)
        if given is None:
            missing.append(one.name)
            continue
        if given.shape != one.shape:
            raise RuntimeError(
                f"[load_param_into_net] '{one.name}' is of another shape, got {given.shape}, expected {one.shape}"
            )
        if strict_load and given.dtype != one.dtype:
            raise RuntimeError(
                f"[load_param_into_net] '{one.name}' is of another type, got {given.dtype}, expected {one.dtype}"
            )
        one.set_data(given)
        used.add(one.name)
    return missing, [name for name in parameter_dict if name not in used]


def _later(name, instead):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"[{name}] files of parts of parameters, got a call, expected {instead}")

    refuse.__name__ = name
    refuse.__doc__ = "Not there yet."
    return refuse


load_distributed_checkpoint = _later("load_distributed_checkpoint", "load_checkpoint of a whole file")
transform_checkpoints = _later("transform_checkpoints", "whole files, which any number of ranks loads")
transform_checkpoint_by_rank = _later("transform_checkpoint_by_rank", "whole files, which any number of ranks loads")
unified_safetensors = _later("unified_safetensors", "whole files, which any number of ranks loads")
rank_list_for_transform = _later("rank_list_for_transform", "whole files, which any number of ranks loads")
merge_sliced_parameter = _later("merge_sliced_parameter", "whole files, which any number of ranks loads")
build_searched_strategy = _later("build_searched_strategy", "whole files, which any number of ranks loads")


def sync_pipeline_shared_parameters(net):
    """Kept, without effect: parameters of several stages are one."""


def export(net, *inputs, file_name, file_format, **kwargs):
    """Not there yet."""
    raise NotImplementedError(
        f"[export] a file of another system, got file_format={file_format!r}, expected save_checkpoint"
    )


__getattr__ = refuse_missing(globals())
