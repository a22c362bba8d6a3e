"""Tensors, parameters, element types, initial values, the seed."""

from partita._names import refuse_missing
from partita.common import _tensor_facts, dtype
from partita.common._grad_function import _Function
from partita.common import initializer
from partita.common.parameter import Parameter, ParameterTuple
from partita.common.seed import get_seed, set_seed
from partita.common.sparse import COOTensor, CSRTensor, RowTensor
from partita.common.tensor import Tensor, tensor

_tensor_facts.install()
for _name in "float16 float32 float64 int32 int64 bool_".split():  # as scripts import them from here
    globals()[_name] = getattr(dtype, _name)

__getattr__ = refuse_missing(globals())
