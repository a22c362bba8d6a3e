"""The primitives that layers of the documented system have as attributes, to be given strategies."""


class LayerPrimitive:
    """A primitive of a layer. It is made when it is asked for: a layer without strategies has none, and calls of it
    need not be compared with those before."""

    def __init__(self, make):
        self._make = make

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, layer, kind=None):
        if layer is None:
            return self
        made = self._make(layer)
        layer._count_change()
        layer.__dict__[self._name] = made
        return made


def strategy_of(layer, name):
    """The strategy of a primitive of a layer, or None."""
    made = layer.__dict__.get(name)
    return None if made is None else made.strategy


def call_in(layer, name, function, *inputs):
    """Calls a function of the inputs, cut and placed as the primitive of the layer is."""
    made = layer.__dict__.get(name)
    return function(*inputs) if made is None else made.call_as(function, *inputs)
