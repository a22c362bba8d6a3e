"""Texts of objects by the options that their classes take."""

import inspect
import numbers

_PLAIN = (numbers.Number, str, bytes, type(None), tuple, list)
_LONGEST = 60  # characters of a value


def _shortened(value):
    """A value in one line: a function or class by its name, and what is long by its type."""
    text = value.__name__ if hasattr(value, "__name__") else repr(value)
    return text if len(text) <= _LONGEST and "\n" not in text else f"<{type(value).__name__}>"


def parameters_text(function):
    """The parameters of a function in brackets, with their defaults and without their types."""
    options = inspect.signature(function).parameters.values()
    return str(inspect.Signature([one.replace(annotation=one.empty) for one in options]))


def options_text(one, prefixes=("", "_")):
    """Returns "name=value, .." of the options that an object keeps as attributes, with one of the prefixes before their
    names, without those that have their defaults. An object without a signature has none."""
    try:
        options = list(inspect.signature(type(one)).parameters.values())
    except (TypeError, ValueError):
        return ""
    kept, parts = getattr(one, "__dict__", {}), []
    for option in options:
        name = next((prefix + option.name for prefix in prefixes if prefix + option.name in kept), None)
        if name is None or option.kind in (option.VAR_POSITIONAL, option.VAR_KEYWORD):
            continue
        value = kept[name]
        is_default = value is option.default or (isinstance(value, _PLAIN) and _equal(value, option.default))
        if not is_default:
            parts.append(f"{option.name}={_shortened(value)}")
    return ", ".join(parts)


def _equal(value, default):
    return type(value) in (type(default), float, int) and bool(value == default)


class Described:
    """An object whose `repr` has its class and its options."""

    def __repr__(self):
        return f"{type(self).__name__}({options_text(self)})"
