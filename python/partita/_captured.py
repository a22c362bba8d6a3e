"""What a function uses besides its arguments: a program that was traced with other values of it is not the same."""

import dis
import functools
import inspect
import os
import sysconfig
import types

import numpy as np

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
_MOST_ELEMENTS = 64  # of a collection that is looked into
_MOST_BYTES = 4096  # of an array that is compared by its values
_MOST_DEPTH = 3  # of attributes of attributes
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = tuple(
    {path + os.sep for key, path in sysconfig.get_paths().items() if key.endswith("lib")} | {"<frozen", "<string>"}
)


def version_of(tensor):
    """How often the values of a tensor were changed in place, as far as it was told."""
    return getattr(tensor, "_updates", 0)


def signature(value):
    """Equal for values that make the same program: arrays and scalars by value, other objects by identity."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(signature(one) for one in value)
    if isinstance(value, dict):
        return dict, tuple((key, signature(one)) for key, one in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return type(value), id(value)


@functools.lru_cache(maxsize=4096)
def _names(code):
    """(globals, attributes) that a function and those within it use, by their names."""
    known, attributes = set(), set()
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            known.add(one.argval)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            attributes.add(one.argval)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            inner = _names(one)
            known |= inner[0]
            attributes |= inner[1]
    return frozenset(known), frozenset(attributes)


@functools.lru_cache(maxsize=4096)
def _is_of_package(file):
    return file.startswith(_PACKAGE)


@functools.lru_cache(maxsize=4096)
def _is_of_library(file):
    return file.startswith(_LIBRARIES) and not _is_of_package(file)


@functools.lru_cache(maxsize=4096)
def _methods(kind):
    """The functions of a class, without what decorates them."""
    found = []
    for one in kind.__mro__:
        for method in vars(one).values():
            method = getattr(method, "fget", getattr(method, "__func__", method))
            method = inspect.unwrap(method) if callable(method) else method
            if isinstance(method, types.FunctionType):
                found.append(method)
    return tuple(found)


@functools.lru_cache(maxsize=4096)
def _own_methods(kind):
    """Those that a user wrote, and that run when a program is traced."""
    files = ((one, one.__code__.co_filename) for one in _methods(kind) if one.__name__ != "__init__")
    return tuple(one for one, file in files if not _is_of_package(file) and not _is_of_library(file))


@functools.lru_cache(maxsize=4096)
def names_used_by(kind):
    """Attributes that the methods of a class use."""
    return frozenset().union(*(_names(one.__code__)[1] for one in _methods(kind)))


class Captured:
    """Values that a function names, and those that the functions it names do: plain ones and small arrays by value,
    tensors by identity and changes, others by identity. Cells are known by their own changes (Cell.program_state), and
    by what the methods of their classes, `kinds`, name."""

    def __init__(self, function=None, kinds=()):
        self.values = []
        self.kept = []  # what is known by identity must live as long
        self._seen = set()
        if function is not None:
            self._look_into(function)
        for kind in kinds:
            for method in _own_methods(kind):
                self._look_into(method)

    def _look_into(self, function):
        function = getattr(function, "_function", function)  # of a Program
        if isinstance(function, functools.partial):
            self._look_into(function.func)
            self._add([function.args, function.keywords], frozenset(), 0)
            return
        owner = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType):
            return
        code = function.__code__
        if (code, id(owner)) in self._seen or _is_of_library(code.co_filename):
            return
        self._seen.add((code, id(owner)))
        used, names = _names(code)
        for cell in function.__closure__ or ():
            try:
                self._add(cell.cell_contents, names, 0)
            except ValueError:
                pass  # not set yet
        self._add(function.__defaults__, names, 0)
        if not _is_of_package(code.co_filename):
            known = function.__globals__
            for name in used:
                if name in known:
                    self._add(known[name], names, 0)
        if owner is not None and not hasattr(owner, "program_state"):
            self._add(owner, names, 0)
            for name in names:
                method = getattr(type(owner), name, None)
                if isinstance(method, types.FunctionType):
                    self._look_into(types.MethodType(method, owner))

    def _add(self, value, names, depth):
        if isinstance(value, _PLAIN):
            self.values.append((type(value), repr(value)))
        elif hasattr(type(value), "is_parameter"):
            self._keep(value)
            if not value.is_parameter:
                self.values.append(version_of(value))
        elif isinstance(value, (tuple, list)) and len(value) <= _MOST_ELEMENTS:
            for one in value:
                self._add(one, names, depth)
        elif isinstance(value, dict) and len(value) <= _MOST_ELEMENTS:
            for key, one in value.items():
                self.values.append(repr(key))
                self._add(one, names, depth)
        elif isinstance(value, np.ndarray) and value.nbytes <= _MOST_BYTES:
            self.values.append(signature(value))
        elif isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
            pass
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial)) or hasattr(
            value, "_function"
        ):
            self._look_into(value)
        else:
            self._keep(value)
            if depth < _MOST_DEPTH and not hasattr(value, "program_state"):
                attributes = getattr(value, "__dict__", {})
                for name in names:
                    if name in attributes:
                        self._add(attributes[name], names, depth + 1)

    def _keep(self, value):
        self.kept.append(value)
        self.values.append(id(value))
