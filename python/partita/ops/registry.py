"""Every op of the library under its own name: `ops.registry.leaky_relu(x, slope=0.1)`. Operands are of one element
type, axes count from the front, and attributes are those that `partita ops NAME` prints."""

from partita import _core
from partita._names import refuse_missing
from partita.ops.functional import apply_op

_defaults = {}


def _function(name, summary, texts):
    names = [attribute for attribute, _ in texts]

    def call(*operands, **attrs):
        for given in attrs:
            if given not in names:
                near = _core.nearest(given, names)
                raise TypeError(
                    f"[{name}] unknown attribute, got '{given}', expected one of {names}"
                    + (f", did you mean '{near}'?" if near else "")
                )
        return apply_op(name, *operands, **attrs)

    call.__name__ = call.__qualname__ = name
    listed = ", ".join(f"{attribute}={text}" for attribute, text in texts)
    call.__doc__ = f"{summary}." + (f"\n\nAttributes: {listed}." if listed else "")
    return call


for _name, _summary, _texts in _core.ops():
    globals()[_name] = _function(_name, _summary, _texts)
    _defaults[_name] = dict(_texts)


def names():
    """The names of all ops."""
    return list(_defaults)


__getattr__ = refuse_missing(globals())
