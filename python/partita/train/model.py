"""Model: a network, its loss and its optimizer, trained and evaluated on data sets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from partita import _core
from partita._loss_scale import LossScaleManager
from partita._names import refuse_missing
from partita._precision import precision_of
from partita._warnings import warn
from partita.common.tensor import Tensor
from partita.context import ParallelMode  # noqa: F401
from partita.nn.cell import Cell
from partita.train import stepping, strategy
from partita.train.callback import Callback, OnRequestExit
from partita.train.evaluation import (
    Arguments,
    Evaluation,
    entered,
    epochs_with,
    hear_evaluations,
    require_new_names,
    validated,
)
from partita.train.events import Events
from partita.train.job import training_rows
from partita.train.metrics import Metric, get_metric_fn, get_metrics, measured_of
from partita.train.metrics import names as metric_names
from partita.train.model_jobs import OfJobs, naming_wide_columns
from partita.train.prediction import Prediction
from partita.train.program import Program
from partita.train.stepping import require_dataset, require_optimizer

TYPE_CHECKING = False  # data sets are imported where they are used
if TYPE_CHECKING:
    from partita.dataset.engine import Dataset

_METRICS = {**{name: name for name in metric_names()}, "Accuracy": "accuracy"}


class Model(OfJobs):
    """A network with its loss and optimizer, which `train`, `fit`, `eval` and `predict` use. With `loss_fn` data sets
    have the columns data and label; without one the network gives the loss, a scalar, of all columns. `metrics`: names
    in a set, or a dict of names or Metrics, for `eval` and `fit`; `eval_network` gives the results that they take,
    `eval_indexes` the places of loss, prediction and label among them. `amp_level`: O0 (float32), O1 to O3 or "auto"
    (products in 16 bits). `loss_scale_manager` scales the loss. Raises TypeError for other networks, optimizers or
    managers, ValueError for unknown levels or metrics."""

    def __init__(
        self,
        network: Cell,
        loss_fn: Callable | None = None,
        optimizer: Cell | None = None,
        metrics: dict | set | list | None = None,
        eval_network: Cell | None = None,
        eval_indexes: Sequence[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        loss_scale_manager: LossScaleManager | None = None,
        keep_batchnorm_fp32: bool | None = None,
    ):
        if not isinstance(network, Cell):
            raise TypeError(f"[Model] the network is not a cell, got {type(network).__name__}, expected an nn.Cell")
        if loss_fn is not None and not callable(loss_fn):
            raise TypeError(f"[Model] not a loss, got {type(loss_fn).__name__}, expected a cell or a function")
        self._precision = precision_of("Model", amp_level)
        if boost_level != "O0":
            warn(f"[Model] this level is not supported, got boost_level={boost_level!r}")
        self._eval_network, self._eval_indexes = stepping.evaluated_by(eval_network, eval_indexes)
        if loss_scale_manager is not None and not isinstance(loss_scale_manager, LossScaleManager):
            raise TypeError(
                f"[Model] not a manager of loss scales, got {type(loss_scale_manager).__name__}, expected "
                "amp.FixedLossScaleManager or amp.DynamicLossScaleManager"
            )
        self._loss_scale_manager = loss_scale_manager
        if keep_batchnorm_fp32 is False:
            warn("[Model] norms compute in float32, got keep_batchnorm_fp32=False")
        require_optimizer(optimizer)
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._stepped = None  # the cell whose calls are the steps of trainings, once there was one
        self._warn_of_others()
        self._metric_functions = None if eval_network is None else get_metrics(metrics)
        self._metrics = _measured_by(metrics) if eval_network is None else self._metric_functions

    # Training.

    def train(
        self,
        epoch: int,
        train_dataset: Dataset,
        callbacks: Callback | Sequence[Callback] | None = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Trains for `epoch` epochs on the batches of `train_dataset`. `callbacks`: a Callback or a list of them. With
        `dataset_sink_mode` callbacks see the steps of an epoch as one, and an epoch has `sink_size` steps unless that
        is -1: the next epoch continues with the rows that follow. `initial_epoch`: how many epochs were trained before.
        Raises TypeError if `epoch` or `sink_size` is no integer, ValueError if `epoch` is below 1, if `sink_size` is
        neither -1 nor from 1, or without an optimizer."""
        with self._settings():
            self._train("train", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, None, 1)

    def fit(
        self,
        epoch: int,
        train_dataset: Dataset,
        valid_dataset: Dataset | None = None,
        valid_frequency: int | Sequence[int] = 1,
        callbacks: Callback | Sequence[Callback] | None = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Trains like `train`, with an evaluation on `valid_dataset` after every `valid_frequency` epochs, or after
        those in a list. Raises ValueError for callbacks with methods such as `step_end`, which would hear of both."""
        with self._settings():
            options = callbacks, dataset_sink_mode, sink_size, initial_epoch, valid_dataset, valid_frequency
            self._train("fit", epoch, train_dataset, *options)

    def _train(self, where, epoch, dataset, callbacks, sink, sink_size, initial_epoch, validation, frequency):
        if not isinstance(epoch, int) or isinstance(epoch, bool):
            raise TypeError(f"[{where}] the number of epochs is not an integer, got {epoch!r}, expected one from 1")
        if epoch < 1:
            raise ValueError(f"[{where}] bad number of epochs, got {epoch}, expected an integer from 1")
        if not isinstance(sink_size, int) or isinstance(sink_size, bool):
            raise TypeError(f"[{where}] sink_size is not an integer, got {sink_size!r}, expected -1 or one from 1")
        if sink_size < -1 or sink_size == 0:
            raise ValueError(f"[{where}] bad sink_size, got {sink_size}, expected -1 or an integer from 1")
        if not sink or sink_size == -1:
            sink_size = 0
        if not isinstance(initial_epoch, int) or not 0 <= initial_epoch < epoch:
            raise ValueError(f"[{where}] bad initial_epoch, got {initial_epoch!r}, expected 0 to {epoch - 1}")
        require_dataset(where, dataset)
        callbacks = _listed(callbacks)
        if where == "fit":
            require_new_names(callbacks)
            epochs = epochs_with(frequency)
        with contextlib.ExitStack() as stack, self._within_training():
            callbacks = entered(stack, callbacks)
            for one in callbacks:
                one._before_training(self._network, self._optimizer)
            if self._is_stepped():
                validate = None if validation is None else validated(self, validation, epochs, callbacks)
                self._train_by_steps(dataset, callbacks, (initial_epoch, epoch), sink, sink_size, validate)
                self._after_training(callbacks)
                return
            # The library evaluates within its training where nobody hears of it.
            within = validation is not None and not sink_size and frequency == 1 and self._eval_network is None
            within = within and not self._called_metrics() and not hear_evaluations(callbacks)
            job, rows, rows_of_batch = self._training_job(where, dataset, within)
            valid_rows = validation.rows().rename(job.columns) if within else None
            validate = None if within or validation is None else validated(self, validation, epochs, callbacks)
            events = Events(self, job, callbacks, dataset, (initial_epoch, epoch), sink, sink_size, validate)
            self._run(job, events, rows, rows_of_batch, valid_rows, sink_size)
            self._after_training(callbacks)

    def _run(self, job, events, rows, rows_of_batch, valid_rows, sink_size):
        """Runs a training to its end."""
        job.give(
            [*self._optimizer.parameters, *self._network.get_parameters()],
            {name: one.array for name, one in self._optimizer.states.items()},
        )
        exits = [one for one in events.callbacks if isinstance(one, OnRequestExit)]
        try:
            passes = events.epochs
            if sink_size:
                passes = -(-passes * sink_size // (len(rows) // rows_of_batch))
            with naming_wide_columns(events.dataset):
                stopped_by = job.core.train(rows, passes, events, valid_rows, bool(exits), self._optimizer.loaded_scale)
        finally:
            events.let_go()
            for name, array in job.take().items():
                self._optimizer.state(name, array)
            if events.has_ended:  # else the states are those from before
                self._optimizer.end_training(job.core.loss_scale)
            events.give_back()
        for one in exits if stopped_by else ():
            one.stopped(stopped_by, self._network)

    def _training_job(self, where, dataset, is_validated=False):
        """(a job that trains the network, its rows, how many a global batch has). `is_validated`: whether the job
        also evaluates the network."""
        if self._optimizer is None:
            raise ValueError("[train] nothing to update the parameters, got no optimizer, expected one in Model(..)")
        if self._is_stepped():
            raise NotImplementedError(
                f"[{where}] the steps of this training are calls of a cell, got {type(self._network).__name__} with "
                f"{type(self._optimizer).__name__}, expected an optimizer without a construct of its own"
            )
        names = self._columns(dataset, where)
        parallelism = self._parallelism()
        rows, batch = training_rows(dataset, parallelism)
        if len(rows) < batch:
            raise ValueError(f"[{where}] too few rows, got {len(rows)}, expected at least one batch of {batch}")
        if len(rows) % batch and not dataset._drop_remainder:
            warn(f"[{where}] the last batch is not full and is dropped, got {len(rows)} rows in batches of {batch}")
        self._set_train(True)
        groups = parallelism.micro_batches * parallelism.feeders(dataset)[0]
        purposes = ["training", "evaluation"] if is_validated else ["training"]
        batches = parallelism.batches(dataset)
        shared = self._optimizer, groups, batches, self._optimizer.factor_under(self._loss_scale_manager)
        job, rows = self._job(dataset, names, rows, batch, purposes, parallelism, *shared)
        return job, rows, batch

    def build(
        self,
        train_dataset: Dataset | None = None,
        valid_dataset: Dataset | None = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Kept, without effect: programs are made when they are first run."""

    # Evaluation.

    def eval(
        self,
        valid_dataset: Dataset,
        callbacks: Callback | Sequence[Callback] | None = None,
        dataset_sink_mode: bool = False,
    ) -> dict[str, float]:
        """Returns the metrics over the rows of a data set, as a dict by their names. Raises ValueError if the Model has
        no metrics, or other metrics than the loss for a network without logits and labels."""
        if not self._metrics:
            raise ValueError("[eval] nothing to measure, got no metrics, expected some in Model(.., metrics={'acc'})")
        with self._settings(), contextlib.ExitStack() as stack, naming_wide_columns(valid_dataset):
            stack.enter_context(stepping.kept_modes(self._own_cells(), self._is_training))
            callbacks = entered(stack, _listed(callbacks))
            if self._eval_network is not None:
                of_network = self._eval_network, self._eval_indexes, self._metric_functions
                return stepping.evaluate(*of_network, valid_dataset, callbacks)
            args = Arguments(network=self._network, list_callback=callbacks)
            try:
                return self._measured(Evaluation(self, valid_dataset).run(callbacks, args))
            except ValueError as error:
                return self._evaluated_anyway(error, valid_dataset)

    def _evaluation_job(self, valid_dataset):
        """(a job that evaluates the network, its rows, how many a batch has)."""
        names = self._columns(valid_dataset, "eval")
        self._set_train(False)
        parallelism = self._parallelism()
        rows = valid_dataset.rows_of_batches()
        parts, cut = parallelism.feeders(valid_dataset)
        if cut:
            rows = _core.data.concat([valid_dataset.rows((parts, i)) for i in range(parts)])
        batch = valid_dataset.get_batch_size()
        job, rows = self._job(valid_dataset, names, rows, batch, ["evaluation"], parallelism)
        return job, rows, batch

    def _measured(self, found):
        """The metrics by their names, after an evaluation that found what the library measures."""
        values = {}
        for name, kind in self._metrics.items():
            if isinstance(kind, Metric):
                values[name] = kind.eval()
                continue
            if kind != "loss" and not found.classified:
                raise ValueError(
                    f"[eval] this metric needs classes, got metric '{name}' of a network without logits and labels, "
                    "expected 'loss'"
                )
            values[name] = getattr(found, kind)
        return values

    def predict(self, *predict_data, backend: str | None = None, config=None):
        """Returns the network's results for a batch: a Tensor, or a tuple of them, of Tensors or arrays."""
        self._network.set_train(False)
        tensors = [one if isinstance(one, Tensor) else Tensor(one) for one in predict_data]
        return self._prediction(tensors)(tensors)

    def _prediction(self, tensors):
        """The program of the network for batches like these tensors."""
        return Prediction(self._network, tensors, self._own_precision())

    def infer_train_layout(self, train_dataset: Dataset, dataset_sink_mode: bool = True, sink_size: int = -1):
        """How each parameter of a training would be cut, by its name: (sizes of axes, the axis that cuts each
        dimension, the shape of a part, 0, True, ''). Writes the strategy file that the context names."""
        program = self.program(train_dataset)
        with self._settings():
            path = strategy.file_to_save()
        if path:
            strategy.write(path, program.layouts, program.cuts)
        return {
            one["name"]: (*strategy.documented(one), _part_shape(one), 0, True, "")
            for one in program.layouts
            if one["is_weight"]
        }

    def program(self, train_dataset: Dataset):
        """Returns the program that the ranks of a training on these rows would run. Nothing is trained."""
        with self._settings():
            job, rows, _ = self._training_job("program", train_dataset)
            return Program(job.core.program(rows))

    def _plan_request(self, train_dataset):
        """The planner's request for a training on these rows, under the settings of the network."""
        job, rows, _ = self._training_job("plan", train_dataset)
        return job.core.plan_request(rows)


def _part_shape(layout):
    """Shape of the part that the first rank holds."""
    return [end - begin for begin, end in layout["slices"][0][1]]


def _measured_by(metrics):
    """Returns, by the names of metrics, names of measurements of the library, and metrics that are called with the
    results of each batch. `metrics`: a set of names, or a dict of metrics or of names."""
    measured = {}
    for name in [] if metrics is None else metrics:
        metric = metrics[name] if isinstance(metrics, dict) else None
        if not isinstance(metric, Metric):
            asked = metric if isinstance(metric, str) else name
            if asked not in _METRICS:
                near = _core.nearest(str(asked), list(_METRICS))
                raise ValueError(
                    f"[Model] unknown metric, got {asked!r}, expected one of {list(_METRICS)}"
                    + (f", did you mean '{near}'?" if near else "")
                )
            metric = get_metric_fn(_METRICS[asked])
        measured[name] = measured_of(metric) or metric
    return measured


def _listed(callbacks):
    listed = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for one in listed:
        if not isinstance(one, Callback):
            raise TypeError(f"[train] not a callback, got {type(one).__name__}, expected a Callback")
    return listed


__getattr__ = refuse_missing(globals())
