"""Element types."""

from enum import Enum

import numpy as np

from partita import _later


class DType:
    """An element type: `str(ms.float32)` is "Float32", its `repr` that of the documented system."""

    __slots__ = ("name", "core", "numpy")

    def __init__(self, name, core, numpy):
        self.name, self.core, self.numpy = name, core, numpy

    def __str__(self):
        return self.name

    def __repr__(self):
        kind = self.name.split("[")[0]  # without the types of elements
        return f"mindspore.{_IN_SCRIPTS.get(kind, self.name.lower())}"

    def __hash__(self):
        return hash(self.core)

    def __eq__(self, other):
        return isinstance(other, DType) and other.core == self.core


# How scripts name what has another name than that in small letters.
_IN_SCRIPTS = {"Float8E4M3FN": "float8_e4m3fn", "Float8E5M2": "float8_e5m2", "String": "string_", "List": "list_"}
_IN_SCRIPTS.update({"Tuple": "tuple_", "None": "type_none", "Null": "Null", "Int4": "int4"})


class Number(DType):
    """A type of numbers."""

    __slots__ = ()


class Float(Number):
    """A type of floating-point numbers, but for bfloat16."""

    __slots__ = ()


class BFloat(Number):
    """The type bfloat16."""

    __slots__ = ()


class Int(Number):
    """A type of integers with a sign."""

    __slots__ = ()


class UInt(Number):
    """A type of integers without a sign."""

    __slots__ = ()


class Bool(Number):
    """The type of bools."""

    __slots__ = ()


class Complex(Number):
    """A type of complex numbers."""

    __slots__ = ()


class _OfValues(DType):
    """A type of what is no element. `parts`: the types of elements, or None where they are not known."""

    __slots__ = ("parts",)
    _title = ""

    def __init__(self, parts=None):
        name = self._title if parts is None else f"{self._title}[{','.join(map(str, parts))}]"
        super().__init__(name, name, None)
        self.parts = parts


class TensorType(_OfValues):
    """The type of tensors, with the type of their elements: that of `ops.typeof(tensor)`."""

    __slots__, _title = (), "Tensor"


class Tuple(_OfValues):
    """The type of tuples, with those of their elements."""

    __slots__, _title = (), "Tuple"


class List(_OfValues):
    """The type of lists, with those of their elements."""

    __slots__, _title = (), "List"


Type = DType
bool_ = Bool("Bool", "bool", np.dtype(np.bool_))
uint8, uint16, uint32, uint64 = (UInt(f"UInt{n}", f"u{n}", np.dtype(f"u{n // 8}")) for n in (8, 16, 32, 64))
int8, int16, int32, int64 = (Int(f"Int{n}", f"i{n}", np.dtype(f"i{n // 8}")) for n in (8, 16, 32, 64))
float16, float32, float64 = (Float(f"Float{n}", f"f{n}", np.dtype(f"f{n // 8}")) for n in (16, 32, 64))
bfloat16 = BFloat("BFloat16", "bf16", None)
half, single, double, int_, float_ = float16, float32, float64, int64, float64

# Element types that scripts name, and that no tensor has, as uint64.
complex64, complex128 = (Complex(f"Complex{n}", f"c{n}", np.dtype(f"c{n // 8}")) for n in (64, 128))
qint4x2 = Int("Int4", "q4", None)

# Names of C for them, as scripts of other libraries use them.
short, ushort, long, byte, ubyte, intc, uintc, intp = int16, uint16, int64, int8, uint8, int32, uint32, int64
cfloat, cdouble, uintp, uint = complex64, complex128, uint64, uint64

# Types of eight bits and less, and types of what is no tensor: they are names, which no tensor has.
hifloat8 = Float("HiFloat8", "hif8", None)
float8_e4m3fn, float8_e5m2 = Float("Float8E4M3FN", "f8e4m3fn", None), Float("Float8E5M2", "f8e5m2", None)
string, type_none, _null = (DType(one, one, None) for one in "String None Null".split())
number, list_, tuple_, tensor_type = Number("Number", "Number", None), List(), Tuple(), TensorType()
QuantDtype = Enum("QuantDtype", [f"{kind}{bits}" for kind in ("INT", "UINT") for bits in range(1, 17)], start=0)
QuantDtype.__doc__ = "Types of quantized numbers, by their bits: names, which no tensor has."

_ALL = (bool_, uint8, uint16, uint32, int8, int16, int32, int64, float16, float32, float64, bfloat16)
_BY_CORE = {one.core: one for one in _ALL}
int_type, uint_type = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
float_type = (float16, float32, float64, bfloat16)
complex_type = (complex64, complex128)
number_type = (*int_type, *uint_type, *float_type, *complex_type)


_FLOATS = {"f16", "bf16", "f32", "f64"}


def of_core(core):
    """The element type of its short name: "f32"."""
    return _BY_CORE[core]


def is_float(dtype):
    """Whether numbers of this type have fractions."""
    return dtype.core in _FLOATS


def to_dtype(given):
    """An element type from one of ours, of NumPy, or of Python; TypeError for others."""
    if isinstance(given, DType) and given.core in _BY_CORE:
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
    text = str(given) if isinstance(given, DType) else repr(given)
    raise TypeError(f"[dtype] unknown element type, got {text}, expected one of {names}")


DTypeLike = DType | np.dtype | type | str  # what `to_dtype` takes


def dtype_to_nptype(type_):
    """The type of NumPy's scalars that has the elements of an element type. Raises TypeError for bfloat16, which NumPy
    lacks, and for types of what is no element.

    >>> ms.dtype_to_nptype(ms.float32)
    <class 'numpy.float32'>
    """
    found = type_ if isinstance(type_, DType) and type_.numpy is not None else to_dtype(type_)
    if found.numpy is None:
        raise TypeError(f"[dtype] NumPy lacks this element type, got {found}, expected another one, such as float32")
    return found.numpy.type


_OF_PYTHON = {
    float: float64, complex: complex128, str: string, list: list_, tuple: tuple_, type(None): type_none,
    np.complex64: complex64, np.complex128: complex128,
}  # fmt: skip


def pytype_to_dtype(given):
    """The type that stands for a type of Python, or of NumPy: float64 for float. Raises TypeError for others."""
    if isinstance(given, DType):
        return given
    found = _OF_PYTHON.get(given)
    return to_dtype(given) if found is None else found


def dtype_to_pytype(type_):
    """The type of Python: bool, int, float or complex, or that of other values."""
    named = {string: str, list_: list, tuple_: tuple, type_none: type(None)}
    if type_ in named:
        return named[type_]
    kind = to_dtype(type_) if type_ not in complex_type else type_
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex, None: float}[kind.numpy and kind.numpy.kind]


def get_py_obj_dtype(obj):
    """The type of a value: of a tensor `TensorType` with that of its elements, of a type what `pytype_to_dtype` gives.
    Raises TypeError for values of other classes."""
    if isinstance(obj, DType):
        return obj
    own = getattr(obj, "dtype", None)
    if isinstance(own, DType):
        return TensorType((own,))
    kind = obj if isinstance(obj, type) else type(obj)
    if kind not in _OF_PYTHON and kind not in (bool, int) and not issubclass(kind, np.generic):
        raise TypeError(f"[dtype] no such type, got {kind.__name__}, expected a number, a str or a Tensor")
    return pytype_to_dtype(kind)


def type_size_in_bytes(dtype):
    """The bytes of an element. Raises TypeError for types of what is no element."""
    found = dtype if dtype in complex_type else to_dtype(dtype)
    return 2 if found.numpy is None else found.numpy.itemsize


def signed_type(dtype):
    """Whether numbers of a type have a sign."""
    return is_float(dtype) or dtype in int_type or dtype in complex_type


_KINDS = {"Int": int_type, "UInt": uint_type, "Float": float_type}  # kinds of numbers, without their bits


def type_of(value):
    """The type of a value, as the documented `typeof` gives it: of tensors, tuples and lists with their elements."""
    if isinstance(value, (tuple, list)):
        return (Tuple if isinstance(value, tuple) else List)(tuple(map(type_of, value)))
    return float32 if isinstance(value, float) else get_py_obj_dtype(value)


def _issubclass_(type_, dtype):
    """Whether a type is another one, or one of its kind: a number, a tensor, a tuple, a list."""
    if not isinstance(type_, DType) or not isinstance(dtype, DType):
        return False
    if dtype == number:
        return type_ in (bool_, *number_type)
    if dtype.name in _KINDS:
        return type_ in _KINDS[dtype.name] or type_ == dtype
    return type_ == dtype or (isinstance(dtype, _OfValues) and dtype.parts is None and isinstance(type_, type(dtype)))


__getattr__, __dir__ = _later.names_later(globals(), {"typing": "partita.common.typing"})
