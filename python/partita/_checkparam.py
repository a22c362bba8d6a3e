"""Checks of arguments, by the names under which libraries around the documented system use them."""

import functools
import inspect
import operator
import re
from collections.abc import Iterable

from partita._names import refuse_missing
from partita.common import dtype as mstype

EQ, NE, LT, LE, GT, GE = 1, 2, 3, 4, 5, 6
INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH = 7, 8, 9, 10
IN, NOT_IN = 11, 12

_RELATIONS = {
    EQ: (operator.eq, "equal to {}"),
    NE: (operator.ne, "other than {}"),
    LT: (operator.lt, "below {}"),
    LE: (operator.le, "at most {}"),
    GT: (operator.gt, "above {}"),
    GE: (operator.ge, "at least {}"),
    IN: (lambda one, many: one in many, "one of {}"),
    NOT_IN: (lambda one, many: one not in many, "none of {}"),
}


def _where(prim_name):
    return f"[{prim_name}]" if prim_name else "[check]"


def _named(arg_name):
    return arg_name or "the argument"


def _require(holds, prim_name, arg_name, value, expected, kind=ValueError):
    if not holds:
        raise kind(f"{_where(prim_name)} bad {_named(arg_name)}, got {_text(value)}, expected {expected}")


def _text(value):
    return str(value) if isinstance(value, mstype.DType) else repr(value)


def check(arg_name, arg_value, value_name, value, rel=EQ, prim_name=None, excp_cls=ValueError):
    """The value, if it is in a relation to another one."""
    holds, text = _RELATIONS[rel]
    expected = f"{text.format(value)}, which is {value_name}" if value_name else text.format(value)
    _require(holds(arg_value, value), prim_name, arg_name, arg_value, expected, excp_cls)
    return arg_value


def _is_kind(value, kind):
    return isinstance(value, kind) and not isinstance(value, bool)


def _number(arg_value, value, rel, kind, arg_name, prim_name):
    holds, text = _RELATIONS[rel]
    _require(_is_kind(arg_value, kind), prim_name, arg_name, arg_value, f"a number of type {kind.__name__}", TypeError)
    _require(
        arg_value == arg_value and holds(arg_value, value),
        prim_name,
        arg_name,
        arg_value,
        "a number " + text.format(value),
    )
    return arg_value


def _one_number(kind, value, rel, doc):
    def call(arg_value, arg_name=None, prim_name=None):
        return _number(arg_value, value, rel, kind, arg_name, prim_name)

    call.__doc__ = doc
    return call


check_positive_int = _one_number(int, 0, GT, "The integer, if it is above 0.")
check_negative_int = _one_number(int, 0, LT, "The integer, if it is below 0.")
check_non_positive_int = _one_number(int, 0, LE, "The integer, if it is not above 0.")
check_non_negative_int = _one_number(int, 0, GE, "The integer, if it is not below 0.")
check_positive_float = _one_number(float, 0, GT, "The float, if it is above 0.")
check_negative_float = _one_number(float, 0, LT, "The float, if it is below 0.")
check_non_positive_float = _one_number(float, 0, LE, "The float, if it is not above 0.")
check_non_negative_float = _one_number(float, 0, GE, "The float, if it is not below 0.")


def check_int(arg_value, value, rel, arg_name=None, prim_name=None):
    """The integer, if it is in a relation to another one."""
    return _number(arg_value, value, rel, int, arg_name, prim_name)


def check_float(arg_value, value, rel, arg_name=None, prim_name=None):
    """The float, if it is in a relation to another number."""
    return _number(arg_value, value, rel, float, arg_name, prim_name)


def check_equal_int(arg_value, value, arg_name=None, prim_name=None):
    """The integer, if it is equal to another one."""
    return _number(arg_value, value, EQ, int, arg_name, prim_name)


def check_is_int(arg_value, arg_name=None, prim_name=None):
    """The value, if it is an integer."""
    _require(_is_kind(arg_value, int), prim_name, arg_name, arg_value, "an integer", TypeError)
    return arg_value


def check_is_float(arg_value, arg_name=None, prim_name=None):
    """The value, if it is a float."""
    _require(_is_kind(arg_value, float), prim_name, arg_name, arg_value, "a float", TypeError)
    return arg_value


def check_number(arg_name, arg_value, value, rel, prim_name):
    """The number, if it is in a relation to another one."""
    return check(arg_name, arg_value, "", value, rel, prim_name)


def check_number_range(arg_value, lower_limit, upper_limit, rel, value_type, arg_name=None, prim_name=None):
    """The number, if it is between two others; the relation says which of these it may be."""
    _require(
        _is_kind(arg_value, value_type),
        prim_name,
        arg_name,
        arg_value,
        f"a number of type {value_type.__name__}",
        TypeError,
    )
    above = arg_value >= lower_limit if rel in (INC_LEFT, INC_BOTH) else arg_value > lower_limit
    below = arg_value <= upper_limit if rel in (INC_RIGHT, INC_BOTH) else arg_value < upper_limit
    left, right = "[" if rel in (INC_LEFT, INC_BOTH) else "(", "]" if rel in (INC_RIGHT, INC_BOTH) else ")"
    _require(above and below, prim_name, arg_name, arg_value, f"one in {left}{lower_limit}, {upper_limit}{right}")
    return arg_value


def check_int_range(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
    """The integer, if it is between two others."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(arg_value, lower_limit, upper_limit, rel, arg_name=None, prim_name=None):
    """The float, if it is between two numbers."""
    return check_number_range(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_bool(arg_value, arg_name=None, prim_name=None):
    """The value, if it is a bool."""
    _require(isinstance(arg_value, bool), prim_name, arg_name, arg_value, "True or False", TypeError)
    return arg_value


def check_string(arg_value, valid_values, arg_name=None, prim_name=None):
    """The string, if it is one of several."""
    fits = isinstance(arg_value, str) and arg_value in valid_values
    _require(fits, prim_name, arg_name, arg_value, f"one of {list(valid_values)}")
    return arg_value


def _several(types):
    return tuple(types) if isinstance(types, Iterable) and not isinstance(types, str) else (types,)


def check_value_type(arg_name, arg_value, valid_types, prim_name=None):
    """The value, if it is of one of some types; a bool is no integer."""
    types = _several(valid_types)
    fits = isinstance(arg_value, types) and (bool in types or not isinstance(arg_value, bool))
    names = [getattr(one, "__name__", str(one)) for one in types]
    if not fits:
        raise TypeError(
            f"{_where(prim_name)} {_named(arg_name)} has the wrong type, got {type(arg_value).__name__}, expected "
            f"{' or '.join(names)}"
        )
    return arg_value


def check_isinstance(arg_name, arg_value, classes):
    """The value, if it is of a class."""
    return check_value_type(arg_name, arg_value, classes)


def _texts(values):
    return f"[{', '.join(map(_text, values))}]"


def check_type_name(arg_name, arg_type, valid_types, prim_name):
    """The type, if it is one of some types."""
    types = _several(valid_types)
    _require(arg_type in types, prim_name, arg_name, arg_type, f"one of {_texts(types)}", TypeError)
    return arg_type


def _is_of(kind, template):
    if isinstance(template, mstype.DType) or kind is template:
        return kind == template
    return isinstance(template, type) and isinstance(kind, type) and issubclass(kind, template)


def check_subclass(arg_name, type_, template_types, prim_name, addition_error_info=None):
    """Raises TypeError unless a type is one of some types, or a class of theirs."""
    types = _several(template_types)
    expected = f"one of {_texts(types)}{' ' + addition_error_info if addition_error_info else ''}"
    _require(any(_is_of(type_, one) for one in types), prim_name, arg_name, type_, expected, TypeError)


def check_and_canonicalize_axes(axes, ndim):
    """The axes counted from the front, as a tuple, if they are of a tensor of `ndim` dimensions, each once."""
    found = []
    for one in axes if isinstance(axes, tuple) else (axes,):
        _require(_is_kind(one, int), None, "axis", one, "an integer", TypeError)
        _require(-ndim <= one < ndim, None, "axis", one, f"{-ndim} to {ndim - 1}")
        found.append(one % ndim)
    _require(len(set(found)) == len(found), None, "axes", axes, "each axis once")
    return tuple(found)


def twice(x):
    """A pair: the value twice, or the pair itself. Raises TypeError for others."""
    if isinstance(x, (tuple, list)) and len(x) == 2:
        return tuple(x)
    _require(_is_kind(x, int), None, "pair", x, "an integer or two", TypeError)
    return x, x


def _check_3d_int_or_tuple(
    arg_name,
    arg_value,
    prim_name,
    allow_five=False,
    ret_five=False,
    greater_zero=True,
    third_one=False,
    three_input=False,
    pad_value=1,
):
    """Three integers of volumes: one for all, three, or with `allow_five` the last three of five. With `ret_five` two
    of `pad_value` stand before them. Raises TypeError for other types, ValueError for numbers out of range: those below
    1, or below 0 unless `greater_zero`, and with `third_one` a depth other than 1."""
    _require(_is_kind(arg_value, (int, tuple)), prim_name, arg_name, arg_value, "an integer or a tuple", TypeError)
    values = (arg_value,) * 3 if isinstance(arg_value, int) else arg_value
    sizes = values[2:] if allow_five and len(values) == 5 else values
    lowest = 1 if greater_zero else 0
    fits = len(sizes) == 3 and all(_is_kind(one, int) and one >= lowest for one in sizes)
    _require(fits, prim_name, arg_name, arg_value, f"an integer from {lowest}, or three of them", ValueError)
    _require(not third_one or sizes[0] == 1, prim_name, f"depth of {arg_name}", sizes[0], "1", ValueError)
    return (pad_value, pad_value, *sizes) if ret_five else tuple(sizes)


def check_str_by_regular(target, reg=None, flag=re.ASCII, prim_name=None):
    """True for a text that a regular expression fits, by default that of a name with dots. Raises ValueError for
    others."""
    reg = r"^\w+[0-9a-zA-Z\_\.]*$" if reg is None else reg
    _require(re.match(reg, target, flag) is not None, prim_name, None, target, f"a text that fits {reg}")
    return True


def check_str_and_none_by_regular(target, reg=None, flag=re.ASCII, prim_name=None):
    """`check_str_by_regular`, by default also for an empty text."""
    return check_str_by_regular(target, r"^\w*[0-9a-zA-Z\_\.\-]*$" if reg is None else reg, flag, prim_name)


def check_types_same_and_valid(args, valid_values, prim_name):
    """Checks that types by name are all the same, and among some. Raises TypeError for others."""
    for name, kind in args.items():
        check_subclass(name, kind, valid_values, prim_name)
        first, own = next(iter(args.items()))
        _require(kind == own, prim_name, name, kind, f"{own}, as {first} is", TypeError)


def is_stub_tensor(tensor):
    """Whether a result is not there yet: results are there when calls return."""
    return False


def args_type_check(*type_args, **type_kwargs):
    """A decorator: calls of the function raise TypeError for arguments of other types than the given ones. None is any
    type's."""

    def decorate(function):
        signature = inspect.signature(function)
        others = [one.name for one in signature.parameters.values() if one.kind is inspect.Parameter.VAR_KEYWORD]

        def by_name(arguments):
            found = dict(arguments)
            for name in others:  # what is given by names that the function does not list
                found.update(found.pop(name, {}))
            return found

        types = by_name(signature.bind_partial(*type_args, **type_kwargs).arguments)

        @functools.wraps(function)
        def call(*args, **kwargs):
            for name, value in by_name(signature.bind(*args, **kwargs).arguments).items():
                if name in types and value is not None and not isinstance(value, _several(types[name])):
                    raise TypeError(
                        f"[{function.__qualname__}] '{name}' has the wrong type, got {type(value).__name__}, expected "
                        f"{types[name]}"
                    )
            return function(*args, **kwargs)

        return call

    return decorate


__getattr__ = refuse_missing(globals())
