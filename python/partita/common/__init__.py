"""Tensors, parameters, element types, initial values, the seed."""

import importlib

from partita._names import missing
from partita.common import dtype
from partita.common import initializer
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.seed import get_seed, set_seed
from partita.common.sparse import COOTensor, CSRTensor, RowTensor
from partita.common.tensor import Tensor, tensor


def __getattr__(name):
    if name in ("jit", "lazy_inline"):  # which are above this package
        return getattr(importlib.import_module("partita.train.step"), name)
    raise missing(__name__, name, list(globals()))
