"""Functions of angles, hyperbolic ones and those of the error function."""

from partita.ops import angles

__all__ = [name for name in angles.__all__ if name not in ("digamma", "lgamma", "polygamma")]
globals().update({name: getattr(angles, name) for name in __all__})
