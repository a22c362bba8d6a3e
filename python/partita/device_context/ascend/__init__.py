"""Devices of the kind Ascend."""

from partita._names import refuse_missing
from partita.device_context import functions_of
from partita.device_context.ascend import op_debug, op_precision, op_tuning  # noqa: F401

globals().update(functions_of("Ascend"))
__getattr__ = refuse_missing(globals())
