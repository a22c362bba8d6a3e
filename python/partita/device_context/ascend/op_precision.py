"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

globals().update({name: setting(name) for name in "precision_mode op_precision_mode matmul_allow_hf32 conv_allow_hf32".split()})
__getattr__ = refuse_missing(globals())
