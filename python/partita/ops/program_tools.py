"""Functions over collections, functions of several kinds of arguments, and calls while a program is made."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.support import as_tensor

__all__ = (
    "Map HyperMap MultitypeFuncGraph add_flags constexpr depend dtype identity is_floating_point is_tensor make_range"
    " partial tuple_to_array"
).split()


class Map:
    """A function over the elements of several tuples or lists of one length, as a tuple, or a list of lists:
    `Map(function)(a, b)` or `Map()(function, a, b)`. With `reverse` the last elements come first. Raises TypeError for
    what is no tuple or list, ValueError for lengths that differ."""

    def __init__(self, ops: Callable[..., object] | None = None, reverse: bool = False) -> None:
        self._function, self._reverse = ops, bool(reverse)

    def __call__(self, *args):
        function = self._function
        if function is None:
            if not args or not callable(args[0]):
                raise TypeError(
                    f"[{type(self).__name__}] no function, got {args[:1]}, expected one as the first argument"
                )
            function, *args = args
        return self._over(function, args)

    def _over(self, function, args):
        for one in args:
            if not isinstance(one, (tuple, list)):
                raise TypeError(
                    f"[{type(self).__name__}] not a tuple or list, got {type(one).__name__}, expected one for each"
                    " argument"
                )
        if len({len(one) for one in args}) > 1:
            raise ValueError(
                f"[{type(self).__name__}] tuples differ in length, got {[len(one) for one in args]}, expected one"
                " length"
            )
        rows = list(zip(*args))
        made = [self._element(function, row) for row in (reversed(rows) if self._reverse else rows)]
        made = made[::-1] if self._reverse else made
        return made if isinstance(args[0], list) else tuple(made)

    def _element(self, function, row):
        return function(*row)


class HyperMap(Map):
    """A function over the elements of tuples and lists within each other, of one structure: `HyperMap(function)(a, b)`,
    or `HyperMap()(function, a, b)`. Raises TypeError for a tuple next to a tensor, ValueError for lengths that differ.
    """

    def _over(self, function, args):
        if not any(isinstance(one, (tuple, list)) for one in args):
            return function(*args)
        return super()._over(function, args)

    def _element(self, function, row):
        return self._over(function, row)


# The kinds of arguments that a function may be registered for, by their documented names.
_KINDS = {
    "Tensor": lambda one: isinstance(one, Tensor),
    "Number": lambda one: isinstance(one, (int, float)),
    "Bool": lambda one: isinstance(one, bool),
    "String": lambda one: isinstance(one, str),
    "Tuple": lambda one: isinstance(one, tuple),
    "List": lambda one: isinstance(one, list),
    "Function": callable,
    "None": lambda one: one is None,
    "Slice": lambda one: isinstance(one, slice),
    "Ellipsis": lambda one: one is Ellipsis,
    "Dictionary": lambda one: isinstance(one, dict),
    "TypeType": lambda one: isinstance(one, mstype.DType),
    "UInt": lambda one: False,  # numbers of Python have a sign
    **dict.fromkeys(("Int", "Int8", "Int16", "Int32", "Int64"), lambda one: _is_integer(one)),
    **dict.fromkeys(("Float", "Float16", "Float32", "Float64"), lambda one: isinstance(one, float)),
    **dict.fromkeys(("RowTensor", "MapTensor", "COOTensor", "CSRTensor"), lambda one: False),  # do not exist here
}


def _is_integer(one):
    return isinstance(one, int) and not isinstance(one, bool)


_OF_PYTHON = {
    int: "Number",
    float: "Number",
    bool: "Bool",
    str: "String",
    tuple: "Tuple",
    list: "List",
    type(None): "None",
}


class MultitypeFuncGraph:
    """A function that is several, of which the kinds of the arguments choose one: `register("Tensor", "Number")` adds
    the function that it decorates, of tensors of any shape. Raises TypeError in a call where none has these kinds,
    ValueError for an unknown kind."""

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name, self._functions = name, []

    def register(self, *type_names):
        """Adds a function for arguments of these kinds."""
        kinds = [_OF_PYTHON.get(one, one) if isinstance(one, type) else str(one) for one in type_names]
        for one in kinds:
            if one not in _KINDS and not one.startswith("Tuple["):
                raise ValueError(
                    f"[{self.name}] unknown kind of an argument, got '{one}', expected one of {list(_KINDS)}"
                )

        def decorate(function):
            self._functions.append((kinds, function))
            return function

        return decorate

    @property
    def entries(self):
        """The types of arguments and their functions, as a list of pairs."""
        typing = mstype.typing
        return [(tuple(map(typing.str_to_type, kinds)), function) for kinds, function in self._functions]

    def __call__(self, *args):
        for kinds, function in self._functions:
            if len(kinds) == len(args) and all(_KINDS.get(k, _KINDS["Tuple"])(one) for k, one in zip(kinds, args)):
                return function(*args)
        raise TypeError(
            f"[{self.name}] no function for these arguments, got {[type(one).__name__ for one in args]}, expected one"
            f" of {[kinds for kinds, _ in self._functions]}"
        )

    def __repr__(self):
        return f"MultitypeFuncGraph[{self.name}]"


def constexpr(
    fn: Callable[..., object] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Callable[..., object]:
    """A function of Python that runs while a program is made, on numbers, shapes and other values that are known. Any
    function does; this gives it unchanged."""
    return functools.partial(constexpr, get_instance=get_instance) if fn is None else fn


def add_flags(fn=None, **flags):
    """The function itself: flags of functions have no effect here."""
    return fn if fn is not None else lambda function: function


def depend(value: object, expr: object) -> object:
    """The value, of any shape or kind: the order of ops follows from their operands."""
    return value


partial = functools.partial


def shown(function):
    """Gives a method of several forms the signature of a function that shows one of them."""

    def given(method):
        method.__signature__ = inspect.signature(function)
        return method

    return given


def identity(x: object) -> object:
    """Returns the argument itself, a tensor of any shape or another object."""
    return x


def make_range(*args: int) -> tuple[int, ...]:
    """The integers of `range`, as a tuple. Raises TypeError for what is no integer, ValueError for a step of 0."""
    return tuple(range(*[operator.index(one) for one in args]))


def tuple_to_array(input_x: Sequence[float]) -> Tensor:
    """The numbers of a tuple as a tensor of one dimension: int32, without fractions, where the first one is an integer
    or a bool, else float32. Raises ValueError for tuples within it of different lengths."""
    values = np.asarray(input_x)
    whole = values.size and isinstance(input_x[0], (int, np.integer))
    return Tensor(values.astype(np.int32 if whole else np.float32))


def dtype(x: Tensor | float) -> mstype.DType:
    """The element type of a tensor of any shape. Raises TypeError for what holds no numbers."""
    return as_tensor(x, "dtype").dtype


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor, of any shape and element type."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor | float) -> bool:
    """Whether a tensor, of any shape, has elements with a fraction. Raises TypeError for what holds no numbers."""
    return mstype.is_float(as_tensor(input, "is_floating_point").dtype)
