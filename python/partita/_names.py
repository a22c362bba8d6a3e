"""Names that are not there: errors that say so and name what is nearest."""

import dis
import sys
import types

from partita import _core, _hints
from partita._places import submodule

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]
_OF_ANNOTATIONS = ("collections.abc", "types", "typing")  # the modules whose names annotations use


def missing(module, name, names):
    """The error for `module.name`, to be raised by the module's `__getattr__`: an ImportError where it is imported by
    name, else an AttributeError."""
    known = [other for other in names if not other.startswith("_")]
    near, instead = _core.nearest(name, known), _hints.of_name(module, name)
    if instead:
        reason = f"; here: {instead}"
    elif near:
        reason = f", did you mean '{near}'?"
    else:
        reason = ""
    message = f"[{module}] unknown name, got '{name}', expected one of {len(known)} names{reason}"
    return ImportError(message, name=name) if _is_import() else AttributeError(message)


def missing_attribute(kind, name, names):
    """The AttributeError for an attribute of an object that is not there."""
    instead = _hints.of_name(kind, name)
    near = "" if instead else _core.nearest(name, [other for other in names if not other.startswith("_")])
    did = f"; here: {instead}" if instead else f", did you mean '{near}'?" if near else ""
    return AttributeError(f"[{kind}] unknown attribute, got '{name}', expected one of the documented ones{did}")


def refused(module):
    """Classes of the names of a module that are not there: each says so, and what to use, when it is called."""
    return absent_all(f"partita.{module}", _hints.REFUSED[module])


def exported(namespace, others=()):
    """The `__all__` of a module that lists none, as a new list: the public names of its namespace, and others. Of
    modules only `dtype` is among them, no functions of modules that are not public, and nothing that is imported for
    annotations."""

    def is_public(name, value):
        if name.startswith("_") or (isinstance(value, types.FunctionType) and value.__module__.startswith("partita._")):
            return False
        if type(value).__module__ == "__future__" or getattr(value, "__module__", None) in _OF_ANNOTATIONS:
            return False
        return not isinstance(value, types.ModuleType) or name == "dtype"

    return sorted({*(name for name, value in namespace.items() if is_public(name, value)), *others})


def _is_import():
    """Whether `from module import name` asks: Python would replace the text of an AttributeError by its own."""
    frame = sys._getframe(3)
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def refuse_missing(namespace):
    """A module's `__getattr__`, which gives the modules in it and says, for other names, what is nearest."""

    def __getattr__(name):
        if name == "__all__":
            return exported(namespace)
        found = submodule(namespace["__name__"], name)
        if found is not None:
            return found
        raise missing(namespace["__name__"], name, list(namespace))

    return __getattr__


def absent(name, module, instead):
    """A class of a documented name that is imported and never used: a call raises NotImplementedError, which says what
    to use instead."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"[{name}] this name is not supported, got a call, expected {instead}")

    return type(name, (), {"__init__": __init__, "__doc__": f"Not there: see {instead}.", "__module__": module})


def absent_all(module, instead):
    """`absent` classes of several names, by those: {name: what to use instead}."""
    return {name: absent(name, module, text) for name, text in instead.items()}
