"""The functions of the library, also on slices: `functions.add(a, b)`."""

from partita import _core
from partita._sliced.rules import Rules
from partita._sliced.symbols import Sliced


def _level(args):
    """The level of the innermost mapping that an argument has slices of, 0 if none has any."""
    level = 0
    for one in args:
        if type(one) is Sliced:
            level = max(level, one.level)
        elif type(one) is list:
            level = max(level, _level(one))
    return level


_Symbol = _core.Symbol


class _Functions:
    """The functions of `_core.functions`. Operands may be slices: a rule makes nodes of all of them at once. Without a
    rule each has nodes of its own."""

    def __init__(self):
        rules = Rules(self)
        for name in dir(_core.functions):
            if not name.startswith("_"):
                setattr(self, name, self._of_slices(name, getattr(_core.functions, name), rules))

    @staticmethod
    def _of_slices(name, function, rules):
        def call(*args):
            for one in args:
                if type(one) is not _Symbol:  # as most calls have them alone
                    level = _level(args)
                    return function(*args) if level == 0 else rules.call(name, call, level, args)
            return function(*args)

        call.__name__ = call.__qualname__ = name
        return call


functions = _Functions()
