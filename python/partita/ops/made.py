"""Classes of ops from functions of their options."""

import inspect

from partita.ops.primitive import Primitive


def signature_of(maker):
    """The signature of an `__init__` that takes the options of a function."""
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([first, *inspect.signature(maker).parameters.values()])


def options_of(signature, args, kwargs):
    """The options by their names, as a call gives them."""
    bound = signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def option_named(name):
    """A property of one of the options of a class."""

    def get(self):
        return self._options[name]

    def put(self, value):
        self._options = {**self._options, name: value}

    return property(get, put)


def made_class(maker, base, members):
    """A class of a function's name, whose instances keep its options."""
    signature = signature_of(maker)

    def __init__(self, *args, **kwargs):
        options = options_of(signature, args, kwargs)
        maker(**options)  # which refuses bad options
        self.__dict__["_options"] = options
        base.__init__(self)
        self.__dict__["_options"] = options  # a base may have set its own

    __init__.__signature__ = signature
    options = {name: option_named(name) for name in signature.parameters if name != "self" and not hasattr(base, name)}
    members = {
        **options,
        "__init__": __init__,
        "_maker": staticmethod(maker),
        "__doc__": maker.__doc__,
        "__module__": maker.__module__,
        **members,
    }
    return type(maker.__name__, (base,), members)


def op(maker):
    """The Primitive whose options are those of `maker`, which returns the function of its operands."""

    def compute(self, *args, **kwargs):
        return self._maker(**self._options)(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        return self.call_as(lambda *given: compute(self, *given, **kwargs), *args)

    return made_class(maker, Primitive, {"compute": compute, "__call__": __call__})
