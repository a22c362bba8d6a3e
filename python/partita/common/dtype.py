"""Element types."""

import numpy as np

from partita._names import refuse_missing


class DType:
    """An element type: `str(ms.float32)` is "Float32"."""

    __slots__ = ("name", "core", "numpy")

    def __init__(self, name, core, numpy):
        self.name, self.core, self.numpy = name, core, numpy

    def __repr__(self):
        return self.name

    def __hash__(self):
        return hash(self.core)

    def __eq__(self, other):
        return isinstance(other, DType) and other.core == self.core


bool_ = DType("Bool", "bool", np.dtype(np.bool_))
uint8 = DType("UInt8", "u8", np.dtype(np.uint8))
uint32 = DType("UInt32", "u32", np.dtype(np.uint32))
int32 = DType("Int32", "i32", np.dtype(np.int32))
int64 = DType("Int64", "i64", np.dtype(np.int64))
float16 = DType("Float16", "f16", np.dtype(np.float16))
float32 = DType("Float32", "f32", np.dtype(np.float32))
float64 = DType("Float64", "f64", np.dtype(np.float64))
bfloat16 = DType("BFloat16", "bf16", None)
half, single, double, int_, float_ = float16, float32, float64, int64, float64

_ALL = (bool_, uint8, uint32, int32, int64, float16, float32, float64, bfloat16)
_BY_CORE = {one.core: one for one in _ALL}
_FLOATS = {"f16", "bf16", "f32", "f64"}


def of_core(core):
    """The element type of its short name: "f32"."""
    return _BY_CORE[core]


def is_float(dtype):
    """Whether numbers of this type have fractions."""
    return dtype.core in _FLOATS


def to_dtype(given):
    """An element type from one of ours, of NumPy, or of Python; TypeError for others."""
    if isinstance(given, DType):
        return given
    if given is float:
        return float32
    if given is int:
        return int64
    if given is bool:
        return bool_
    try:
        wanted = np.dtype(given)
    except TypeError:
        wanted = None
    for one in _ALL:
        if wanted is not None and one.numpy == wanted:
            return one
    names = ", ".join(one.name.lower() for one in _ALL)
    raise TypeError(f"[dtype] unknown element type, got {given!r}, expected one of {names}")


def dtype_to_nptype(type_):
    """The type of NumPy."""
    return to_dtype(type_).numpy.type


def pytype_to_dtype(given):
    """The element type of a type of Python."""
    return to_dtype(given)


__getattr__ = refuse_missing(globals())
