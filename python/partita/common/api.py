"""The way functions run, by the names of the documented module."""

from partita._current import current
from partita._names import refuse_missing
from partita.common.tools import _no_grad  # noqa: F401


class _Executor:
    """The executor of the documented system, as far as libraries ask it. Functions run as they are called, so nothing
    has to be waited for or released."""

    def __init__(self):
        self._grad_flag, self._enables = False, True

    def grad_flag(self):
        """The flag that `set_grad_flag` sets."""
        return self._grad_flag

    def set_grad_flag(self, flag):
        """Kept, without effect: gradients are those that are asked for."""
        self._grad_flag = bool(flag)

    def enable_grad(self):
        """Whether results have gradients, as `set_enable_grad` says."""
        build = current()
        return self._enables if build is None else not getattr(build, "is_detached", False)

    def set_enable_grad(self, flag):
        """Has the results from here on, within a function that is differentiated, have gradients or not."""
        build = current()
        if build is None:
            self._enables = bool(flag)
        else:
            build.is_detached = not flag

    def sync(self):
        """Returns at once: results are there when calls return."""

    def clear_res(self):
        """Returns at once: programs are released with their functions."""

    def set_async_for_graph(self, flag):
        """Kept, without effect."""

    def set_is_run_recompute(self, status):
        """Kept, without effect: see Cell.recompute."""


_pynative_executor = _Executor()
cells_compile_cache = {}  # of the documented system's compiler: nothing is ever in it


def _function_forbid_reuse(fn):
    """The function itself: functions are compiled once for each signature."""
    return fn


__getattr__ = refuse_missing(globals())
