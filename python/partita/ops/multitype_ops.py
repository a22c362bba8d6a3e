"""Operators as functions of several kinds of arguments, which libraries extend: they compute the values of Python's
operators. The modules of the documented system that have one of them each are this one."""

import operator

import numpy as np

from partita._names import refuse_missing
from partita.common.tensor import Tensor
from partita.ops.elementwise import logical_not as _not
from partita.ops.program_tools import MultitypeFuncGraph
from partita.ops.shapes import expand_dims

_NUMBERS = "Number,Number Tensor,Tensor Tensor,Number Number,Tensor"
_SEQUENCES = " Tuple,Tensor Tensor,Tuple List,Tensor Tensor,List"
_ORDERED = f"{_NUMBERS} String,String Tuple,Tuple List,List"
_NONE = (
    " String,None None,String None,None Number,None None,Number Tuple,None None,Tuple Tensor,None None,Tensor"
    " List,None"
)
_EQUAL = f"TypeType,TypeType {_ORDERED}{_NONE} None,List"
_IN = (
    "Number,Tuple Number,List String,String String,Tuple String,List String,Dictionary Number,Dictionary"
    " Tuple,Dictionary Tensor,Dictionary Tensor,List Tensor,Tuple TypeType,List TypeType,Tuple"
)
_ITEMS = (
    "Tuple,Int Tuple,Slice Tuple,Tensor List,Int List,Slice Dictionary,String Dictionary,Number Dictionary,Tuple"
    " Dictionary,Tensor String,Number Tensor,Number Tensor,None Tensor,Slice Tensor,Tensor Tensor,Ellipsis Tensor,List"
    " Tensor,Tuple"
)


def _as_tensors(function):
    """A function of two values, where a tuple or list next to a tensor is one."""

    def call(x, y):
        if isinstance(x, Tensor) and isinstance(y, (tuple, list)):
            y = Tensor(np.array(y))
        elif isinstance(y, Tensor) and isinstance(x, (tuple, list)):
            x = Tensor(np.array(x))
        return function(x, y)

    return call


def _graph(name, function, kinds):
    """The function of a name, for pairs of kinds of arguments."""
    made = MultitypeFuncGraph(name)
    for one in kinds.split():
        made.register(*one.split(","))(function)
    return made


def _item(data, index):
    """An element of a tuple, a list, a dict or a text, or a part of a tensor."""
    return data[int(index) if isinstance(index, Tensor) and isinstance(data, tuple) else index]


def _with_item(data, index, value):
    """The tensor, list or dict after the assignment of an element or a part, which changes it."""
    data[index] = value
    return data


def _inside(x, values):
    """Whether a value is in a tuple, a list, a dict or a text. A tensor is there if one with the same elements is."""
    if not isinstance(x, Tensor):
        return x in values
    return any(x is one or (isinstance(one, Tensor) and _same(x, one)) for one in values)


def _same(x, y):
    return x.shape == y.shape and bool((x == y).all())


add = _graph("add", _as_tensors(operator.add), f"{_NUMBERS} String,String List,List Tuple,Tuple{_SEQUENCES}")
sub = _graph("sub", _as_tensors(operator.sub), _NUMBERS + _SEQUENCES)
mul = _graph(
    "mul", _as_tensors(operator.mul),
    f"{_NUMBERS} Number,String String,Number List,Number Number,List Tuple,Number Number,Tuple{_SEQUENCES}",
)  # fmt: skip
div = _graph("div", _as_tensors(operator.truediv), _NUMBERS + _SEQUENCES)
floordiv = _graph("floordiv", _as_tensors(operator.floordiv), _NUMBERS + _SEQUENCES)
mod = _graph("mod", _as_tensors(operator.mod), _NUMBERS + _SEQUENCES)
pow_ = _graph("pow", operator.pow, _NUMBERS)
bitwise_and = _graph("bitwise_and", operator.and_, _NUMBERS)
bitwise_or = _graph("bitwise_or", operator.or_, _NUMBERS)
bitwise_xor = _graph("bitwise_xor", operator.xor, _NUMBERS)
left_shift = _graph("left_shift", operator.lshift, "Number,Number")
right_shift = _graph("right_shift", operator.rshift, "Number,Number")
equal = _graph("equal", operator.eq, f"{_EQUAL} Number,String String,Number")
not_equal = _graph("not_equal", operator.ne, _EQUAL)
less, less_equal = _graph("less", operator.lt, _ORDERED), _graph("less_equal", operator.le, _ORDERED)
greater, greater_equal = _graph("greater", operator.gt, _ORDERED), _graph("greater_equal", operator.ge, _ORDERED)
in_ = _graph("in", _inside, _IN)
not_in_ = _graph("not_in", lambda x, values: not _inside(x, values), _IN)
negative = _graph("negative", operator.neg, "Number Tensor")
uadd = _graph("uadd", operator.pos, "Number Tensor")
invert = _graph("invert", operator.invert, "Number Tensor")
logical_not = _graph("logical_not", operator.not_, "Number String None Tuple List")
logical_not.register("Tensor")(_not)
getitem = _graph("getitem", _item, _ITEMS)
setitem = _graph(
    "setitem", _with_item,
    " ".join(
        f"{data},{index},{value}"
        for data, indices in {
            "List": "Number Slice Tensor", "Dictionary": "String Number Tuple Tensor",
            "Tensor": "Tensor Tuple Slice Number Ellipsis None List",
        }.items()
        for index in indices.split()
        for value in "Tensor Number String List Tuple Dictionary".split()
    ),
)  # fmt: skip


def tensor_index_by_number(data, number_index):
    """Row `number_index` of a tensor, or for True the tensor with a dimension of one element before the others. Raises
    IndexError for False and for what is no integer."""
    if number_index is True:
        return expand_dims(data, 0)
    if isinstance(number_index, bool) or not isinstance(number_index, int):
        raise IndexError(f"[tensor_index_by_number] bad index, got {number_index!r}, expected an integer or True")
    return data[number_index]


def tensor_index_by_slice(data, slice_index):
    """The rows of a tensor in a slice."""
    return data[slice_index]


def tensor_index_by_tensor(data, tensor_index):
    """The rows of a tensor at the indices of an integer tensor, or where one of bools has True."""
    return data[tensor_index]


def tensor_index_by_list(data, list_index):
    """The rows of a tensor at the indices of a list, or where a list of bools has True. Raises IndexError for an empty
    list."""
    if not list_index:
        raise IndexError("[tensor_index_by_list] no index, got an empty list, expected integers or bools")
    return data[list_index]


def tensor_index_by_tuple(data, tuple_index):
    """A part of a tensor by an index of each of its first dimensions: numbers, slices, tensors, None."""
    return data[tuple_index] if tuple_index else data


__getattr__ = refuse_missing(globals())
