"""Options of data sets. Those about workers, memory and debugging are kept without effect: maps and sources run in one
thread unless they name another number."""

from __future__ import annotations

import enum
import json

from partita._names import refuse_missing
from partita.common.seed import get_seed, set_seed  # noqa: F401


class ErrorSamplesMode(enum.IntEnum):
    """Ways with rows that raise an error; here the error always ends the iteration."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


_DEFAULTS = {
    "auto_num_workers": False,
    "auto_offload": False,
    "autotune_interval": 0,
    "callback_timeout": 60,
    "dynamic_shape": False,
    "enable_shared_mem": True,
    "enable_watchdog": True,
    "fast_recovery": True,
    "monitor_sampling_interval": 1000,
    "multiprocessing_start_method": "fork",
    "multiprocessing_timeout_interval": 300,
    "num_parallel_workers": 8,
    "numa_enable": False,
    "prefetch_size": 16,
    "sending_batches": 0,
    "video_backend": "CPU",
}
_options = dict(_DEFAULTS, enable_autotune=False, debug_mode=False, error_samples_mode=ErrorSamplesMode.RETURN)
_iterator = {"do_copy": False, "parallel_convert": False}


def _accessors(name):
    kind = type(_DEFAULTS[name])

    def get():
        return _options[name]

    def put(value):
        if not isinstance(value, kind) or isinstance(value, bool) and kind is int:
            raise TypeError(f"[set_{name}] bad value, got {value!r}, expected {kind.__name__}")
        if kind is int and value < 0 or name in ("num_parallel_workers", "prefetch_size") and value < 1:
            raise ValueError(f"[set_{name}] out of range, got {value}, expected a greater number")
        _options[name] = value

    get.__name__, put.__name__ = f"get_{name}", f"set_{name}"
    get.__doc__ = f"The option {name}, {kind.__name__}; {_DEFAULTS[name]!r} at the beginning."
    put.__doc__ = f"Keeps the option {name}, {kind.__name__}, without effect. Raises TypeError for other types"
    put.__doc__ += ", ValueError for integers out of range." if kind is int else "."
    get.__annotations__, put.__annotations__ = {"return": kind}, {"value": kind, "return": None}
    return {get.__name__: get, put.__name__: put}


for _name in _DEFAULTS:
    globals().update(_accessors(_name))


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None):
    """Keeps the option, without effect."""
    _options["enable_autotune"] = bool(enable)


def get_enable_autotune():
    """The option enable_autotune."""
    return _options["enable_autotune"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list=None):
    """Keeps the option, without effect. Raises NotImplementedError for hooks."""
    if debug_hook_list:
        raise NotImplementedError("[set_debug_mode] hooks are not supported, got some, expected functions in map")
    _options["debug_mode"] = bool(debug_mode_flag)


def get_debug_mode():
    """The option debug_mode."""
    return _options["debug_mode"]


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode):
    """Accepts RETURN, which is what happens: an error of a row ends the iteration. Raises NotImplementedError for
    others."""
    if error_samples_mode != ErrorSamplesMode.RETURN:
        raise NotImplementedError(
            f"[set_error_samples_mode] rows with errors end the iteration, got {error_samples_mode!r}, expected a map "
            "that catches errors, then filter"
        )


def get_error_samples_mode():
    """RETURN: an error of a row ends the iteration."""
    return _options["error_samples_mode"]


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False):
    """Keeps the options of iterators, without effect."""
    _iterator.update(do_copy=do_copy, parallel_convert=parallel_convert)


def get_iterator_mode():
    """Options of iterators."""
    return dict(_iterator)


def load(file: str):
    """Takes options of a JSON file: seed, numParallelWorkers, prefetchSize and others by these names."""
    with open(file, encoding="utf-8") as text:
        found = json.load(text)
    if "seed" in found:
        set_seed(found["seed"])
    for key, name in (
        ("numParallelWorkers", "num_parallel_workers"),
        ("monitorSamplingInterval", "monitor_sampling_interval"),
    ):
        if key in found:
            globals()[f"set_{name}"](found[key])


__getattr__ = refuse_missing(globals())
