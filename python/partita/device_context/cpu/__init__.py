"""Devices of the kind CPU."""

from partita._names import refuse_missing
from partita.device_context import functions_of
from partita.device_context.cpu import op_tuning  # noqa: F401

globals().update(functions_of("CPU"))
__getattr__ = refuse_missing(globals())
