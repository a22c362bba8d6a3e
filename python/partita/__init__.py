"""Partita: neural networks trained on many devices from a program written for one.

The names and defaults are those of the documented system's Python interface (docs/python.md)."""
from partita import _core
from partita._names import missing as _missing
from partita.common import (Parameter, ParameterTuple, Tensor, dtype, get_seed, initializer, set_seed,  # noqa: F401
                            tensor)
from partita.common.dtype import (  # noqa: F401
    bfloat16, bool_, double, dtype_to_nptype, float16, float32, float64, float_, half, int32, int64, int_,
    pytype_to_dtype, single, uint8, uint32)
from partita.context import (
    GRAPH_MODE, PYNATIVE_MODE, ParallelMode, get_auto_parallel_context, get_context, reset_auto_parallel_context,
    set_auto_parallel_context, set_context, set_device)

from partita import communication, context, dataset, nn, ops, parallel, train  # noqa: F401,E402  (they use the names above)
from partita.ops.composite import grad, value_and_grad  # noqa: F401,E402
from partita.train import Model  # noqa: F401,E402
from partita.train.step import jit  # noqa: F401,E402

ms_function = jit

__version__ = "0.1.0"


def __getattr__(name):
    raise _missing(__name__, name, list(globals()))
