"""Settings of kernels, kept without effect."""

from partita._names import refuse_missing
from partita.device_context._without_effect import setting

_NAMES = "op_compile aoe_tune_mode aoe_job_type aclnn_cache"
globals().update({name: setting(name) for name in _NAMES.split()})
__getattr__ = refuse_missing(globals())
