"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

globals().update({name: setting(name) for name in "matmul_allow_tf32 conv_allow_tf32".split()})
__getattr__ = refuse_missing(globals())
