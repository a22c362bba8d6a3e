"""The way functions run, by the names of the documented module."""

from partita._current import current
from partita._names import absent, refuse_missing
from partita.common.tools import _no_grad  # noqa: F401


class _Executor:
    """The executor of the documented system, as far as libraries ask it. Functions run as they are called, so nothing
    has to be waited for or released."""

    def __init__(self):
        self._grad_flag, self._enables, self._made = False, True, None

    def requires_grad(self):
        """Whether gradients are recorded: they are those that are asked for, of whole functions."""
        return False

    def new_graph(self, obj, *args, **kwargs):
        """Returns at once: `grad` calls the function itself."""

    end_graph = new_graph

    def grad(self, obj, grad, weights, grad_position, *args, **kwargs):
        """The gradients of a function by weights, and by inputs as the op `grad` says, which calls the function. A call
        of the executor gives them again. Raises NotImplementedError for positions."""
        if grad_position is not None:
            raise NotImplementedError(
                f"[grad] positions are not supported, got {grad_position!r}, expected None: see value_and_grad"
            )
        made = (grad(obj) if weights is None else grad(obj, weights))(*args, **kwargs)
        self._made = made
        return made

    def __call__(self, *args):
        """The gradients of the last call of `grad`."""
        return self._made

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


class _GraphExecutor:
    """The compiler of the documented system: a use says what to use."""

    compile = staticmethod(absent("compile", __name__, "jit(function)"))
    _get_func_graph_proto = staticmethod(
        absent("_get_func_graph_proto", __name__, "cells_and_names() and parameters_and_names() of the network")
    )


_pynative_executor, _cell_graph_executor = _Executor(), _GraphExecutor()
cells_compile_cache = {}  # of the documented system's compiler: nothing is ever in it


def _function_forbid_reuse(fn):
    """The function itself: functions are compiled once for each signature."""
    return fn


def _convert_python_data(data):
    """A result of the documented system's library as values of Python: here results are."""
    return data


__getattr__ = refuse_missing(globals())
