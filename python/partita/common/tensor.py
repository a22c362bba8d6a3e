"""Tensors: arrays of the library, or values of a network that is being built."""

import math
from collections.abc import Sequence

import numpy as np

from partita import _core
from partita._captured import version_of
from partita._current import current, user_line
from partita._names import missing_attribute
from partita._sliced.functions import functions
from partita.common import dtype as mstype
from partita.common import seed as _seed


class NeedsValue(TypeError):
    """Python needs a value of a network while it is built."""


class NeedsSteps(NeedsValue, NotImplementedError):
    """Python does what only a program can have that is recorded in every step."""


class _Readable:
    """The values of a tensor for NumPy, and for those who read its memory: a part of `Tensor`."""

    __slots__ = ()

    def asnumpy(self) -> np.ndarray:
        """The values as a NumPy array over the same memory. Raises TypeError for bfloat16, which NumPy does not
        have. Within a step what is written to the array counts for the calls that follow; that of a result is to be
        read."""
        build = current()
        is_recorded = build is not None and build.is_recorded
        if is_recorded and self._symbol is not None:
            values = self._values().view()
            values.flags.writeable = False
            return values
        if is_recorded and build.knows(self):
            build.detach(self)
        self._is_shared = True
        return self._values()

    def numpy(self) -> np.ndarray:
        """The values as a NumPy array of this shape; see `asnumpy`."""
        return self.asnumpy()

    def __array__(self, dtype=None, copy=None):
        values = self.asnumpy()
        return values if dtype is None else values.astype(dtype)

    def __dlpack__(self, **options):
        self._is_shared = True
        return self._writable().__dlpack__(**options)  # which cannot say that memory is to be read alone

    def __dlpack_device__(self):
        return self.asnumpy().__dlpack_device__()

    @staticmethod
    def from_numpy(array: np.ndarray) -> "Tensor":
        """A tensor with a copy of an array, of its shape and element type. Raises TypeError for what is no NumPy
        array."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"[Tensor] not a NumPy array, got {type(array).__name__}, expected numpy.ndarray")
        return Tensor(array)

    def tolist(self) -> list | float | int | bool:
        """The values as numbers of Python in nested lists, one level for each dimension; without dimensions a
        number."""
        return self._values().tolist()

    def item(self, index: int | tuple[int, ...] | None = None) -> float | int | bool:
        """The only element as a number of Python, or the one at a place, counted in one row or given as a tuple. Raises
        ValueError where there are several elements and no place."""
        values = self._values()
        if index is None and values.size != 1:
            raise ValueError(f"[Tensor.item] not one element, got shape {self.shape}, expected one, or a place")
        return values.item() if index is None else values.item(index)


class Tensor(_Readable):
    """A dense tensor. NumPy reads it without a copy (`asnumpy`), and gives its values with one.

    >>> ms.Tensor([[1, 2], [3, 4]], ms.float32).sum()
    Tensor(shape=[], dtype=Float32, value=10.)
    """

    # Operators, and methods that compute, are functions of ops: `partita.ops.methods` installs them.

    # _updates: changes in place; _view: (tensor, index) of which it is a view; _views: views of it; _hooks: (identity
    # of the symbol that they belong to, hooks of its gradient); _is_shared: whether NumPy may write to it
    __slots__ = ("_array", "_symbol", "_init", "_updates", "_view", "_views", "_hooks", "_is_shared", "__weakref__")
    __slots__ += ("__dict__",)  # attributes that scripts and libraries give tensors
    is_parameter = False
    init_flag = is_init = False  # of tensors that parameter servers draw
    __array_priority__ = 1000  # NumPy leaves operators with tensors to them

    def __init__(
        self,
        input_data: object = None,
        dtype: mstype.DType | str | type | None = None,
        shape: int | Sequence[int] | None = None,
        init: object = None,
        const_arg: bool = False,
        device: str | None = None,
    ):
        self._array = self._symbol = self._init = None
        shape, build = (shape,) if isinstance(shape, int) else shape, current()
        if build is not None and build.is_recorded:
            build.born.append(self)
        if init is not None:
            if shape is None or dtype is None:
                raise ValueError(
                    "[Tensor] an initializer needs a shape and a dtype, got no shape or no dtype, expected both"
                )
            self._init = (init, tuple(shape), mstype.to_dtype(dtype))
            return
        if input_data is None:
            if shape is None or dtype is None:
                raise ValueError("[Tensor] nothing to hold, got None, expected data, or shape, dtype and init")
            self._array = _core.zeros(mstype.to_dtype(dtype).core, tuple(shape))
            return
        if build is not None and isinstance(input_data, Tensor) and input_data._symbol is not None:
            self._become(_copied(build, input_data, dtype))
        else:
            self._array = _array_of(input_data, None if dtype is None else mstype.to_dtype(dtype))
        if shape is not None and self.shape != tuple(shape):
            raise ValueError(f"[Tensor] the data has another shape, got {self.shape}, expected {tuple(shape)}")

    @classmethod
    def _from_symbol(cls, symbol):
        """Returns the tensor that stands for a symbol of a network that is being built."""
        tensor = cls.__new__(cls)
        tensor._array, tensor._symbol, tensor._init = None, symbol, None
        return tensor

    @classmethod
    def _from_array(cls, array):
        """Returns the tensor that holds an array of the library."""
        tensor = cls.__new__(cls)
        tensor._array, tensor._symbol, tensor._init = array, None, None
        return tensor

    # What it holds.

    @property
    def array(self):
        """The array of the library; drawn now where it was to be."""
        if self._array is None:
            if self._is_recorded:
                self._array = self._init.array_of(self)
                return self._array
            if self._symbol is not None:
                file, line = user_line()
                raise NeedsValue(
                    f"[construct] a value of the network is not known while it is built at {file}:{line}, got a "
                    "symbolic tensor, expected ops on it: no NumPy, and no Python control flow on data"
                )
            self.init_data()
        build = current()
        if build is not None:
            build.constants.append(self)  # what Python makes of the values stands in the program
        return self._array

    @property
    def _is_recorded(self):
        """Whether it is a result of a step whose Python runs every time: its value can be asked for."""
        return self._symbol is not None and self._init is not None

    @property
    def _is_symbolic(self):
        """Whether it is a value of a network that is built: it has no value yet."""
        return self._symbol is not None and self._init is None

    def settle(self) -> "Tensor":
        """Makes a result of a step that ended a tensor like any other, and returns the tensor."""
        if self._is_recorded:
            self._array, self._symbol, self._init = self.array, None, None
        return self

    @property
    def version(self) -> int:
        """How often the values were changed in place, as far as the tensor was told."""
        return version_of(self)

    def init_data(
        self, slice_index: int | None = None, shape: Sequence[int] | None = None, opt_shard_group: str | None = None
    ) -> "Tensor":
        """Draws the values that an initializer stands for."""
        if self._array is None and self._init is not None:
            init, own, dtype = self._init
            self._array = init.values_of(own, dtype, self._stream())
        return self

    def _stream(self):
        return _seed.next_name("tensor")

    @property
    def shape(self) -> tuple[int, ...]:
        if self._symbol is not None:  # in a step of several processes the array may be their own rows
            return tuple(self._symbol.shape)
        return self._init[1] if self._array is None else tuple(self._array.shape)

    @property
    def dtype(self) -> mstype.DType:
        if self._array is not None:
            return mstype.of_core(self._array.dtype)
        return self._init[2] if self._symbol is None else mstype.of_core(self._symbol.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.numpy.itemsize if self.dtype.numpy else 2

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def has_init(self) -> bool:
        return self._array is None and self._init is not None

    def dim(self) -> int:
        """The number of dimensions, which `ndim` is, too."""
        return self.ndim

    def _values(self):
        """The values for those who read them at once."""
        if self.dtype == mstype.bfloat16:
            raise TypeError("[Tensor] NumPy has no such element type, got BFloat16, expected astype(ms.float32) first")
        return np.asarray(self.array)

    def value(self) -> "Tensor":
        """Returns the tensor itself."""
        return self

    def copy(self) -> "Tensor":
        """Returns a new tensor with a copy of the values. Gradients pass through it, unless it is of a parameter."""
        build = current()
        if build is not None and self._symbol is not None:
            return _copied(build, self)
        return Tensor._from_array(self.array.copy())

    def __deepcopy__(self, memo):
        made = self if self._is_symbolic and current() is None else self.copy()
        memo[id(self)] = made
        return made

    def __reduce__(self):
        return _unpickled, (type(self), *self._pickled())

    def _pickled(self):
        """(values that NumPy has, element type)."""
        return self._readable(), self.dtype.core

    def _readable(self):
        """The values as NumPy has them: of bfloat16, which it has not, as float32."""
        return np.asarray(self.array.cast("f32")) if self.dtype == mstype.bfloat16 else self._values()

    def set_data(self, data: "Tensor", slice_shape: bool = False) -> None:
        """Takes the values of another tensor of this shape, cast to this element type. Raises ValueError for other
        shapes."""
        self.assign_value(data)

    def assign_value(self, value: "Tensor") -> "Tensor":
        """Takes the values of another tensor of this shape, cast to this element type. Raises ValueError for other
        shapes."""
        if not isinstance(value, Tensor):
            value = Tensor(value)
        if value.shape != self.shape:
            raise ValueError(f"[Tensor] the data has another shape, got {value.shape}, expected {self.shape}")
        self._array = value.array.cast(self.dtype.core)
        self._count_update()
        return self

    # Of Python.

    def __repr__(self):
        if self._is_symbolic:
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, symbolic)"
        if self.has_init:
            return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, not drawn yet)"
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={_brackets(self._readable())})"

    def __str__(self):
        return repr(self) if self._is_symbolic else str(self._values())

    def __bool__(self):
        self._refuse_symbolic("its truth")
        if self.size != 1:
            raise ValueError(
                f"[Tensor] several values are neither true nor false, got shape {self.shape}, expected one element"
            )
        return bool(self._values().item())

    def _single(self, kind):
        """The value of a tensor of one element, as a number. Raises ValueError for others."""
        values = self._values()
        if values.size != 1:
            raise ValueError(
                f"[Tensor.__{kind}__] the tensor has several elements, or none, got shape {tuple(self.shape)}, "
                "expected one element: choose it, as in x[0], or reduce them, as in x.sum()"
            )
        return values.item()

    def __int__(self):
        self._refuse_symbolic("an int")
        return int(self._single("int"))

    def __float__(self):
        self._refuse_symbolic("a float")
        return float(self._single("float"))

    def __index__(self):
        self._refuse_symbolic("an index")
        return int(self._values().item())

    def _refuse_symbolic(self, wanted):
        if not self._is_symbolic:
            return
        file, line = user_line()
        raise NeedsValue(
            f"[construct] control flow depends on data at {file}:{line}, got {wanted} of a symbolic tensor "
            f"{self.dtype}{list(self.shape)}, expected ops such as ops.select, or a condition on shapes"
        )

    def __len__(self):
        if not self.shape:
            raise TypeError("[Tensor] a scalar has no length, got shape (), expected one dimension or more")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __hash__(self):
        return id(self)

    def _become(self, other):
        """Takes the value of another tensor of this shape, which may be one of a step or a network."""
        self._array, self._symbol, self._init = other._array, other._symbol, other._init
        self._count_update()

    def _writable(self):
        """The values, to be changed in place."""
        self._count_update()
        return self._values()

    def _count_update(self):
        self._updates = version_of(self) + 1

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)  # of what is not set yet
        raise missing_attribute("Tensor", name, dir(Tensor))


def _unpickled(kind, values, dtype, *options):
    return kind(Tensor(values, mstype.of_core(dtype)), *options)


def _copied(build, tensor, dtype=None):
    """A value of a step or a network as another tensor, cast to an element type if one is given."""
    shape, kind = list(tensor.shape), (tensor.dtype if dtype is None else mstype.to_dtype(dtype)).core
    return build.run(lambda trace, x: functions.cast(functions.reshape(x, shape), kind), [tensor])


def _array_of(data, dtype):
    if isinstance(data, Tensor):
        return data.array.copy() if dtype is None or dtype == data.dtype else data.array.cast(dtype.core)
    if isinstance(data, _core.Array):
        return data if dtype is None else data.cast(dtype.core)
    if isinstance(data, (list, tuple)) and any(isinstance(one, Tensor) for one in data):
        data = [one._values() if isinstance(one, Tensor) else one for one in data]
    if dtype is None and isinstance(data, float) and not isinstance(data, np.generic):
        dtype = mstype.float32
    values = _as_numpy(data)
    if dtype is None and isinstance(data, (list, tuple)) and values.dtype == np.float64:
        dtype = mstype.float32
    if dtype is not None and dtype.numpy is not None:
        return _core.Array(values.astype(dtype.numpy, copy=False))
    array = _core.Array(values)
    return array if dtype is None else array.cast(dtype.core)


def _as_numpy(data):
    """The array of NumPy of lists and numbers. Raises ValueError for rows that differ in length."""
    try:
        values = np.asarray(data)
    except ValueError as error:
        raise ValueError(
            f"[Tensor] rows differ in length, got {_shortened(data)}, expected lists of one length"
        ) from error
    if values.dtype.kind in "OUS":
        raise TypeError(
            f"[Tensor] these are no numbers, got {_shortened(data)}, expected numbers, lists or arrays of them"
        )
    return values


def _shortened(data):
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}.."


def _brackets(values):
    text = np.array2string(values, separator=", ", threshold=20)
    return text if values.ndim else text.strip()


def tensor(
    input_data: object = None,
    dtype: mstype.DType | str | type | None = None,
    shape: int | Sequence[int] | None = None,
    init: object = None,
    const_arg: bool = False,
    device: str | None = None,
) -> Tensor:
    """A Tensor with a copy of the elements of an array, a list or a number, in an element type: of numbers of Python
    int64, float32 or bool. Raises TypeError for what are no numbers, ValueError for rows that differ in length.

    >>> ms.tensor([1, 2])
    Tensor(shape=[2], dtype=Int64, value=[1, 2])
    >>> ms.tensor(1.5, ms.float64).dtype
    mindspore.float64
    """
    return Tensor(input_data, dtype, shape, init, const_arg, device)
