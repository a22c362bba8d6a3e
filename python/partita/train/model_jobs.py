"""The jobs of a Model: its network, its loss and its options as the library takes them."""

import contextlib

from partita import context
from partita._parallelism import Parallelism
from partita.common.tensor import Tensor
from partita.nn.wrap.divided import Divided
from partita.train import stepping
from partita.train.job import NetworkJob
from partita.train.prediction import named
from partita.train.stepping import require_columns, require_dataset


@contextlib.contextmanager
def naming_wide_columns(dataset):
    """Adds the columns of float64, as NumPy makes them, to an error about element types."""
    try:
        yield
    except TypeError as error:
        wide = [name for name, dtype, _ in dataset.rows().columns if dtype == "f64"]
        if not wide or "f64" not in str(error):
            raise
        raise TypeError(
            f"{error}: column {', '.join(map(repr, wide))} of the data set is float64, expected float32 like the "
            f"parameters: numbers.astype(np.float32), or dataset.map(transforms.TypeCast(mstype.float32), {wide[0]!r})"
        ) from error


def library_names(names, has_loss):
    if has_loss:
        return ["image", "label"]
    return [f"input{i}" for i in range(len(names))]


class OfJobs(stepping.SteppedModel):
    """The part of `Model` that makes jobs."""

    def _columns(self, dataset, where):
        require_dataset(where, dataset)
        names = dataset.get_col_names()
        if self._loss_fn is None:
            require_columns(where, self._network, names)
        if self._loss_fn is not None and len(names) != 2:
            raise ValueError(
                f"[{where}] a network with a loss function takes two columns, got columns {names}, expected two: data "
                "and label"
            )
        return names

    def _functions(self, names):
        """The outputs of the network from the columns, and the loss from these: columns are called by number but for
        the label."""
        columns = library_names(names, self._loss_fn is not None)
        network, loss_fn = self._network, self._loss_fn

        def outputs(column):
            if loss_fn is None:
                return []
            made = network(column(columns[0]))
            return [("logits", made)] if isinstance(made, Tensor) else named(made)

        def loss(column, made):
            if loss_fn is None:
                return network(*[column(name) for name in columns])
            values = list(made.values())
            return loss_fn(values[0] if len(values) == 1 else tuple(values), column(columns[1]))

        return columns, outputs, loss

    def _settings(self):
        """In a context of them: those of a network under AutoParallel."""
        return context.parallel_settings(getattr(self._network, "parallel_settings", {}))

    def _parallelism(self):
        micro_batches, cell = 1, self._network
        for _, inner in cell.cells_and_names():
            if isinstance(inner, Divided):
                micro_batches *= inner.micro_batches
        return Parallelism(micro_batches)

    def _own_precision(self):
        """The precision of the network, else of the model."""
        return self._network._precision_within(self._precision or "f32")

    def _job(self, dataset, names, rows, batch, purposes, parallelism, optimizer=None, groups=1, batches=1, factor=1):
        """(a job for rows of these names, the rows as it reads them)."""
        columns, outputs, loss = self._functions(names)
        rows = rows.rename(columns)
        options = dict(parallelism.options)
        options["training.batch"] = batch
        options["training.precision"] = self._own_precision()
        if optimizer is not None:
            options.update(optimizer.options())
            options["schedule.learning_rate"] = optimizer.rate_of(0)
            if self._loss_scale_manager is not None:
                options.update(self._loss_scale_manager.options())
        name, shared = type(self._network).__name__, (optimizer, groups, batches, factor)
        of_build = rows.columns, max(1, min(len(rows), batch))
        with naming_wide_columns(dataset):
            job = NetworkJob(name, outputs, loss, options, parallelism.alone, of_build, purposes, *shared)
        job.options, job.columns = options, columns
        return job, rows
