"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

_NAMES = "conv_fprop_algo conv_wgrad_algo conv_dgrad_algo"
globals().update({name: setting(name) for name in _NAMES.split()})
__getattr__ = refuse_missing(globals())
