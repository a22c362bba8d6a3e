"""Ops of quantized networks, which run on other devices: a call says what to use."""

from partita._names import refuse_missing
from partita.ops.absent import INNER

QuantV2 = INNER["QuantV2"]

__getattr__ = refuse_missing(globals())
