"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

_NAMES = "matmul_allow_tf32 conv_allow_tf32"
globals().update({name: setting(name) for name in _NAMES.split()})
__getattr__ = refuse_missing(globals())
