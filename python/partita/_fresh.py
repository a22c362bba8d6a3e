"""Programs of functions that are made anew again and again, such as a lambda within a loop.

A step compares what it calls with what earlier steps called, so steps of different functions may share their calls. A
function takes over those of one that is gone, if it has the same code and uses the same cells and parameters. Functions
that stay have calls of their own, so that they do not crowd each other out."""

import collections
import threading
import types
import weakref

from partita._captured import _names

_MAX_KEPT = 64  # functions whose programs are kept, for each cell or parameter, and for those without
_MAX_AT_ONCE = 8  # functions of the same code that have calls of their own
_MAX_DEPTH = 8  # of functions that functions use; a gradient function has three
_MAX_ELEMENTS = 64  # of a list that is looked into


class Kept:
    """Programs of a function, which another one with the same code takes over when it is gone."""

    __slots__ = ("compiled", "trees", "turn", "needs_values", "_user")

    def __init__(self):
        self._user = None  # a reference to what uses them
        self.compiled = {}  # by signatures of arguments: those of different captured values, the last used first
        self.trees = {}  # by types of arguments: the calls that steps made
        self.turn = threading.RLock()  # of the thread whose call it is
        self.needs_values = False  # while it is traced: it is recorded instead

    def is_free(self):
        """Whether nothing uses them."""
        return self._user is not None and self._user() is None

    def belong_to(self, user):
        """Notes what uses them from now on."""
        self._user = weakref.ref(user)

    def reserve(self):
        """Takes them out of use until `belong_to`."""
        self._user = None
        return self


_without_cells = collections.OrderedDict()
_turn = threading.Lock()


def kept_for(function, key):
    """The programs of a function that is used as `key` says. Those of a function that uses cells or parameters live as
    long as the first of these."""
    described = _Description()
    if not described.add_function(function, 0):
        return Kept()
    known = key, *described.parts
    with _turn:
        kept = _kept_by(described)
        ones = kept.setdefault(known, [])
        kept.move_to_end(known)
        if len(kept) > _MAX_KEPT:
            kept.popitem(last=False)
        at = next((i for i, one in enumerate(ones) if one.is_free()), None)
        if at is None and len(ones) < _MAX_AT_ONCE:
            ones.append(Kept())
        else:
            ones.append(ones.pop(at or 0))
        return ones[-1].reserve()


def _kept_by(described):
    if described.cells:
        own = described.cells[0].__dict__.setdefault("_programs", {})
        return own.setdefault("of functions", collections.OrderedDict())
    if described.parameters:
        first = described.parameters[0]
        if first._programs is None:
            first._programs = collections.OrderedDict()
        return first._programs
    return _without_cells


class _Description:
    """The description by which functions are told apart: `parts` are code, and identities of what lives longer than a
    step. `cells` and `parameters` are those that functions use."""

    def __init__(self):
        self.parts, self.cells, self.parameters, self._seen = [], [], [], {}

    def add_function(self, function, depth):
        """Returns whether it has code."""
        while getattr(type(function), "is_program", False):
            function = function._function
        if isinstance(function, types.MethodType):
            self.parts.append(id(function.__self__))
            self._add(function.__self__, depth)
            function = function.__func__
        if not isinstance(function, types.FunctionType):
            return False
        if function in self._seen:
            self.parts.append(self._seen[function])
            return True
        self._seen[function] = len(self._seen)
        self.parts.append(function.__code__)
        for cell in function.__closure__ or ():
            try:
                self._add(cell.cell_contents, depth)
            except ValueError:
                self.parts.append(None)  # not set yet
        for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._add(one, depth)
        known = function.__globals__
        for name in sorted(_names(function.__code__)[0]):
            kind = type(known.get(name))
            if hasattr(kind, "take_gradients") or getattr(kind, "is_parameter", False):
                self._add(known[name], depth)
        return True

    def _add(self, value, depth):
        kind = type(value)
        if hasattr(kind, "take_gradients"):  # a cell
            self.parts.append(id(value))
            self.cells.append(value)
        elif getattr(kind, "is_parameter", False):
            self.parts.append(id(value))
            self.parameters.append(value)
        elif depth >= _MAX_DEPTH:
            self.parts.append(kind)
        elif kind in (list, tuple) and len(value) <= _MAX_ELEMENTS:
            self.parts.append((kind, len(value)))
            for one in value:
                self._add(one, depth + 1)
        elif not self.add_function(value, depth + 1):
            self.parts.append(kind)
