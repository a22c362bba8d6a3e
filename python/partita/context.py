"""Settings that a script makes before its network: the mode, the ranks, how they share the work."""

from __future__ import annotations

import contextlib
import operator

from partita import _core, _devices, _ranks
from partita._names import refuse_missing
from partita._warnings import warn

GRAPH_MODE, PYNATIVE_MODE = 0, 1
STRICT, COMPATIBLE, LAX = 0, 1, 2


class _Context:
    """The context of the documented system, as far as libraries set it by hand."""

    def set_backend_policy(self, policy):
        """Kept without effect: there is one way to run programs."""


K_CONTEXT = _Context()


class ParallelMode:
    """How ranks share the work, as `set_auto_parallel_context(parallel_mode=..)` takes it: STAND_ALONE (not at all),
    DATA_PARALLEL (rows), SEMI_AUTO_PARALLEL (as `shard` says), AUTO_PARALLEL (as the planner finds) and HYBRID_PARALLEL
    (by hand)."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


# Keys of set_context: the default, and whether the key does something here. `ranks`, `threads`, `batch_norm` and
# `kernels` are ours.
_CONTEXT = {
    "mode": (PYNATIVE_MODE, True),
    "device_target": ("CPU", True),
    "device_id": (0, True),
    "deterministic": ("OFF", True),
    "save_graphs": (0, True),
    "save_graphs_path": (".", True),
    "ranks": (1, True),
    "threads": (0, True),
    "batch_norm": ("", True),
    "kernels": ("fast", True),
    "max_call_depth": (1000, False),
    "memory_offload": ("OFF", False),
    "jit_syntax_level": (LAX, False),
    "op_timeout": (900, False),
    "max_device_memory": ("1024GB", False),
    "variable_memory_max_size": ("30GB", False),
    "mempool_block_size": ("1GB", False),
    "enable_graph_kernel": (False, False),
    "graph_kernel_flags": ("", False),
    "enable_compile_cache": (False, False),
    "compile_cache_path": (".", False),
    "precompile_only": (False, False),
    "print_file_path": ("", False),
    "runtime_num_threads": (0, False),
    "ascend_config": ({}, False),
    "gpu_config": ({}, False),
    "jit_config": ({}, False),
    "enable_ge": (False, False),
    "enable_hccl": (False, False),
    "enable_task_sink": (True, False),
    "enable_loop_sink": (False, False),
    "enable_auto_mixed_precision": (False, False),
    "reserve_class_name_in_scope": (True, False),
    "exec_order": ("bfs", False),
    "check_bprop": (False, False),
    "pynative_synchronize": (False, False),
    "inter_op_parallel_num": (0, False),
    "enable_reduce_precision": (True, False),
    "auto_tune_mode": ("NO_TUNE", False),
    "profiling_dir_path": (".", False),
    "env_config_path": ("", False),
    "memory_optimize_level": ("O0", False),
    "aoe_tune_mode": ("", False),
    "aoe_config": ({}, False),
    "support_binary": (False, False),
    "debug_level": (0, False),
}
_CHOICES = {
    "mode": (GRAPH_MODE, PYNATIVE_MODE),
    "device_target": ("CPU", "GPU", "Ascend"),
    "deterministic": ("ON", "OFF"),
    "memory_offload": ("ON", "OFF"),
    "batch_norm": ("", "local", "global"),
    "kernels": ("fast", "reference"),
}

_PARALLEL = {
    "device_num": (1, True),
    "global_rank": (0, True),
    "gradients_mean": (False, True),
    "mirror_mean": (False, True),
    "gradient_fp32_sync": (True, False),
    "cast_before_mirror": (True, False),
    "loss_repeated_mean": (True, False),
    "parallel_mode": ("stand_alone", True),
    "search_mode": ("recursive_programming", True),
    "auto_parallel_search_mode": ("recursive_programming", True),
    "parameter_broadcast": (False, False),
    "strategy_ckpt_load_file": ("", True),
    "strategy_ckpt_save_file": ("", True),
    "full_batch": (False, True),
    "dataset_strategy": ("data_parallel", True),
    "enable_parallel_optimizer": (False, True),
    "parallel_optimizer_config": ({}, True),
    "optimizer_weight_shard_size": (-1, True),
    "enable_alltoall": (False, False),
    "force_fp32_communication": (False, False),
    "pipeline_stages": (1, True),
    "pipeline_result_broadcast": (False, False),
    "pipeline_config": ({}, True),
    "auto_pipeline": (False, False),
    "grad_accumulation_step": (1, True),
    "all_reduce_fusion_config": ([], False),
    "comm_fusion": ({}, False),
    "strategy_ckpt_config": ({}, True),
    "group_ckpt_save_file": ("", False),
    "communi_parallel_mode": ("all_group_parallel", False),
    "sharding_propagation": (False, True),
    "dump_local_norm": (False, False),
    "dump_local_norm_path": ("", False),
    "dump_device_local_norm": (False, False),
    "auto_parallel_new_interface": (False, False),
    "init_param_in_compile": (True, False),
}
_PARALLEL_CHOICES = {
    "parallel_mode": tuple(ParallelMode.MODE_LIST),
    "search_mode": ("recursive_programming", "dynamic_programming", "sharding_propagation"),
    "auto_parallel_search_mode": ("recursive_programming", "dynamic_programming", "sharding_propagation"),
    "communi_parallel_mode": ("all_group_parallel", "same_server_group_parallel", "no_group_parallel"),
}
_OLD_NAMES = {
    "mirror_mean": "gradients_mean",
    "cast_before_mirror": "gradient_fp32_sync",
    "auto_parallel_search_mode": "search_mode",
}
_NESTED = {
    "parallel_optimizer_config": (
        "gradient_accumulation_shard",
        "parallel_optimizer_threshold",
        "optimizer_weight_shard_size",
        "optimizer_level",
    ),
    "pipeline_config": ("pipeline_interleave", "pipeline_scheduler"),
    "strategy_ckpt_config": ("load_file", "save_file", "only_trainable_params"),
    "comm_fusion": ("openstate", "allreduce", "allgather", "reducescatter"),
}

_PIPELINE_STANDARDS = {"pipeline_interleave": False, "pipeline_scheduler": "1f1b"}

_given = set()  # keys that the script set
_context = {key: default for key, (default, _) in _CONTEXT.items()}
_parallel = {}


def _check(where, keys, choices, key, value):
    if key not in keys:
        near = _core.nearest(key, list(keys))
        raise ValueError(
            f"[{where}] unknown key, got '{key}', expected one of {len(keys)} keys"
            + (f", did you mean '{near}'?" if near else "")
        )
    if key in choices and value not in choices[key]:
        raise ValueError(f"[{where}] {key} has an unknown value, got {value!r}, expected one of {choices[key]}")
    default, works = keys[key]
    if isinstance(default, bool) and not isinstance(value, (bool, int)):
        raise TypeError(f"[{where}] {key} is not a bool, got {value!r}, expected True or False")
    if isinstance(default, int) and not isinstance(default, bool) and (not isinstance(value, int) or value is True):
        raise TypeError(f"[{where}] {key} is not an integer, got {value!r}, expected one")
    if not works and value != default:
        warn(f"[{where}] {key} has no effect here, got {value!r}")


def set_context(**kwargs) -> None:
    """Sets options of the run. `mode`: GRAPH_MODE or PYNATIVE_MODE. `device_target`: "CPU", "GPU" or "Ascend", with its
    number `device_id`. `deterministic="ON"`: the same bits in each run. `save_graphs` and `save_graphs_path`: what is
    written of programs, and where. Of this package are `ranks` (threads of this process that train together), `threads`
    (those that compute; 0: all cores), `batch_norm` ("local" or "global" means) and `kernels` ("fast" or "reference").
    Raises ValueError for an unknown key or value, TypeError for a value of another type; a key without effect here
    gives a warning."""
    for key, value in kwargs.items():
        _check("set_context", _CONTEXT, _CHOICES, key, value)
        if key == "device_id" and value < 0:
            raise ValueError(f"[set_context] bad device_id, got {value}, expected 0 or more")
        if key == "ranks" and value < 1:
            raise ValueError(f"[set_context] bad ranks, got {value}, expected 1 or more")
    _context.update(kwargs)
    _given.update(kwargs)


def device_option(alone=True):
    """The device of programs, as the option `ranks.device` has it. `alone` says that processes do not share them."""
    device_id = _context["device_id"] if "device_id" in _given else None
    return _devices.device_of(_context["device_target"], device_id, alone, _ranks.in_process(_context["ranks"]))


def get_context(attr_key: str) -> object:
    """The value of a key of `set_context`, or its default. Raises ValueError for an unknown key."""
    _check("get_context", _CONTEXT, {}, attr_key, _context.get(attr_key))
    return _context[attr_key]


def _get_mode():
    """The mode: GRAPH_MODE or PYNATIVE_MODE."""
    return get_context("mode")


def set_offload_context(offload_config) -> None:
    """Kept, without effect: memory is not offloaded; Cell.recompute saves memory."""
    warn(f"[set_offload_context] has no effect here, got {offload_config!r}")


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Sets the kind of the device, "CPU", "GPU" or "Ascend", and its number from 0, as `set_context` does. Raises
    ValueError for others."""
    set_context(device_target=device_target, **({} if device_id is None else {"device_id": device_id}))


def checked_parallel_settings(**kwargs):
    """Keys of set_auto_parallel_context with their values, by their present names."""
    settings = {}
    for key, value in kwargs.items():
        _check("set_auto_parallel_context", _PARALLEL, _PARALLEL_CHOICES, key, value)
        if key == "dataset_strategy" and value not in ("data_parallel", "full_batch") and not isinstance(value, tuple):
            raise ValueError(
                f"[set_auto_parallel_context] dataset_strategy has an unknown value, got {value!r}, expected "
                "'data_parallel', 'full_batch' or a tuple of tuples"
            )
        if key in ("device_num", "pipeline_stages", "grad_accumulation_step") and value < 1:
            raise ValueError(f"[set_auto_parallel_context] bad {key}, got {value}, expected an integer from 1")
        for inner in value if key in _NESTED else ():
            if inner not in _NESTED[key]:
                raise ValueError(
                    f"[set_auto_parallel_context] unknown key of {key}, got '{inner}', expected one of {_NESTED[key]}"
                )
        settings[_OLD_NAMES.get(key, key)] = value
    return settings


def set_auto_parallel_context(**kwargs) -> None:
    """Sets how ranks share the work; to be called before the network is made. `parallel_mode`: "stand_alone",
    "data_parallel", "semi_auto_parallel", "auto_parallel" or "hybrid_parallel". `gradients_mean`: whether gradients of
    ranks are averaged, else summed. `pipeline_stages`, `grad_accumulation_step`: integers from 1.
    `enable_parallel_optimizer`: whether ranks share the states of the optimizer. `dataset_strategy`: "data_parallel",
    "full_batch" or a tuple of tuples. Raises ValueError for an unknown key or value, TypeError for a value of another
    type; a key without effect here gives a warning."""
    _parallel.update(checked_parallel_settings(**kwargs))


@contextlib.contextmanager
def parallel_settings(settings):
    """Within it these are set, too."""
    before = dict(_parallel)
    _parallel.update(settings)
    try:
        yield
    finally:
        _parallel.clear()
        _parallel.update(before)


_OF_PROGRAMS = ("threads", "kernels", "batch_norm", "save_graphs", "device_target", "device_id", "deterministic")
_of_programs = operator.itemgetter(*_OF_PROGRAMS)


def program_state():
    """Equal as long as what the context says of programs is."""
    return repr(_parallel) if _parallel else "", _of_programs(_context)


def is_eager():
    """Whether the Python of a step runs in every step."""
    return _context["mode"] == PYNATIVE_MODE


def get_auto_parallel_context(attr_key: str) -> object:
    """The value of a key of `set_auto_parallel_context`, or of one within its pipeline_config; else its default. Raises
    ValueError for an unknown key."""
    if attr_key in _PIPELINE_STANDARDS:
        return get_auto_parallel_context("pipeline_config").get(attr_key, _PIPELINE_STANDARDS[attr_key])
    if attr_key not in _PARALLEL:
        _check("get_auto_parallel_context", _PARALLEL, {}, attr_key, None)
    name = _OLD_NAMES.get(attr_key, attr_key)
    if name == "device_num" and name not in _parallel:
        return _ranks.group_size_or_one(_context["ranks"])
    return _parallel.get(name, _PARALLEL[name][0])


def reset_auto_parallel_context() -> None:
    """Sets all keys of `set_auto_parallel_context` as they were at the beginning."""
    _parallel.clear()


def option_texts(options):
    """(key, texts) of options of a job (docs/reference/configuration.md), from values of Python; lists are texts
    already."""
    return [(key, value if isinstance(value, list) else [_option_text(value)]) for key, value in options.items()]


def _option_text(value):
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def is_set(attr_key):
    """Whether a key of set_auto_parallel_context was given."""
    return attr_key in _parallel


__getattr__ = refuse_missing(globals())
