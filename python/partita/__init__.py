"""Partita: neural networks trained on many devices from a program written for one.

The names and defaults are those of the documented system's Python interface (docs/guide/python.md)."""

import importlib

from partita import _waiting  # noqa: F401  # before the library is loaded
from partita import _core, _exit
from partita._layout import Layout  # noqa: F401
from partita._names import missing as _missing
from partita.common import Parameter, ParameterTuple, Tensor, dtype, get_seed, set_seed, tensor  # noqa: F401
from partita.common.sparse import COOTensor, CSRTensor, RowTensor  # noqa: F401
from partita.common.dtype import (  # noqa: F401
    TensorType,
    complex64,
    complex128,
    int8,
    int16,
    uint16,
    uint64,
    bfloat16,
    bool_,
    double,
    dtype_to_nptype,
    float16,
    float32,
    float64,
    float_,
    half,
    int32,
    int64,
    int_,
    pytype_to_dtype,
    single,
    uint8,
    uint32,
)
from partita.context import (  # noqa: F401
    GRAPH_MODE,
    PYNATIVE_MODE,
    ParallelMode,
    get_auto_parallel_context,
    get_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
    set_context,
    set_device,
    set_offload_context,
)
from partita import communication, context, nn, ops  # noqa: F401
from partita.planning import explain, plan  # noqa: F401
from partita.nn.cell import Sharded as _Sharded
from partita.ops.composite import grad, value_and_grad  # noqa: F401
from partita.ops.jacobians import jacfwd, jacrev  # noqa: F401
from partita.ops.mapping import vmap  # noqa: F401
from partita.ops.products import jvp, vjp  # noqa: F401
from partita.train import (  # noqa: F401
    Callback,
    CheckpointConfig,
    LossMonitor,
    Model,
    ModelCheckpoint,
    TimeMonitor,
    export,
    load_checkpoint,
    load_param_into_net,
    save_checkpoint,
)
from partita.train.distributed import (  # noqa: F401
    build_searched_strategy,
    load_distributed_checkpoint,
    merge_pipeline_strategys,
    merge_sliced_parameter,
    rank_list_for_transform,
    transform_checkpoint_by_rank,
    transform_checkpoints,
    unified_safetensors,
)
from partita.train.serialization import sync_pipeline_shared_parameters  # noqa: F401
from partita.train.step import JitConfig, jit, jit_class, lazy_inline, ms_function, mutable  # noqa: F401
from partita.version import __version__  # noqa: F401

# Modules that are imported when they are asked for: with them an import of the package takes half as long again.
_LATER = "amp boost dataset experimental hal log mint numpy parallel profiler runtime scipy train utils".split()
_exit.install()


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    """A function whose inputs and results are cut as the strategies say; see parallel.shard."""
    return _Sharded(fn, in_strategy, out_strategy, parameter_plan)


def __getattr__(name):
    if name in ("Profiler", "SummaryRecord"):
        return getattr(importlib.import_module("partita.profiler" if name == "Profiler" else "partita.train"), name)
    if name in _LATER:
        return importlib.import_module(f"partita.{name}")
    raise _missing(__name__, name, [*globals(), *_LATER])
