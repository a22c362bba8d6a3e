"""Programs of functions that are made anew again and again, such as a lambda within a loop.

A step compares what it calls with what earlier steps called, so steps of different functions may share their calls. A
function takes over those of one that is gone, if it has the same code and uses the same cells and parameters. Functions
that stay have calls of their own, so that they do not crowd each other out."""

import collections
import threading
import types
import weakref

from partita._captured import _names

_MANY = 64  # functions whose programs are kept, for each cell, and for those without one
_MANY_AT_ONCE = 8  # functions of the same code that have calls of their own
_MOST_DEPTH = 8  # of functions that functions use; a gradient function has three
_MOST_ELEMENTS = 64  # of a list that is looked into


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
        """Hears of who uses them from now on."""
        self._user = weakref.ref(user)

    def reserve(self):
        """Waits for `belong_to`."""
        self._user = None
        return self


_without_cells = collections.OrderedDict()
_turn = threading.Lock()


def kept_for(function, key):
    """The programs of a function that is used as `key` says. Those of a function that uses cells live as long as the
    first of these."""
    described = _Description()
    if not described.add_function(function, 0):
        return Kept()
    known, cells = (key, *described.parts), described.cells
    with _turn:
        kept = _without_cells
        if cells:
            kept = cells[0].__dict__.setdefault("_programs", {}).setdefault("of functions", collections.OrderedDict())
        ones = kept.setdefault(known, [])
        kept.move_to_end(known)
        if len(kept) > _MANY:
            kept.popitem(last=False)
        at = next((i for i, one in enumerate(ones) if one.is_free()), None)
        if at is None and len(ones) < _MANY_AT_ONCE:
            ones.append(Kept())
        else:
            ones.append(ones.pop(at or 0))
        return ones[-1].reserve()


class _Description:
    """By what functions are known: `parts` are code, and identities of what lives longer than a step. `cells` are those
    that functions use."""

    def __init__(self):
        self.parts, self.cells, self._seen = [], [], {}

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
            if name in known and hasattr(type(known[name]), "take_gradients"):
                self._add(known[name], depth)
        return True

    def _add(self, value, depth):
        kind = type(value)
        if hasattr(kind, "take_gradients"):  # a cell
            self.parts.append(id(value))
            self.cells.append(value)
        elif getattr(kind, "is_parameter", False):
            self.parts.append(id(value))
        elif depth >= _MOST_DEPTH:
            self.parts.append(kind)
        elif kind in (list, tuple) and len(value) <= _MOST_ELEMENTS:
            self.parts.append((kind, len(value)))
            for one in value:
                self._add(one, depth + 1)
        elif not self.add_function(value, depth + 1):
            self.parts.append(kind)
