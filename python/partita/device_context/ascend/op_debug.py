"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

_NAMES = "execute_timeout debug_option aclinit_config"
globals().update({name: setting(name) for name in _NAMES.split()})
__getattr__ = refuse_missing(globals())
