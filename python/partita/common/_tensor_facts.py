"""Methods of tensors that say where and how values lie, and names that scripts of other libraries ask for. They are
installed into Tensor."""

from collections.abc import Sequence

import numpy as np

from partita._current import current
from partita.common import dtype as mstype
from partita.common._types import DType, Ints
from partita.common.tensor import Tensor


class UntypedStorage:
    """The bytes of a tensor."""

    def __init__(self, tensor):
        self._tensor = tensor

    def data_ptr(self):
        """The address of the bytes."""
        return self._tensor.data_ptr()

    def size(self):
        """How many bytes there are."""
        return self._tensor.nbytes

    nbytes = __len__ = size

    def tolist(self):
        """The bytes as integers."""
        return list(self._tensor.get_bytes())

    def resize_(self, size):
        """Raises NotImplementedError for another size: memory belongs to tensors."""
        if size != self.size():
            raise NotImplementedError(
                f"[UntypedStorage] memory cannot be resized, got {size} instead of {self.size()}, expected a new Tensor"
            )
        return self


class Facts:
    """The methods, by their documented names."""

    is_meta = property(lambda self: False, doc="Whether it has no values: all tensors have some.")
    const_arg = property(lambda self: False, doc="Whether it is a constant of a program: constants are what they are.")
    init_finished = property(lambda self: not self.has_init, doc="Whether its values were drawn.")
    parent_tensor_ = property(lambda self: None, doc="None: parts of tensors know what they are of.")
    index_of_parent_ = property(lambda self: None, doc="None: parts of tensors know what they are of.")
    symbolic_shape = property(lambda self: None, doc="None: all sizes are numbers.")
    virtual_flag = property(lambda self: False, doc="Whether it stands for a value of another rank: none does.")

    param_info = property(lambda self: None, doc="None: settings are those of parameters.")
    sliced = property(lambda self: False, doc="Whether the values are those of one rank: they are all of them.")
    key = property(lambda self: -1, doc="The number at a parameter server: there is none.")

    @staticmethod
    def _make_subclass(kind, data, require_grad=False):
        """A tensor of a subclass, over the same elements as a given one. Raises TypeError for what is no such class."""
        if not isinstance(kind, type) or not issubclass(kind, Tensor):
            raise TypeError(f"[Tensor] not a class of tensors, got {kind!r}, expected a subclass of Tensor")
        made = kind.__new__(kind)
        made._array, made._symbol, made._init = data._array, data._symbol, data._init
        return made

    def double(self) -> Tensor:
        """The tensor in float64."""
        return self.astype(mstype.float64)

    def short(self) -> Tensor:
        """The tensor in int16."""
        return self.astype(mstype.int16)

    def byte(self) -> Tensor:
        """The tensor in uint8."""
        return self.astype(mstype.uint8)

    def bfloat16(self) -> Tensor:
        """The tensor in bfloat16."""
        return self.astype(mstype.bfloat16)

    def set_dtype(self, dtype: DType | str | type) -> Tensor:
        """The tensor in another element type."""
        return self.astype(dtype)

    @property
    def data(self) -> Tensor:
        """The value without a gradient. Outside of programs, and of a parameter, it is the tensor: a change of it
        changes the tensor."""
        build = current()
        if build is None or self.is_parameter or not mstype.is_float(self.dtype):
            return self
        return build.with_gradient("data", lambda a: a, lambda a, out, dout: (None,), [self])

    @data.setter
    def data(self, value):
        self.assign_value(value)

    def data_ptr(self) -> int:
        """The address of the values. Raises TypeError for a value of a network."""
        return self._readable().ctypes.data

    def is_contiguous(self) -> bool:
        """Whether the values lie one after the other: they do."""
        return True

    def storage_offset(self) -> int:
        """Where the values begin in their memory: at its begin."""
        return 0

    def untyped_storage(self) -> UntypedStorage:
        """The bytes of the values."""
        return UntypedStorage(self)

    def storage(self) -> UntypedStorage:
        """The bytes of the values."""
        return UntypedStorage(self)

    def get_bytes(self) -> bytes:
        """The values as bytes."""
        return self._readable().tobytes()

    @staticmethod
    def convert_bytes_to_tensor(bytes_data: bytes, dims: Sequence[int], data_type: DType) -> Tensor:
        """A tensor of these sizes from bytes of `get_bytes`."""
        return Tensor(np.frombuffer(bytes_data, mstype.to_dtype(data_type).numpy).reshape(dims).copy())

    def pin_memory(self) -> Tensor:
        """The tensor itself: memory of the host is used as it is."""
        return self

    def is_pinned(self) -> bool:
        """Whether the memory is locked for copies to a device: it is not."""
        return False

    def is_shared(self) -> bool:
        """Whether other processes see the memory: they do not."""
        return False

    def is_signed(self) -> bool:
        """Whether the element type has negative numbers."""
        return mstype.signed_type(self.dtype)

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.dtype in mstype.complex_type

    def move_to(self, to: str, blocking: bool = True) -> Tensor:
        """The tensor itself: programs take values to the device that computes. Raises ValueError for other places."""
        if to not in ("CPU", "GPU", "Ascend"):
            raise ValueError(f"[Tensor.move_to] unknown place, got {to!r}, expected CPU, GPU or Ascend")
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Says whether a parameter is trained, and returns it. Gradients of other tensors are those asked for."""
        if self.is_parameter:
            self.requires_grad = bool(requires_grad)
        return self

    def itemset(self, *args) -> Tensor:
        """A copy with another value at a place: `itemset(value)` of one element, else `itemset(place, value)`."""
        if len(args) == 1 and self.size != 1:
            raise ValueError(f"[Tensor.itemset] no place, got {self.size} elements, expected itemset(place, value)")
        made, place = self.copy(), args[0] if len(args) == 2 else 0
        if isinstance(place, int):
            place = tuple(int(one) for one in np.unravel_index(place, self.shape))
        made[place] = args[-1]
        return made

    def new_empty(self, size: Ints, *, dtype: DType | str | type | None = None, device: str | None = None) -> Tensor:
        """A tensor of zeros of these sizes."""
        size = (size,) if isinstance(size, int) else tuple(size)
        return Tensor(shape=size, dtype=self.dtype if dtype is None else dtype)

    def to_dlpack(self) -> object:
        """A DLPack capsule over the same memory."""
        return self.__dlpack__()

    @staticmethod
    def from_dlpack(dlpack: object) -> Tensor:
        """A tensor of the values of a DLPack capsule, or of an array of another library."""
        return Tensor(np.from_dlpack(_Capsule(dlpack)).copy())

    def set_const_arg(self, const_arg: bool = True) -> Tensor:
        """Kept, without effect; returns the tensor."""
        return self

    def wait_pipeline(self) -> None:
        """Returns at once: results are there when calls return."""

    def flush_from_cache(self) -> None:
        """Kept, without effect: there are no parameter servers."""

    def set_init_flag(self, flag: bool) -> None:
        """Kept, without effect: there are no parameter servers."""

    def offload(self, offload_to: str) -> None:
        """Raises NotImplementedError: memory is planned for each program."""
        raise NotImplementedError(
            "[Tensor.offload] memory cannot be offloaded, got a call, expected Cell.recompute or optimizer sharding"
        )


class OfPython:
    """The methods that Python and NumPy call by themselves."""

    def __array_function__(self, func, types, args, kwargs):
        """The result of a function of NumPy of the values, such as that of numpy.sum: an array, without gradients."""
        return func(*_values_in(args), **_values_in(kwargs))

    def __format__(self, spec):
        """The text of the value of one element by a format. Raises TypeError for a format of several."""
        if not spec:
            return str(self)
        if self.size != 1:
            raise TypeError(
                f"[Tensor] several values have no format, got {spec!r} of {self.shape}, expected one element"
            )
        return format(self.item(), spec)

    def __round__(self, digits=None):
        """The tensor, rounded; with a number of digits the value of one element."""
        return self.round() if digits is None else round(self.item(), digits)


def _values_in(given):
    """Arguments with arrays in place of tensors."""
    if isinstance(given, Tensor):
        return given._readable()
    if isinstance(given, dict):
        return {name: _values_in(one) for name, one in given.items()}
    return type(given)(_values_in(one) for one in given) if type(given) in (list, tuple) else given


class _Capsule:
    """Gives NumPy its memory: a capsule with the place of its memory, or an array that says both itself."""

    def __init__(self, given):
        self._given = given

    def __dlpack__(self, **options):
        return self._given.__dlpack__() if hasattr(self._given, "__dlpack__") else self._given

    def __dlpack_device__(self):
        return self._given.__dlpack_device__() if hasattr(self._given, "__dlpack_device__") else (1, 0)


def install():
    """Gives `Tensor` the methods that it does not have."""
    for name, one in vars(Facts).items():
        if not name.startswith("__") and name not in vars(Tensor):
            setattr(Tensor, name, one)
    for name in ("__array_function__", "__format__", "__round__"):
        setattr(Tensor, name, vars(OfPython)[name])


install()
