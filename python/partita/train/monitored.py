"""Callbacks that follow a number from epoch to epoch, or keep what a training can go on from."""

from __future__ import annotations

import math
import os

import numpy as np

from partita import _core
from partita.train.callback_base import Callback, RunContext, require_rate
from partita.train.serialization import load_checkpoint, load_param_into_net

# What is better when it is smaller, where `mode` does not say.
_SMALLER = (
    "hausdorff_distance mae mse loss perplexity mean_surface_distance root_mean_square_distance eval_loss".split()
)


def _require(where, name, value, kinds, least=None):
    """Raises TypeError for a value of another type, ValueError for one below the least."""
    if isinstance(value, bool) != (kinds is bool) or not isinstance(value, kinds):
        raise TypeError(f"[{where}] bad {name}, got {value!r}, expected another type")
    if least is not None and value < least:
        raise ValueError(f"[{where}] bad {name}, got {value!r}, expected a number from {least}")


class Monitored(Callback):
    """The base: the number that is monitored after each epoch, and whether it improved."""

    def _monitor(self, monitor, mode, min_delta):
        where = type(self).__name__
        if not isinstance(monitor, str):
            raise TypeError(f"[{where}] monitor is not a name, got {monitor!r}, expected 'loss' or that of a metric")
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"[{where}] unknown mode, got {mode!r}, expected auto, min or max")
        _require(where, "min_delta", min_delta, (int, float))
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(min_delta)
        self.rises = mode == "max" or (mode == "auto" and monitor not in _SMALLER)
        self._forget()

    def _forget(self):
        self.best, self.wait = -math.inf if self.rises else math.inf, 0

    def is_improvement(self, value, best):
        """Whether a value is better than another one by more than `min_delta`."""
        return value > best + self.min_delta if self.rises else value < best - self.min_delta

    def _value(self, run_context):
        """The monitored number; None after an epoch without an evaluation in a training that evaluates after others.
        Raises ValueError if there is no such number."""
        args = run_context.original_args()
        found = args.eval_results or {}
        value = args.loss_value if self.monitor == "loss" else found.get(self.monitor)
        if value is None and args.get("_has_no_evaluation"):
            return None
        if value is None:
            more = "" if found else ", or an evaluation after each epoch: Model.fit(.., valid_dataset)"
            raise ValueError(
                f"[{type(self).__name__}] there is no such value to monitor, got '{self.monitor}', expected one of "
                f"{['loss', *found]}{more}"
            )
        if np.size(value) != 1:
            raise ValueError(
                f"[{type(self).__name__}] several numbers cannot be monitored, got {np.size(value)} of "
                f"'{self.monitor}', expected one"
            )
        return float(np.reshape(value, ()))


class EarlyStopping(Monitored):
    """Ends a training when the monitored number has not improved for `patience` epochs. With `restore_best_weights` the
    network has the parameters of the best epoch then. Raises ValueError at the end of an epoch without that number."""

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ):
        _require("EarlyStopping", "patience", patience, int, 0)
        _require("EarlyStopping", "restore_best_weights", restore_best_weights, bool)
        self._monitor(monitor, mode, min_delta)
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.stopped_epoch, self._best_values = restore_best_weights, 0, None

    def on_train_begin(self, run_context: RunContext) -> None:
        self._forget()
        self.stopped_epoch, self._best_values = 0, None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args, value = run_context.original_args(), self._value(run_context)
        if value is None:
            return
        self.wait += 1
        improved = self.is_improvement(value, self.best)
        if improved:
            self.best = value
            if self.baseline is None or self.is_improvement(value, self.baseline):
                self.wait = 0
        if self.restore_best_weights and (improved or self._best_values is None):
            parameters = args.train_network.get_parameters()
            self._best_values = {one.name: one.asnumpy().copy() for one in parameters}
        if self.wait >= max(1, self.patience):
            self.stopped_epoch = args.cur_epoch_num
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)

    def _after_training(self, network):
        if not self.stopped_epoch or self._best_values is None:
            return
        if self.verbose:
            print("Restoring model weights from the end of the best epoch.", flush=True)
        for one in network.get_parameters():
            if one.name in self._best_values:
                one.set_data(self._best_values[one.name])


class ReduceLROnPlateau(Monitored):
    """Multiplies the learning rate by `factor`, down to `min_lr`, when the monitored number has not improved for
    `patience` epochs; then waits for `cooldown` epochs. Raises ValueError for rates by steps or of groups."""

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 0.0001,
        cooldown: int = 0,
        min_lr: float = 0,
    ):
        where = "ReduceLROnPlateau"
        if not isinstance(factor, float) or not 0 < factor < 1:
            raise ValueError(f"[{where}] bad factor, got {factor!r}, expected a float between 0 and 1")
        for name, value in (("patience", patience), ("cooldown", cooldown)):
            _require(where, name, value, int, 0)
        _require(where, "min_lr", min_lr, (int, float))
        self._monitor(monitor, mode, min_delta)
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.cooldown, self.min_lr, self.cooldown_counter = cooldown, min_lr, 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._forget()
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        require_rate("ReduceLROnPlateau", args.optimizer)
        if args.optimizer.is_scheduled or args.optimizer.is_group_lr:
            raise ValueError(
                "[ReduceLROnPlateau] the learning rate has to be one number, got rates by steps or of groups, expected "
                "learning_rate=0.1 or the like"
            )
        value = self._value(run_context)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_improvement(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(args)
                self.cooldown_counter, self.wait = self.cooldown, 0

    def _reduce(self, args):
        rate = float(np.float32(args.optimizer.rate_of(0)))
        if rate <= self.min_lr:
            return
        lower = max(rate * self.factor, self.min_lr)
        args.optimizer.learning_rate = lower
        if self.verbose:
            print(f"Epoch {args.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to {lower}.", flush=True)


class BackupAndRestore(Callback):
    """Keeps a file `backup.ckpt` in a folder, written after each epoch or every `save_freq` epochs. A training that
    ended early goes on from it when it is started again. With `delete_checkpoint` one that ends well removes it."""

    def __init__(self, backup_dir: str, save_freq: int | str = "epoch", delete_checkpoint: bool = True):
        if not isinstance(backup_dir, (str, os.PathLike)):
            raise ValueError(f"[BackupAndRestore] backup_dir is no path, got {backup_dir!r}, expected a folder")
        if save_freq != "epoch":
            _require("BackupAndRestore", "save_freq", save_freq, int, 1)
        _require("BackupAndRestore", "delete_checkpoint", delete_checkpoint, bool)
        os.makedirs(backup_dir, exist_ok=True)
        self.backup_file = os.path.join(backup_dir, "backup.ckpt")
        self.save_freq, self.delete_checkpoint = 1 if save_freq == "epoch" else save_freq, delete_checkpoint

    def _before_training(self, network, optimizer):
        if os.path.exists(self.backup_file):
            found = load_checkpoint(self.backup_file)
            load_param_into_net(network, found)
            if optimizer is not None:
                load_param_into_net(optimizer, found)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        args = run_context.original_args()
        if args.cur_epoch_num % self.save_freq == 0:
            args.save_checkpoint(self.backup_file)

    def _after_training(self, network):
        if self.delete_checkpoint and _core.this_place().rank == 0 and os.path.exists(self.backup_file):
            os.remove(self.backup_file)
