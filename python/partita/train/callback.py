"""Callbacks that are called while a network is trained or evaluated."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from partita import _core
from partita._names import refuse_missing
from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.train.callback_base import Callback, InternalCallbackParam, RunContext, require_rate  # noqa: F401
from partita.train.checkpoints import CheckpointConfig, ModelCheckpoint  # noqa: F401
from partita.train.monitored import BackupAndRestore, EarlyStopping, ReduceLROnPlateau  # noqa: F401
from partita.train.serialization import save_checkpoint
from partita.train.summary import SummaryCollector  # noqa: F401


class LossMonitor(Callback):
    """Prints `epoch: 1 step: 20, loss is 0.31` after every `per_print_times` steps; with 0 nothing. Raises ValueError
    for a negative number."""

    may_lag = True

    def __init__(self, per_print_times: int = 1):
        if not isinstance(per_print_times, int) or isinstance(per_print_times, bool) or per_print_times < 0:
            raise ValueError(f"[LossMonitor] bad per_print_times, got {per_print_times!r}, expected an integer from 0")
        self._per_print_times, self._last = per_print_times, 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._last = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        step = (args.cur_step_num - 1) % args.batch_num + 1
        if self._per_print_times and args.cur_step_num - self._last >= self._per_print_times:
            self._last = args.cur_step_num
            print(f"epoch: {args.cur_epoch_num} step: {step}, loss is {args.loss_value}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        metrics = run_context.original_args().metrics
        if metrics:
            epoch = run_context.original_args().cur_epoch_num
            print(f"Eval result: epoch {epoch}, metrics: {metrics}", flush=True)


class TimeMonitor(Callback):
    """Prints the milliseconds of each epoch and of a step of it. An epoch has `data_size` steps, or as many as the data
    set."""

    def __init__(self, data_size: int | None = None, data_time: bool = False):
        self._steps = data_size

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._begin, self._first = time.time(), run_context.original_args().cur_step_num or 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        milliseconds = (time.time() - self._begin) * 1000
        args = run_context.original_args()
        # An epoch that something ended has fewer steps than a whole one.
        steps = self._steps or (args.cur_step_num or 0) - self._first or args.batch_num
        print(f"Train epoch time: {milliseconds:5.3f} ms, per step time: {milliseconds / steps:5.3f} ms", flush=True)


class LambdaCallback(Callback):
    """A callback made of functions, each of which is called with the RunContext: after every step, epoch and so on."""

    def __init__(
        self,
        on_train_epoch_begin: Callable | None = None,
        on_train_epoch_end: Callable | None = None,
        on_train_step_begin: Callable | None = None,
        on_train_step_end: Callable | None = None,
        on_train_begin: Callable | None = None,
        on_train_end: Callable | None = None,
        on_eval_epoch_begin: Callable | None = None,
        on_eval_epoch_end: Callable | None = None,
        on_eval_step_begin: Callable | None = None,
        on_eval_step_end: Callable | None = None,
        on_eval_begin: Callable | None = None,
        on_eval_end: Callable | None = None,
    ):
        for name, function in list(locals().items()):
            if name.startswith("on_") and function is not None:
                setattr(self, name, function)


class LearningRateScheduler(Callback):
    """Sets the learning rate of each step to `learning_rate_function(rate, step)`, of the last rate and of the steps
    taken, from 1."""

    def __init__(self, learning_rate_function: Callable):
        self.learning_rate_function = learning_rate_function

    def on_train_step_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        require_rate("LearningRateScheduler", args.optimizer)
        rate = float(self.learning_rate_function(args.learning_rate, args.cur_step_num))
        if args.optimizer.is_scheduled:  # of this training alone: its own rates come back with the next one
            args.set_learning_rate(rate)
        else:
            args.optimizer.learning_rate = rate


class History(Callback):
    """Keeps the losses of epochs, and their metrics, as lists by their names in `history`; the numbers of epochs in
    `epoch`."""

    def __init__(self):
        self.history, self.epoch = {}, None

    def on_train_begin(self, run_context: RunContext) -> None:
        self.epoch = {"epoch": []}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        self.epoch["epoch"].append(args.cur_epoch_num)
        for name, value in {"net_output": args.loss_value, **(args.metrics or {})}.items():
            self.history.setdefault(name, []).append(value)


class OnRequestExit(Callback):
    """A signal (SIGTERM, SIGINT or SIGHUP, in any process) ends a training after the current step. Then the first
    process writes FILE_NAME_train.ckpt."""

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = True,
        file_name: str = "Net",
        directory: str | None = "./",
        config_file: str | None = None,
        sig=signal.SIGTERM,
    ):
        if sig not in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            raise ValueError(f"[OnRequestExit] bad sig, got {sig!r}, expected SIGTERM, SIGINT or SIGHUP")
        if config_file is not None:
            warn(f"[OnRequestExit] only signals are watched, config_file has no effect, got {config_file!r}")
        self.save_ckpt, self.path = bool(save_ckpt), os.path.join(os.fspath(directory), f"{file_name}_train.ckpt")
        self.stopped_by = 0

    def stopped(self, number, network):
        """Called after a training that the signal ended. Raises KeyboardInterrupt for SIGINT."""
        self.stopped_by = number
        if self.save_ckpt and _core.this_place().rank == 0:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
            save_checkpoint(network, self.path)
        if number == signal.SIGINT:
            raise KeyboardInterrupt


def _handle_loss(loss):
    """The loss of a step: the mean of a tensor as a float, the first of several results, or what else it is."""
    if isinstance(loss, (tuple, list)):
        return loss[0] if isinstance(loss[0], Tensor) else loss
    return float(loss.asnumpy().mean()) if isinstance(loss, Tensor) else loss


def set_cur_net(net: Cell | None):
    """Kept, without effect: callbacks get the network of their training."""


__getattr__ = refuse_missing(globals())
