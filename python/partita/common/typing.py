"""Types by their names, and kinds of element types for isinstance."""

from partita._names import refuse_missing
from partita.common import dtype
from partita.common.dtype import BFloat, Bool, Complex, Float, Int, List, Number, TensorType, Tuple  # noqa: F401
from partita.common.dtype import Type, UInt  # noqa: F401

_OF_NAMES = {"Tensor": dtype.tensor_type, "Tuple": dtype.tuple_, "List": dtype.list_, "None": dtype.type_none}
_OF_NAMES.update({one.name: one for one in vars(dtype).values() if isinstance(one, dtype.DType)})
# Types of arguments that are no values of networks, and kinds of numbers without their bits.
_OTHERS = (
    "Bool CSRTensor COOTensor Dictionary Ellipsis Float Function Int MapTensor RowTensor Slice TypeType UInt"
).split()


def str_to_type(name):
    """The type of a documented name, such as "Tensor", "Float32" or "Slice". Raises RuntimeError for others."""
    if name in _OF_NAMES:
        return _OF_NAMES[name]
    if name not in _OTHERS:
        known = sorted({*_OF_NAMES, *_OTHERS})
        raise RuntimeError(f"[str_to_type] unknown type, got '{name}', expected one of {known}")
    return _OF_NAMES.setdefault(name, dtype.DType(name, name, None))


__getattr__ = refuse_missing(globals())
