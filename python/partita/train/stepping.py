"""Trainings of Model whose steps are calls of a cell, and evaluations by a network of their own. The cell is one that a
script wrote, or has an optimizer whose `construct` makes the updates. Callbacks hear of each call."""

import contextlib
import inspect
import itertools
import math
import time

from partita import context
from partita._described import parameters_text
from partita._program import Program
from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.optim import Optimizer
from partita.nn.wrap import TrainOneStepCell, TrainOneStepWithLossScaleCell, WithLossCell
from partita.train.callback import OnRequestExit
from partita.train.callback_base import InternalCallbackParam, RunContext
from partita.train.metrics import Loss, Metric, Top1CategoricalAccuracy, Top5CategoricalAccuracy
from partita.train.serialization import save_checkpoint


def is_step(network):
    """Whether a network is a step of a training itself."""
    return isinstance(network, TrainOneStepCell)


def updates_by_cell(optimizer):
    """Whether a construct of its own changes the gradients, or makes the updates."""
    return optimizer is not None and type(optimizer).construct is not Optimizer.construct


def step_of(model):
    """The cell whose calls are the steps of a model's training."""
    if is_step(model._network):
        return model._network
    if model._precision and model._network._precision is None:
        model._network._set_precision(model._precision)
    optimizer, manager = model._optimizer, model._loss_scale_manager
    network = model._network if model._loss_fn is None else WithLossCell(model._network, model._loss_fn)
    if manager is None:
        return TrainOneStepCell(network, optimizer)
    update = manager.get_update_cell()
    if update is None:
        return TrainOneStepCell(network, optimizer, manager.get_loss_scale())
    return TrainOneStepWithLossScaleCell(network, optimizer, update)


class Sunk(Cell):
    """The cell whose calls are steps, as callbacks see it where an epoch is one step: `network` is the cell."""

    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, *inputs):
        return self.network(*inputs)


class _Arguments(InternalCallbackParam):
    """The arguments of a run. The loss is read when it is asked for."""

    def __missing__(self, name):
        if name != "loss_value" or self.get("net_outputs") is None:
            raise KeyError(name)
        return loss_of(self["net_outputs"])


def loss_of(outputs):
    """The loss as a float: the first of several results, the mean of several elements."""
    outputs = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    return float(outputs.asnumpy().mean()) if isinstance(outputs, Tensor) else float(outputs)


class Stepping:
    """One such training. `epochs`: (epoch that callbacks count from, last epoch)."""

    def __init__(self, model, step, dataset, callbacks, epochs, sink, sink_size, validate):
        self._step, self._dataset, self.callbacks = step, dataset, callbacks
        self._run_step = Program(step.__call__) if context.is_eager() else step
        (self._first, self._last), self._sink, self._validate = epochs, sink, validate
        for one in callbacks:
            if isinstance(one, OnRequestExit):
                raise NotImplementedError(
                    "[OnRequestExit] a training by a cell of its own cannot be ended by a signal, got it among the "
                    "callbacks, expected none"
                )
        size = dataset.get_dataset_size()
        if size == 0:
            raise ValueError("[train] too few rows, got a data set without batches, expected at least one batch")
        self._count = sink_size or size
        shown = Sunk(step) if sink else step
        optimizer = model._optimizer
        self._begin = time.time()
        self._args = _Arguments(
            train_network=shown,
            network=shown,
            loss_fn=model._loss_fn,
            optimizer=optimizer,
            epoch_num=self._last,
            batch_num=self._count,
            train_dataset=dataset,
            list_callback=callbacks,
            mode="train",
            dataset_sink_mode=sink,
            parallel_mode=context.get_auto_parallel_context("parallel_mode"),
            cur_epoch_num=self._first + 1,
            cur_step_num=self._first * self._count,
            last_step=self._last * self._count,
            elapsed=0.0,
            save_checkpoint=self._save,
            net_outputs=None,
        )
        own = optimizer if optimizer is not None else getattr(step, "optimizer", None)
        self._optimizer = own if isinstance(own, Optimizer) else None
        if self._optimizer is not None:
            self._args.set_learning_rate = self._set_learning_rate
            self._note_rate()
        self._context = RunContext(self._args)

    def _set_learning_rate(self, rate):
        self._optimizer.learning_rate = rate

    def _note_rate(self):
        steps = int(self._optimizer.global_step)
        self._args.learning_rate = self._optimizer.rate_of(max(0, steps - 1))

    def _save(self, path, own_part=False, background=False):
        save_checkpoint(self._step, path, integrated_save=not own_part, async_save=background)

    def _call(self, event):
        for one in self.callbacks:
            getattr(one, event)(self._context)

    def _batches(self):
        """Batches without end."""
        for _ in itertools.count():
            yield from self._dataset.create_tuple_iterator(num_epochs=1)

    def run(self):
        """Trains to the end, or until a callback requests a stop."""
        self._step.set_train(True)
        self._call("on_train_begin")
        batches = self._batches()
        for epoch in range(self._first + 1, self._last + 1):
            self._args.cur_epoch_num = epoch
            self._call("on_train_epoch_begin")
            self._epoch(batches)
            if self._validate is not None:
                self._validate(self._args)
            self._call("on_train_epoch_end")
            if self._context.get_stop_requested():
                break
        self._call("on_train_end")

    def _epoch(self, batches):
        args = self._args
        if self._sink:
            args.cur_step_num += self._count
            self._call("on_train_step_begin")
        for _ in range(self._count):
            if not self._sink:
                args.cur_step_num += 1
                self._call("on_train_step_begin")
            args.net_outputs = self._run_step(*next(batches))
            args.elapsed = time.time() - self._begin
            if self._optimizer is not None:
                self._note_rate()
            if not self._sink:
                self._end_step()
                if self._context.get_stop_requested():
                    return
        if self._sink:
            self._end_step()

    def _end_step(self):
        loss = loss_of(self._args.net_outputs)
        scaled = isinstance(self._args.net_outputs, tuple)  # a step that may leave updates out
        if not math.isfinite(loss) and not scaled and getattr(self._step, "loss_scaling_manager", None) is None:
            raise ValueError(
                f"[train] the loss is not finite, got {loss} at step {self._args.cur_step_num}, expected a number"
            )
        self._call("on_train_step_end")


_OF_KIND = {"loss": Loss, "accuracy": Top1CategoricalAccuracy, "top_accuracy": Top5CategoricalAccuracy}


def evaluate(network, indexes, metrics, dataset, callbacks=()):
    """Metrics over the rows of a data set by a network for evaluations, or a function, as a dict by their names.
    `indexes`: the numbers of the results that are the loss, the output and the label; None: metrics get all results."""
    args = InternalCallbackParam(
        eval_network=network, valid_dataset=dataset, list_callback=callbacks, mode="eval", dataset_sink_mode=False,
        batch_num=dataset.get_dataset_size(), cur_step_num=0,
    )
    run = RunContext(args)

    def call(event):
        for one in callbacks:
            getattr(one, event)(run)

    if isinstance(network, Cell):
        network.set_train(False)
    for one in metrics.values():
        one.clear()
    call("on_eval_begin")
    call("on_eval_epoch_begin")
    for batch in dataset.create_tuple_iterator(num_epochs=1):
        args.cur_step_num += 1
        call("on_eval_step_begin")
        args.net_outputs = outputs = network(*batch)
        _update(metrics, outputs if isinstance(outputs, tuple) else (outputs,), indexes)
        call("on_eval_step_end")
        if run.get_stop_requested():
            break
    call("on_eval_epoch_end")
    found = {name: one.eval() for name, one in metrics.items()}
    args.metrics = args.eval_results = found
    call("on_eval_end")
    return found


def _update(metrics, outputs, indexes):
    """Gives the metrics the results of a batch: the loss to those that measure it, results and labels to others."""
    if indexes is not None and len(outputs) < 3:
        raise ValueError(f"[eval] the network gives too few results, got {len(outputs)}, expected 3 or more")
    for one in metrics.values():
        if indexes is None:
            one.update(*outputs)
        elif isinstance(one, Loss):
            one.update(outputs[indexes[0]])
        else:
            one.update(outputs[indexes[1]], outputs[indexes[2]])


def evaluated_by(network, indexes):
    """The network of evaluations and the numbers of its results that are the loss, the output and the label. Raises
    TypeError for what is no cell, ValueError for other than three numbers."""
    if network is not None and not isinstance(network, Cell):
        raise TypeError(f"[Model] eval_network is not a cell, got {type(network).__name__}, expected an nn.Cell")
    if indexes is not None and not (isinstance(indexes, list) and len(indexes) == 3):
        raise ValueError(f"[Model] bad eval_indexes, got {indexes!r}, expected a list of three numbers")
    return network, indexes


@contextlib.contextmanager
def kept_modes(cells, is_training):
    """Within a training, an evaluation leaves cells as they were: callbacks may evaluate between epochs."""
    modes = [(one, one.training) for cell in cells for _, one in cell.cells_and_names()] if is_training else []
    try:
        yield
    finally:
        for one, training in modes:
            if one.training != training:
                one.training = training


def require_dataset(where, dataset):
    """Raises TypeError for what is no data set."""
    if not hasattr(dataset, "create_tuple_iterator"):
        raise TypeError(
            f"[{where}] not a data set, got {type(dataset).__name__}, expected one of dataset, such as "
            "NumpySlicesDataset(arrays, names).batch(32)"
        )


def require_optimizer(optimizer):
    """Raises TypeError for what is neither None nor a cell."""
    if optimizer is not None and not isinstance(optimizer, Cell):
        raise TypeError(
            f"[Model] not an optimizer, got {type(optimizer).__name__}, expected one such as "
            "nn.SGD(network.trainable_params(), 0.1)"
        )


def require_columns(where, network, names):
    """Raises TypeError unless a network without a loss function takes as many columns."""
    try:
        inspect.signature(network.construct).bind(*names)
    except TypeError as error:
        raise TypeError(
            f"[{where}] a network without a loss function takes all columns, got {names} for "
            f"{type(network).__name__}.construct{parameters_text(network.construct)}, expected as many, or "
            f"Model(network, loss_fn, ..)"
        ) from error
    except ValueError:
        pass  # a construct that says nothing about its parameters


class SteppedModel:
    """The part of Model that trains by calls of a cell."""

    _is_training = False

    def _warn_of_others(self):
        """Warns if the optimizer has no parameter of the network or of its loss."""
        parameters = getattr(self._optimizer, "parameters", None)
        if not parameters:
            return
        own = {id(one) for cell in self._own_cells() for one in cell.get_parameters()}
        if not any(id(one) in own for one in parameters):
            warn(
                f"[Model] the optimizer updates another network, got '{parameters[0].name}' of none of the "
                f"{len(own)} parameters here, expected those of network.trainable_params()"
            )

    def _evaluated_anyway(self, error, dataset):
        """The metrics of an evaluation within a training whose results are not finite: the training goes on, as
        documented. Raises other errors, and those of other evaluations."""
        if not self._is_training or self._loss_fn is None or "results are not finite" not in str(error):
            raise error
        warn(f"[eval] the training goes on: {error}")
        self._set_train(False)

        def results(data, label):
            logits = self._network(data)
            return self._loss_fn(logits, label), logits, label

        metrics = {name: _OF_KIND[one]() if isinstance(one, str) else one for name, one in self._metrics.items()}
        return evaluate(results, [0, 1, 2], metrics, dataset)

    def _own_cells(self):
        """The cell that is trained, or the network and its loss."""
        return [one for one in (self.train_network, self._loss_fn) if isinstance(one, Cell)]

    def _set_train(self, training):
        for one in self._own_cells():
            one.set_train(training)

    @contextlib.contextmanager
    def _within_training(self):
        self._is_training = True
        try:
            yield
        finally:
            self._is_training = False

    @property
    def train_network(self):
        return self._network if self._stepped is None else self._stepped

    @property
    def predict_network(self):
        return self._network

    @property
    def eval_network(self):
        return self._network if self._eval_network is None else self._eval_network

    def _called_metrics(self):
        """The metrics that are called with the results of each batch, by their names. Raises ValueError for those of a
        network without a loss function."""
        found = {name: one for name, one in self._metrics.items() if isinstance(one, Metric)}
        if found and self._eval_network is None and self._loss_fn is None:
            raise ValueError(
                f"[eval] metrics compare results and labels, got {sorted(found)} of a network without a loss function, "
                "expected Model(.., loss_fn=..), or an eval_network"
            )
        return found

    def _after_training(self, callbacks):
        for one in callbacks:
            one._after_training(self.train_network)

    def _is_stepped(self):
        """Whether the steps of trainings are calls of a cell."""
        return is_step(self._network) or updates_by_cell(self._optimizer)

    def _train_by_steps(self, dataset, callbacks, epochs, sink, sink_size, validate):
        if self._stepped is None:
            self._stepped = step_of(self)
        options = callbacks, epochs, bool(sink), sink_size, validate
        Stepping(self, self._stepped, dataset, *options).run()
