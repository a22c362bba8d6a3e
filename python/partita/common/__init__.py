"""Tensors, parameters, element types, initial values, the seed."""

from partita import _later
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
del _name

# Names of other modules, which are imported when they are asked for.
_LATER = {
    "_tensor_facts": "UntypedStorage",
    "dtype": "QuantDtype TensorType Type Int Tuple _null bfloat16 byte cdouble cfloat complex128 complex64 double "
    "dtype_to_nptype dtype_to_pytype float8_e4m3fn float8_e5m2 float_ get_py_obj_dtype half hifloat8 int16 int8 int_ "
    "intc intp list_ long number pytype_to_dtype qint4x2 short single string tensor_type tuple_ type_none ubyte uint "
    "uint16 uint32 uint64 uint8 uintc uintp ushort",
    "generator": "Generator default_generator get_rng_state initial_seed manual_seed set_rng_state",
    "tools": "_no_grad enable_dynamic from_numpy is_tensor no_inline recompute set_dump set_recursion_limit "
    "swap_tensors",
}
__getattr__, __dir__ = _later.names_later(globals(), _later.places_of(_LATER, __name__))
