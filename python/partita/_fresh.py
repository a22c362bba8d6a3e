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
_MOST_DEPTH = 3  # of functions that functions use


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
    parts, cells = [], []
    if not _describe(function, parts, cells, 0):
        return Kept()
    known = (key, *parts)
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


def _describe(function, parts, cells, depth):
    """Adds to `parts` by what functions are known: code, and identities of what lives longer than a step. Returns
    whether there is code."""
    while getattr(type(function), "is_program", False):
        function = function._function
    if isinstance(function, types.MethodType):
        parts.append(id(function.__self__))
        _add(function.__self__, parts, cells, depth)
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        return False
    code = function.__code__
    parts.append(code)
    for cell in function.__closure__ or ():
        try:
            _add(cell.cell_contents, parts, cells, depth)
        except ValueError:
            parts.append(None)  # not set yet
    for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _add(one, parts, cells, depth)
    known = function.__globals__
    for name in sorted(_names(code)[0]):
        if name in known and hasattr(type(known[name]), "take_gradients"):
            _add(known[name], parts, cells, depth)
    return True


def _add(value, parts, cells, depth):
    kind = type(value)
    if hasattr(kind, "take_gradients"):  # a cell
        parts.append(id(value))
        cells.append(value)
    elif getattr(kind, "is_parameter", False):
        parts.append(id(value))
    elif depth >= _MOST_DEPTH or not _describe(value, parts, cells, depth + 1):
        parts.append(kind)
