"""Names of the documented system's library that client libraries import."""

import numpy as np

from partita._c_expression import amp, typing  # noqa: F401
from partita._names import absent, refuse_missing
from partita.common.param_info import ParamInfo  # noqa: F401
from partita.common.tensor import Tensor  # noqa: F401
from partita.common.tensor import Tensor as TensorPy  # noqa: F401
from partita._streams import current_stream, default_stream  # noqa: F401

swap_cache = absent("swap_cache", __name__, "blocks of keys and values that a script copies")
pyboost_empty = absent("pyboost_empty", __name__, "mint.empty(size, dtype=dtype)")


def _random_normal(seed, array, mean, sigma):
    """Fills an array of NumPy with numbers of a normal distribution."""
    array[...] = np.random.default_rng(seed).normal(mean, sigma, array.shape)


random_normal = _random_normal  # its name in earlier versions


class MSContext:
    """The context of the documented system, as far as libraries ask it which devices there are."""

    _instance = None

    @classmethod
    def get_instance(cls):
        """The context."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def get_ascend_soc_version(self):
        """The kind of an Ascend device: there is none."""
        return ""

    def ascend_soc_supports_feature(self, feature):
        """Whether an Ascend device has a feature: there is none."""
        return False

    def is_pkg_support_device(self, device):
        """Whether programs run on a kind of device."""
        return device in ("CPU", "GPU")


def _without_effect(*_, **__):
    """Kept, without effect."""


jit_mode_pi_enable = jit_mode_pi_disable = _without_effect
_framework_profiler_step_start = _framework_profiler_step_end = _without_effect


__getattr__ = refuse_missing(globals())
