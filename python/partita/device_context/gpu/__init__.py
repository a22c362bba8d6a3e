"""Devices of the kind GPU."""

from partita._names import refuse_missing
from partita.device_context import functions_of
from partita.device_context.gpu import op_precision, op_tuning  # noqa: F401

globals().update(functions_of("GPU"))
__getattr__ = refuse_missing(globals())
