"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

globals().update({name: setting(name) for name in "conv_fprop_algo conv_wgrad_algo conv_dgrad_algo".split()})
__getattr__ = refuse_missing(globals())
