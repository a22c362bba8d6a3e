"""Partita: neural networks trained on many devices from a program written for one.

The names and defaults are those of the documented system's Python interface (docs/guide/python.md)."""

import importlib

from partita import _waiting  # noqa: F401  # before the library is loaded
from partita import _core, _exit
from partita._layout import Layout  # noqa: F401
from partita._names import exported as _exported
from partita._names import missing as _missing
from partita._places import submodule as _submodule
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
from partita.ops.named_gradients import get_grad  # noqa: F401
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
_LATER = (
    "amp boost dataset device_context experimental graph hal log mindrecord mint multiprocessing numpy parallel "
    "profiler rewrite runtime safeguard scipy tools train utils"
).split()
# Names of other modules, which are imported when they are asked for.
_OF_MODULES = {
    "train": "Accuracy BackupAndRestore BleuScore ConfusionMatrix ConfusionMatrixMetric CosineSimilarity Dice "
    "DynamicLossScaleManager EarlyStopping F1 Fbeta FixedLossScaleManager HausdorffDistance History LambdaCallback "
    "LearningRateScheduler Loss LossScaleManager MAE MSE MeanSurfaceDistance Metric OcclusionSensitivity OnRequestExit "
    "Perplexity Precision ROC Recall ReduceLROnPlateau RootMeanSquareDistance RunContext SummaryCollector "
    "SummaryRecord Top1CategoricalAccuracy Top5CategoricalAccuracy TopKCategoricalAccuracy auc get_metric_fn names "
    "rearrange_inputs",
    "train.conversions": "async_ckpt_thread_status ckpt_to_safetensors get_ckpt_path_with_strategy "
    "load_checkpoint_async load_segmented_checkpoints safetensors_to_ckpt",
    "train.data_sink": "DatasetHelper connect_network_with_dataset data_sink",
    "amp": "build_train_network",
    "train.serialization": "load",
    "common.sparse": "SparseTensor",
    "common.dtype": "Int QuantDtype Type _null byte cdouble cfloat dtype_to_pytype float8_e4m3fn float8_e5m2 "
    "get_py_obj_dtype hifloat8 intc intp list_ long number qint4x2 short string tensor_type tuple_ type_none ubyte "
    "uint uintc uintp ushort",
    "common.generator": "Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state",
    "common.tools": "COMPATIBLE LAX STRICT _no_grad enable_dynamic from_numpy frombuffer get_current_device is_tensor "
    "no_inline recompute set_deterministic set_dump set_recursion_limit swap_tensors",
    "common": "_Function",
    "_installed": "run_check",
    "runtime": "Event Stream StreamCtx communication_stream current_stream default_stream dispatch_threads_num "
    "empty_cache launch_blocking max_memory_allocated max_memory_reserved memory_allocated memory_reserved "
    "memory_stats memory_summary reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats "
    "set_cpu_affinity set_cur_stream set_kernel_launch_capture set_kernel_launch_group set_memory synchronize",
    "_memory": "ms_memory_recycle",
    "common._tensor_facts": "UntypedStorage",
    "log": "get_level get_log_config",
    "parallel": "get_algo_parameters reset_algo_parameters set_algo_parameters",
    "profiler": "Profiler",
}
_WHERE = {name: module for module, names in _OF_MODULES.items() for name in names.split()}
_BUILTINS = {"bool": "bool_", "float": "float32", "int": "int32"}  # element types with names of Python's types
_exit.install()


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    """A function whose inputs and results are cut as the strategies say; see parallel.shard."""
    return _Sharded(fn, in_strategy, out_strategy, parameter_plan)


def __getattr__(name):
    if name == "__all__":
        return _exported(globals(), [one for one in (*_WHERE, *_BUILTINS) if not one.startswith("_")])
    if name in _WHERE:
        return getattr(importlib.import_module(f"partita.{_WHERE[name]}"), name)
    if name in _LATER:
        return importlib.import_module(f"partita.{name}")
    if name in _BUILTINS:
        return getattr(dtype, _BUILTINS[name])
    found = _submodule(__name__, name)
    if found is not None:
        return found
    raise _missing(__name__, name, [*globals(), *_LATER, *_WHERE])


def __dir__():
    return sorted({*globals(), *_LATER, *_WHERE, *_BUILTINS})
