"""Values that a function uses besides its arguments. A program that was traced with other values cannot be reused."""

import collections
import dis
import functools
import os
import site
import sys
import sysconfig
import types

import numpy as np

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
_COLLECTIONS = (tuple, list, dict, set, frozenset, collections.deque)
_MOST_ELEMENTS = 64  # of a collection that is looked into
_MOST_BYTES = 4096  # of an array that is compared by its values
_MOST_DEPTH = 4  # of attributes of attributes
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@functools.lru_cache(maxsize=1)
def _libraries():
    """Path prefixes of the files of installed packages. They are found when a function is first followed, because this
    takes a tenth of the time of the package's import."""
    folders = [path for key, path in sysconfig.get_paths().items() if key.endswith("lib")] + site.getsitepackages()
    folders.append(os.path.dirname(os.path.dirname(os.path.abspath(np.__file__))))  # a system may keep packages there
    return tuple({path + os.sep for path in folders} | {"<frozen"})


class Same:
    """An object that is equal to itself alone. It lives as long, so that no other one gets its identity."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self):
        return id(self.value)

    def __repr__(self):
        return f"Same({id(self.value)})"


def version_of(tensor):
    """How often the values of a tensor were changed in place, as far as it was told."""
    return getattr(tensor, "_updates", 0)


def signature(value):
    """Arrays, scalars and collections of them by value, other objects by identity."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(signature(one) for one in value)
    if isinstance(value, dict):
        return type(value), tuple((key, signature(one)) for key, one in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return Same(value)


def is_fixed(value):
    """Whether nothing can change in a value."""
    return isinstance(value, _PLAIN) or isinstance(value, tuple) and all(is_fixed(one) for one in value)


@functools.lru_cache(maxsize=4096)
def _names(code):
    """(globals, attributes, modules) that a function and those within it use, by their names; a string may be
    getattr's."""
    known, attributes, modules = set(), set(), set()
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            known.add(one.argval)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
            attributes.add(one.argval)
        elif one.opname == "IMPORT_NAME":
            modules.add(one.argval)
    constants = list(code.co_consts)
    while constants:
        one = constants.pop()
        if isinstance(one, types.CodeType):
            for names, inner in zip((known, attributes, modules), _names(one)):
                names |= inner
        elif isinstance(one, (tuple, frozenset)):
            constants += one
        elif isinstance(one, str) and one.isidentifier():
            attributes.add(one)
    return frozenset(known), frozenset(attributes), frozenset(modules)


@functools.lru_cache(maxsize=4096)
def _is_foreign(file):
    """Whether a file is of this package or of a library: what its functions find in their modules stays as it is."""
    return file.startswith(_PACKAGE) or file.startswith(_libraries())


@functools.lru_cache(maxsize=4096)
def _is_of_user(module):
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module not in sys.builtin_module_names and not _is_foreign(file)


def _functions_in(attribute):
    """The functions of an attribute of a class: its own, and what decorates it."""
    if isinstance(attribute, property):
        attribute = attribute.fget
    elif isinstance(attribute, functools.cached_property):
        attribute = attribute.func
    attribute = getattr(attribute, "__func__", attribute)
    found = []
    while attribute is not None and not isinstance(attribute, type) and attribute not in found:
        found.append(attribute)
        attribute = getattr(attribute, "__wrapped__", None)
    return [one for one in found if isinstance(one, types.FunctionType)]


@functools.lru_cache(maxsize=4096)
def _in_order(names):
    return tuple(sorted(names))


@functools.lru_cache(maxsize=4096)
def _slots(kind):
    """Names of attributes that are not in a dict."""
    members = ((name, one) for base in kind.__mro__ for name, one in vars(base).items())
    return tuple(name for name, one in members if isinstance(one, types.MemberDescriptorType))


# What no expression calls, or what is done when there is no program yet.
_NO_OPERATORS = {"__init__", "__new__", "__del__", "__repr__", "__str__", "__setattr__", "__getstate__", "__reduce__"}


@functools.lru_cache(maxsize=4096)
def _operators(kind):
    """Methods that expressions call without their names: those with two underscores of a class of a user."""
    found = set()
    for one in kind.__mro__ if _is_of_user(kind.__module__) else ():
        found |= {name for name in vars(one) if _is_of_user(one.__module__) and name.startswith("__")}
    return frozenset(found - _NO_OPERATORS)


@functools.lru_cache(maxsize=4096)
def reached(kind, names):
    """(functions, names of attributes) of a class that what uses attributes of these names can reach."""
    functions, found, left = [], set(), sorted(names | _operators(kind))
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        for one in kind.__mro__:  # what a subclass replaces it may call
            for function in _functions_in(vars(one)[name]) if name in vars(one) else ():
                if function not in functions:
                    functions.append(function)
                    left += sorted(_names(function.__code__)[1])
    return tuple(functions), frozenset(found)


class Captured:
    """Values that functions name, and those that the functions and objects that they name do. Plain ones, small arrays
    and small collections are known by value, functions by their code, tensors by identity and changes, others by
    identity and their attributes of `names`. `found` are names of attributes that the functions use, which may be more.
    Cells that are found are in `cells`: they know what they are (Cell.program_state); of those that are given,
    attributes are looked at that change without being set."""

    def __init__(self, names=frozenset(), function=None, arguments=(), cells=()):
        self.values, self.cells, self.found = [], {}, set()
        self._names = names
        self._kept = []  # what is known by identity must live as long, also what is made on the way
        self._seen = {}
        for one in () if function is None else (function, *arguments):
            self._add(one, 0)
        for cell, attributes in cells:
            kind = type(cell)
            if _is_of_user(kind.__module__) and self._is_new(kind):
                self._add_of_class(kind, names | kind._entries, 0, ())
            for one in attributes:
                self._add(one, 0)

    def _add(self, value, depth):
        kind = type(value)
        if isinstance(value, _PLAIN):
            self.values.append((kind, repr(value)))
        elif isinstance(value, types.MethodType):
            self._add(value.__func__, depth)
            self._add(value.__self__, depth)
        elif self._is_new(value):
            if isinstance(value, types.FunctionType):
                self._add_function(value)
            elif hasattr(kind, "is_parameter"):
                self._keep(value)
                self.values.append(value.requires_grad if value.is_parameter else version_of(value))
            elif isinstance(value, _COLLECTIONS):
                self._add_elements(value, depth)
                if kind not in _COLLECTIONS and depth < _MOST_DEPTH:
                    self._add_members(value, depth)
            elif isinstance(value, np.ndarray):
                self._add_array(value)
            elif isinstance(value, functools.partial):
                self._add((value.func, value.args, value.keywords), depth)
            elif hasattr(kind, "program_parts"):
                self._add(value.program_parts(), depth)
            elif isinstance(value, type):
                self._keep(value)
                if _is_of_user(value.__module__) and depth < _MOST_DEPTH:
                    self._add_of_class(value, self._names, depth, ())
            else:
                self._keep(value)
                if depth < _MOST_DEPTH and not isinstance(value, types.BuiltinFunctionType):
                    self._add_members(value, depth)

    def _is_new(self, value):
        """False, with the place of the first time, where it was looked at before."""
        if id(value) not in self._seen:
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
            return True
        self.values.append(self._seen[id(value)])
        return False

    def _keep(self, value):
        self._kept.append(value)
        self.values.append(id(value))

    def _add_elements(self, value, depth):
        self.values.append((type(value), len(value)))
        if len(value) > _MOST_ELEMENTS:
            self._keep(value)
        elif isinstance(value, dict):
            for key, one in value.items():
                self.values.append(repr(key))
                self._add(one, depth)
        elif isinstance(value, (set, frozenset)):
            self.values.append(sorted(map(repr, value)))
        else:
            for one in value:
                self._add(one, depth)

    def _add_array(self, value):
        if value.nbytes <= _MOST_BYTES:
            self.values.append(signature(value))
        else:
            self._keep(value)

    def _add_function(self, function):
        code = function.__code__
        self._keep(code)
        for cell in function.__closure__ or ():
            try:
                self._add(cell.cell_contents, 0)
            except ValueError:
                pass  # not set yet
        for one in (function.__defaults__, function.__kwdefaults__, getattr(function, "__wrapped__", None)):
            if one:
                self._add(one, 0)
        if not _is_foreign(code.co_filename):
            used, names, modules = _names(code)
            self.found |= names
            known = function.__globals__
            for name in _in_order(used):
                if name in known:
                    self._add(known[name], 0)
            for name in _in_order(modules):
                if name in sys.modules:
                    self._add(sys.modules[name], 0)
            for name, one in vars(function).items():
                if name in self._names and name != "__wrapped__":
                    self._add(one, 1)

    def _add_of_class(self, kind, names, depth, attributes):
        """Methods of a class that are reached, and its values but for those that have `attributes` in their place;
        gives the names that these use, too."""
        functions, names = reached(kind, names)
        for one in functions:
            self._add(one, depth)
        for base in kind.__mro__:
            for name, one in vars(base).items() if _is_of_user(base.__module__) else ():
                if name in names and name not in attributes and not hasattr(type(one), "__get__"):
                    self._add(one, depth + 1)
        return names

    def _add_members(self, value, depth):
        kind, names = type(value), self._names
        if isinstance(value, types.ModuleType):
            attributes = vars(value) if _is_of_user(value.__name__) else {}
        else:
            try:
                attributes = object.__getattribute__(value, "__dict__")
            except AttributeError:
                attributes = {}
        is_cell = hasattr(kind, "program_state")
        if is_cell:
            self.cells[value] = None
        if _is_of_user(kind.__module__):
            names = self._add_of_class(kind, names | kind._entries if is_cell else names, depth, attributes)
            for name in _slots(kind):
                if name in names and hasattr(value, name):
                    self._add(getattr(value, name), depth + 1)
        for name, one in attributes.items():
            if name in names and not (is_cell and name in kind._internals):
                self._add(one, depth + 1)
