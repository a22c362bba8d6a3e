"""Ops of images, under the name of the module that has them in the documented system."""

from partita._names import refuse_missing
from partita.ops.colors import HSVToRGB, RGBToHSV  # noqa: F401
from partita.ops.image_primitives import *  # noqa: F401,F403

__getattr__ = refuse_missing(globals())
