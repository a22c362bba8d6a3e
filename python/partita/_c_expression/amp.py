"""Levels of networks in 16 bits, as the documented library names them."""

import enum

from partita._names import absent, refuse_missing

AmpLevel = enum.Enum("AmpLevel", "AmpO0 AmpO1 AmpO2 AmpO3 AmpAuto", start=0)
AmpLevel.__doc__ = "Levels of networks in 16 bits."
create_amp_strategy = absent("create_amp_strategy", __name__, "amp.auto_mixed_precision or amp.custom_mixed_precision")

__getattr__ = refuse_missing(globals())
