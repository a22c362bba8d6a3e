"""Classes of ops by tables: those of a function, and those whose parameters are attributes."""

import inspect

from partita.ops.primitive import Primitive
from partita.ops.primitives import plain

MUST = inspect.Parameter.empty  # in the place of a default: the parameter has to be given


def with_options(name, function, doc, module, defaults):
    """Returns the class of an op with parameters, which are its attributes: a call is `function(op, *operands)`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [inspect.Parameter(one, kind, default=value) for one, value in defaults.items()]
    signature = inspect.Signature([inspect.Parameter("self", kind), *own])

    def init(self, *args, **kwargs):
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        Primitive.__init__(self)
        for one in defaults:
            setattr(self, one, given.arguments[one])

    def compute(self, *args):
        return function(self, *args)

    init.__signature__ = signature
    members = {"__init__": init, "compute": compute, "__doc__": doc or function.__doc__, "__module__": module}
    return type(name, (Primitive,), members)


def options_last(name, function, module, defaults, by_name=()):
    """Returns the class of an op that calls a function with the operands and then with its parameters, of which those
    in `by_name` are given by their names."""

    def call(op, *operands):
        given = {one: getattr(op, one) for one in defaults}
        named = {one: given.pop(one) for one in by_name}
        return function(*operands, *given.values(), **named)

    return with_options(name, call, function.__doc__, module, defaults)


class Classes:
    """Puts classes of ops among the names of a module, and into its `__all__`."""

    def __init__(self, names):
        self._names = names

    def _add(self, name, made):
        self._names[name] = made
        self._names["__all__"].append(name)

    def plain(self, name, function):
        """An op without parameters, which calls a function of its operands."""
        self._add(name, plain(name, function, False, self._names["__name__"]))

    def options(self, name, function, doc=None, **defaults):
        """An op with parameters and their defaults, whose function has the op before the operands."""
        self._add(name, with_options(name, function, doc, self._names["__name__"], defaults))
