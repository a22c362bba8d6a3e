"""Callbacks of maps."""

from __future__ import annotations

from partita._names import absent, refuse_missing


class _Told:
    """Numbers of the epoch, and of the row in it and in all, from 1."""

    def __init__(self, epoch, step, steps):
        self.cur_epoch_num, self.cur_step_num_in_epoch, self.cur_step_num = epoch, step, steps


class DSCallback:
    """The base of callbacks of `map`: their methods, such as `ds_step_end(run_context)`, hear of rows, every
    `step_size` of them. Raises ValueError for a size below 1."""

    def __init__(self, step_size: int = 1):
        if not isinstance(step_size, int) or step_size < 1:
            raise ValueError(f"[DSCallback] bad step_size, got {step_size!r}, expected an integer from 1")
        self.step_size = step_size

    def ds_begin(self, ds_run_context):
        """Called before the first row."""

    def ds_epoch_begin(self, ds_run_context):
        """Called before each epoch."""

    def ds_epoch_end(self, ds_run_context):
        """Called after each epoch."""

    def ds_step_begin(self, ds_run_context):
        """Called before a row."""

    def ds_step_end(self, ds_run_context):
        """Called after a row."""

    def hear(self, name, epoch, step, steps):
        """Calls a method with the numbers of an epoch and a row."""
        if not name.startswith("ds_step") or (step - 1) % self.step_size == 0:
            getattr(self, name)(_Told(epoch, step, steps))


WaitedDSCallback = absent("WaitedDSCallback", __name__, "DSCallback, or a callback of the training")
__getattr__ = refuse_missing(globals())
