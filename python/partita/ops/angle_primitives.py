"""Functions of angles, hyperbolic and special functions as ops that are objects."""

from partita.ops import angles
from partita.ops.primitives import plain

_NAMES = {"acos": "ACos", "polygamma": "Polygamma"}
_PLAIN = """
    sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh expm1 log1p erfc erfinv lgamma digamma polygamma
    """.split()

__all__ = []
for _name in _PLAIN:
    _class = _NAMES.get(_name, _name.capitalize())
    globals()[_class] = plain(_class, getattr(angles, _name), _name in ("atan2", "polygamma"), __name__)
    __all__.append(_class)
