"""Parameters: tensors with a name that a training updates."""

import weakref
from collections.abc import Iterable

import numpy as np

from partita._current import current
from partita._warnings import warn
from partita.common import seed as _seed
from partita.common.dtype import DType, to_dtype
from partita.common.initializer import initializer
from partita.common.param_info import ParamInfo
from partita.common.tensor import Tensor
from partita.common.values import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

DEFAULT_NAME = "Parameter"
ACCUMULATED = "accu_grads"  # prefix of the clones that get the gradients of networks in micro-batches


def _without_effect(name, value):
    """A property that keeps its value, whatever it is set to."""

    def set_value(self, given):
        if given is not value and given != value and name != "is_init":
            warn(f"[Parameter] this setting has no effect here, got {name}={given!r}")

    return property(lambda self: value, set_value)


class Parameter(Tensor):
    """A tensor that cells own and optimizers update. Without a name it has that of the attribute it becomes.

    >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
    >>> weight
    Parameter (name=weight, shape=(2,), dtype=Float32, requires_grad=True)
    >>> weight.set_data(ms.Tensor([3.0, 4.0])).asnumpy().tolist()
    [3.0, 4.0]
    """

    __slots__ = (
        "name",
        "requires_grad",
        "layerwise_parallel",
        "parallel_optimizer",
        "comm_fusion",
        "statistic",
        "box",
        "measures",
        "_holder",
        "_accumulator",
        "_info",
        "_programs",
    )
    is_parameter = True
    inited_param = None  # drawn values are those of the parameter itself
    # Of parameter servers, which are not there, and of other ways to share parameters; set without effect.
    cache_enable = _without_effect("cache_enable", False)
    cache_shape = _without_effect("cache_shape", ())
    init_in_server = _without_effect("init_in_server", False)
    is_init = _without_effect("is_init", False)
    is_param_ps = _without_effect("is_param_ps", False)
    requires_aggr = _without_effect("requires_aggr", True)

    def __init__(
        self,
        default_input: object,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ):
        self._symbol = None
        self._updates, self._holder, self._accumulator, self._info, self._programs = 0, None, None, None, None
        if isinstance(default_input, Parameter):
            name = name or default_input.name
        is_given = isinstance(default_input, Tensor)
        if not is_given:
            default_input = Tensor(default_input)
        if default_input._symbol is not None:
            raise TypeError(
                "[Parameter] a value of the network cannot become a parameter, got a symbolic tensor, expected one "
                "with data"
            )
        if isinstance(default_input, Parameter) and default_input._holder is not None:
            default_input.array  # the value is elsewhere
        self._array, self._init = default_input._array, default_input._init
        if self._array is not None and is_given:
            self._array = self._array.copy()
        if name is not None and not isinstance(name, str):
            raise TypeError(f"[Parameter] the name is not a string, got {type(name).__name__}, expected str")
        self.name = name or DEFAULT_NAME
        self.requires_grad = bool(requires_grad)
        self.layerwise_parallel = bool(layerwise_parallel)
        self.parallel_optimizer = bool(parallel_optimizer)
        self.comm_fusion = 1
        self.statistic = False
        self.box = None  # ((ranges of the whole), shape of the whole) of a part that a file has
        self.measures = None  # (name of what a number of a file measures, the file, whether that names it)

    def _stream(self):
        return self.name if self.name != DEFAULT_NAME else _seed.next_name("parameter")

    def set_data(self, data: Tensor, slice_shape: bool = False) -> "Self":
        """Takes the values of a tensor of the same shape, cast to this element type, and returns the parameter. Raises
        ValueError for other shapes, RuntimeError while a Model trains the parameter."""
        if not isinstance(data, Tensor):
            data = Tensor(data)
        if data.shape != self.shape:
            raise ValueError(
                f"[Parameter] '{self.name}' gets data of the wrong shape, got {data.shape}, expected {self.shape}"
            )
        self._require_free("set_data")
        build = current()
        if build is not None and (data._symbol is not None or build.knows(self)):
            build.assign(self, data)
            return self
        same = data.dtype == self.dtype
        self._array, self._holder = data.array.copy() if same else data.array.cast(self.dtype.core), None
        self._count_update()
        return self

    def assign_value(self, value: Tensor) -> "Self":
        """Sets the values to those of a tensor of the same shape, as `set_data` does."""
        return self.set_data(value)

    def asnumpy(self) -> np.ndarray:
        """The values as a NumPy array over the same memory. Assignment of its items changes the parameter, as that of
        the parameter's own items does. It cannot be changed in other ways, of which programs would not hear."""
        return Values.of(self, self._values())

    def _writable(self):
        self._require_free("item assignment")
        self._count_update()
        return self._values()

    def __dlpack__(self, **options):
        return self.copy().__dlpack__(**options)  # of the values: programs do not hear of what others write

    def _take(self, array):
        """Takes the value that a training computed."""
        self._array, self._holder = array, None
        self._count_update()

    def _belong_to(self, holder):
        """Lets a program hold the value from now on, (program, name there), and returns the version of the value. It is
        fetched when it is needed."""
        if self._holder is not holder:
            self._require_free("a step of another program")
            self._holder = holder
        self._updates += 1
        return self._updates

    def _leave(self, holder):
        """Releases the value from a training that has ended or failed. Has no effect if another holder has it."""
        if self._holder is not None and self._holder[0] is holder:
            self._holder = None
            self._count_update()

    def _require_free(self, what):
        if self._holder is not None and self._holder[0].keeps_values:
            raise RuntimeError(
                f"[Parameter] '{self.name}' cannot be changed while Model trains it, got {what}, expected a change "
                "before or after"
            )

    @property
    def array(self):
        build = current()
        if build is not None and build.is_recorded:
            assigned = build.array_of_updated(self)
            if assigned is not None:
                return assigned
        if self._holder is not None:
            holder, name = self._holder
            self._array = holder.value_of(name)
            self._holder = self._holder if holder.keeps_values else None
        return super().array

    @property
    def param_info(self):
        """Its name and settings, as an object: see ParamInfo."""
        if self._info is None:
            self._info = ParamInfo.of(self)
        return self._info

    @param_info.setter
    def param_info(self, info):
        info.belong_to(self)
        self._info = info

    def add_pipeline_stage(self, stage: int) -> None:
        """Kept, without effect: parameters are on the stages of the cells that use them. Raises TypeError for what is
        no integer, ValueError for a negative one."""
        if not isinstance(stage, int) or isinstance(stage, bool):
            raise TypeError(f"[Parameter] a stage is not an integer, got {stage!r}, expected one from 0")
        if stage < 0:
            raise ValueError(f"[Parameter] bad pipeline stage, got {stage}, expected an integer from 0")

    @property
    def accumulator(self):
        """The parameter that gets the gradients of this one, of all parts of batches: the last clone of a tuple with
        prefix "accu_grads", or None."""
        return None if self._accumulator is None else self._accumulator()

    def clone(self, init: str | float | Tensor = "same") -> "Parameter":
        """Returns a new parameter of this name, shape and element type with a copy of the values, or with those of an
        initializer."""
        if isinstance(init, str) and init == "same":
            data = self.init_data()
        else:
            data = initializer(init, self.shape, self.dtype)
        made = Parameter(data, self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)
        made.comm_fusion = self.comm_fusion
        return made

    def __deepcopy__(self, memo):
        made = memo[id(self)] = self.clone()
        made.statistic = self.statistic
        return made

    def _pickled(self):
        options = (self.name, self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)
        return (*super()._pickled(), *options)

    @property
    def data(self) -> "Self":
        return self

    def value(self) -> Tensor:
        """The values as they are now, as a tensor; in a network that is being built, the parameter."""
        return self if current() is not None else Tensor(self.array.copy())

    def set_dtype(self, dtype: DType | str | type) -> DType:
        """Casts the values to another element type, which it returns. Raises TypeError for what is no element type,
        RuntimeError while a Model trains the parameter."""
        dtype = to_dtype(dtype)
        self._require_free("set_dtype")
        self._array, self._holder = self.init_data().array.cast(dtype.core), None
        self._count_update()
        return dtype

    def __repr__(self):
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, requires_grad={self.requires_grad})"
        )

    def __str__(self):
        return repr(self)


class ParameterTuple(tuple):
    """Parameters in an order of their own: a tuple. Raises TypeError for what is no parameter."""

    def __new__(cls, iterable: Iterable[Parameter]):
        parameters = tuple(iterable)
        for one in parameters:
            if not isinstance(one, Parameter):
                raise TypeError(f"[ParameterTuple] not a parameter, got {type(one).__name__}, expected Parameter")
        return super().__new__(cls, parameters)

    def clone(self, prefix: str, init: str | float | Tensor = "same") -> "ParameterTuple":
        made = []
        for one in self:
            clone = one.clone(init)
            clone.name = f"{prefix}.{one.name}"
            if prefix == ACCUMULATED:
                one._accumulator = weakref.ref(clone)
            made.append(clone)
        return ParameterTuple(made)
