"""Connects callbacks of Python to a training of the library."""

import math

import numpy as np

from partita import context
from partita._names import refuse_missing
from partita.common.tensor import Tensor
from partita.train import strategy
from partita.train.callback_base import InternalCallbackParam, RunContext
from partita.train.checkpoints import ModelCheckpoint
from partita.train.evaluation import hears, may_lag


class _Arguments(InternalCallbackParam):
    """The arguments of a run. `net_outputs` is made when it is asked for."""

    def __missing__(self, name):
        if name == "net_outputs" and "loss_value" in self:
            return Tensor(self["loss_value"])
        raise KeyError(name)

    def __contains__(self, name):
        return super().__contains__("loss_value" if name == "net_outputs" else name)


class Events:
    """Passes the events of a training of the library to callbacks of Python. Callbacks may read the parameters, whose
    values this object holds until the training ends."""

    keeps_values = True

    def __init__(self, model, job, callbacks, dataset, epochs, sink, sink_size, validate):
        """`epochs`: (epoch that callbacks count from, last epoch). `sink_size`: steps of an epoch; 0: a pass through
        the rows. `validate`: called with the number of an epoch and the arguments before its end, or None."""
        self._job, self._sink_size = job, sink_size
        self._first_epoch, last_epoch = epochs
        self.epochs, self.dataset = last_epoch - self._first_epoch, dataset
        self._model, self.callbacks, self._sink, self._validate = model, callbacks, sink, validate
        self._manager = model._loss_scale_manager
        self._optimizer, self._steps_before = model._optimizer, model._optimizer.global_step
        self._runs_python = not sink and context.is_eager()
        self._rates, self._ahead, self._steps_ahead = None, [], range(0)  # those that were passed, and of which steps
        self._lags = False  # whether callbacks hear late of all steps of this epoch but its last one
        self._hyperparameters = self._optimizer.program_state()
        self._changes = self._optimizer._changes
        self._read = set()  # names of parameters read since the last step
        self.steps, self.has_ended, self._epoch_open = 0, False, False
        self._args = _Arguments(
            train_network=model._network,
            network=model._network,
            loss_fn=model._loss_fn,
            optimizer=model._optimizer,
            epoch_num=last_epoch,
            train_dataset=dataset,
            list_callback=callbacks,
            mode="train",
            dataset_sink_mode=sink,
            cur_epoch_num=1,
            cur_step_num=0,
        )
        self._context = RunContext(self._args)

    def _call(self, event):
        for callback in self.callbacks:
            getattr(callback, event)(self._context)
        if self._context.get_stop_requested():
            self._control.stop()
        self._require_hyperparameters()
        self._follow_rate()

    def _require_hyperparameters(self):
        """Checks that callbacks have not changed the hyperparameters that the updates were built with, apart from the
        learning rate. Raises RuntimeError if they have."""
        if self._optimizer._changes == self._changes:
            return
        self._changes = self._optimizer._changes
        if self._optimizer.program_state() != self._hyperparameters:
            raise RuntimeError(
                f"[train] a callback cannot change this attribute of {type(self._optimizer).__name__}, got a change, "
                "expected learning_rate only: all other settings are part of the program"
            )

    def _save(self, path, own_part=False, background=False):
        self._control.save(path, own_part, background)

    def _set_rate(self, rate):
        if isinstance(rate, bool) or not isinstance(rate, (int, float, np.number, Tensor)):
            raise TypeError(f"[set_learning_rate] not a learning rate, got {rate!r}, expected a number")
        self._control.set_learning_rate(float(rate))

    def _follow_rate(self):
        """Passes the learning rate of the next step to the training if the optimizer's rate has changed; if callbacks
        hear late of steps, those of all steps of the epoch, from the first one with another rate."""
        rates = self._optimizer.learning_rates
        is_known = rates is self._rates
        if is_known and len(rates) == 1 or self._lags and self.steps % self._args.batch_num:
            return
        count = min(self._args.batch_num, self.epochs * self._args.batch_num - self.steps) if self._lags else 1
        steps = range(self.steps, self.steps + max(count, 1))
        before = self._ahead[-1] if is_known else None
        if not is_known or steps != self._steps_ahead:
            self._ahead = [self._optimizer.rate_of(self._steps_before + step) for step in steps]
        if is_known and steps.start == self._steps_ahead.start:
            before = self._ahead[0]  # was passed: one that a callback has set since stays until the next change
        changed = next((i for i, rate in enumerate(self._ahead) if rate != (self._ahead[i - 1] if i else before)), None)
        if changed is not None:
            self._control.set_learning_rates(steps[changed], self._ahead[changed:])
        self._rates, self._steps_ahead = rates, steps

    def value_of(self, name):
        """The value of a parameter after the last step, by its name in the training."""
        self._read.add(name)
        return self._control.state(name)

    def let_go(self):
        """Releases the parameters when the training has ended."""
        for parameter in self._job.parameters.values():
            parameter._leave(self)

    def _forget_values(self):
        for name in self._read:
            self._job.parameters[name]._count_update()
        self._read.clear()

    def train_begin(self, info, control):
        self._control, args = control, self._args
        if self._manager is not None:
            self._manager.begin_training(info.good_steps)
        self._steps_of_pass = info.steps_per_epoch
        args.batch_num = self._sink_size or info.steps_per_epoch
        args.last_step = self._counted(self.epochs * args.batch_num)
        args.cur_step_num = self._counted(0)
        args.save_checkpoint, args.set_learning_rate = self._save, self._set_rate
        path = strategy.file_to_save()
        if path:
            strategy.write(path, info.layouts, info.cuts)
        for name, parameter in self._job.parameters.items():
            parameter._belong_to((self, name))
        self._follow_rate()
        if self._optimizer.loaded_rate is not None:  # one that a callback had set in place of those of all steps
            control.set_learning_rate(self._optimizer.loaded_rate)
        self._call("on_train_begin")
        self._begin_step(1, 1)

    def _counted(self, step):
        return self._first_epoch * self._args.batch_num + step

    def _begin_step(self, epoch, step):
        if not self._epoch_open:
            self._epoch_open, self._args.cur_epoch_num = True, self._first_epoch + epoch
            self._call("on_train_epoch_begin")
            if self._context.get_stop_requested() and self.steps:  # the last step is of the epoch before
                self._args.cur_epoch_num -= 1
                self._save_last()
            self._hear_steps = any(hears(one, "on_train_step_begin") for one in self.callbacks)
            self._lags = self._may_all_lag()
            self._follow_rate()
            if self._hear_steps and self._sink:  # the steps of the epoch are one
                self._call_step_begin(epoch * self._args.batch_num)
        if self._hear_steps and not self._sink:
            self._call_step_begin(self.steps + 1)
        if self._runs_python:
            self._job.require_same_network(self.steps + 1)

    def _may_all_lag(self):
        """Whether no callback has to hear of a step, other than the last one of an epoch, before the next begins."""
        if self._sink:
            return True
        heard = (one for one in self.callbacks if hears(one, "on_train_step_end"))
        return not self._runs_python and not self._hear_steps and all([may_lag(one) for one in heard])

    def may_lag(self, step):
        """Whether `step_end` of a step, counted from 1, may be called when the next one has begun."""
        return self._lags and step % self._args["batch_num"] != 0

    def _call_step_begin(self, step):
        self._args.cur_step_num = self._counted(step)
        self._call("on_train_step_begin")

    def step_end(self, info):
        # Between two steps little of Python is in the caches of the processor: a call less counts.
        args, count = self._args, self._args["batch_num"]
        if self._read:
            self._forget_values()
        self.steps = taken = info.global_step
        self._optimizer.__dict__["global_step"] = self._steps_before + taken
        epoch, step = (taken - 1) // count + 1, (taken - 1) % count + 1
        number, loss = self._first_epoch * count + taken, info.loss / self._job.losses
        args.update(
            cur_epoch_num=self._first_epoch + epoch,
            cur_step_num=number,
            loss_value=loss,
            learning_rate=info.learning_rate,
            loss_scale=info.loss_scale,
            skipped=info.skipped,
            step_seconds=info.seconds,
            elapsed=info.elapsed,
        )
        if self._manager is not None:
            self._manager.end_step(info.loss_scale, info.skipped)
        if not math.isfinite(loss) and not info.skipped:
            raise ValueError(
                f"[train] the loss is not finite, got {loss} at epoch {epoch} step {step}, expected a number"
            )
        last = step == count
        self._follow_rate()
        if not self._sink or last:
            self._call("on_train_step_end")
        if not last and number < args["last_step"] and not self._context.get_stop_requested():
            self._begin_step(epoch, step + 1)
        if last and self._sink_size:
            self._end_epoch(epoch, is_whole=True)

    def epoch_end(self, info):
        """Handles the end of a pass through the rows, or of a partial pass that a signal has ended."""
        self._args.cur_step_num = self._counted(self.steps)
        if self._sink_size:
            is_last = info.steps < self._steps_of_pass or self._control.stopped()
            if is_last and self.steps % self._sink_size:
                self._end_epoch(self._args.cur_epoch_num - self._first_epoch, is_whole=False)
            return
        if info.validation is not None:
            self._args.metrics = self._model._measured(info.validation)
            self._args.eval_results = {**self._args.metrics, "eval_loss": info.validation.loss}
        self._end_epoch(info.epoch, info.steps == self._args.batch_num)

    def _end_epoch(self, epoch, is_whole):
        args = self._args
        if self._validate is not None:
            self._validate(args)
        self._call("on_train_epoch_end")
        for name in ("metrics", "eval_results"):
            args.pop(name, None)
        self._epoch_open = False
        if not is_whole or self._context.get_stop_requested():
            self._save_last()
        elif args.cur_step_num < args.last_step:
            self._begin_step(epoch + 1, 1)
        elif self._sink_size:
            self._control.stop()  # the last pass has rows left

    def _save_last(self):
        for callback in self.callbacks:
            if isinstance(callback, ModelCheckpoint):
                callback.save_last(self._context)

    def train_end(self):
        for callback in self.callbacks:
            callback.on_train_end(self._context)
        self.has_ended = True

    def give_back(self):
        """Takes back the steps of a training that failed, and releases the folders that callbacks hold."""
        if not self.has_ended:
            self._optimizer.__dict__["global_step"] = self._steps_before
        for callback in self.callbacks:
            if isinstance(callback, ModelCheckpoint):
                callback.give_back()


__getattr__ = refuse_missing(globals())
