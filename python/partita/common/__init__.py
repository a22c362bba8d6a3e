"""Tensors, parameters, element types, initial values, the seed."""

from partita._names import refuse_missing
from partita.common import dtype
from partita.common import initializer
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.seed import get_seed, set_seed
from partita.common.sparse import COOTensor, CSRTensor, RowTensor
from partita.common.tensor import Tensor, tensor

__getattr__ = refuse_missing(globals())
