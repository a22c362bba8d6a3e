"""From a network of cells to a job of the library: its functions, its options, its states."""

import functools

from partita import _core, _trace, context
from partita._precision import cells_have_precisions, is_half
from partita.common.tensor import Tensor
from partita.train import strategy
from partita.train.watch import Watch


def training_rows(dataset, parallelism):
    """(rows of the library in the order of global batches, rows of a global batch)."""
    batch = dataset._batch_size
    rows = dataset.rows_of_batches()
    if batch is None:
        batch = dataset.rows().columns[0][2][0]
    parts, cut = parallelism.feeders(dataset)
    if parts == 1:
        return rows, batch
    shards = [_part(dataset, (parts, i) if cut else None) for i in range(parts)]
    return _core.data.shards_in_turn(shards, batch), batch * parts


def _part(dataset, shard):
    return dataset.rows_of_batches(shard)


class NetworkJob:
    """A network of cells as a model of the library. States stay with it; parameters of Python get them back. A loss of
    several elements is minimised as their sum, in each of the `batches` that a global batch is made of, and these on
    average; what is reported is the mean. `rows` (columns as the library has them, number) and `purposes` of programs
    are for a first build of the network, which finds the precisions of its cells. Updates are by gradients times the
    `factor`. Raises what `outputs` and `loss` raise in that build."""

    core = None  # the model of the library

    def __init__(
        self, name, outputs, loss, options, alone, rows, purposes, optimizer=None, groups=1, batches=1, factor=1
    ):
        self._groups, self._batches = groups, batches
        self.losses = 1  # that a training minimises the sum of, where the loss has several elements
        self._outputs, self._loss = outputs, loss
        self._trained = None if optimizer is None else {one.name for one in optimizer.parameters}
        self._build = self._watch = None
        self._precision = options.get("training.precision", "f32")
        self._parameters, self._given = {}, set()
        self._names = {}  # of scopes that builds made, by their cells
        self._own_loss_scope = "net"
        minimised = self._minimised if loss else None
        precisions = self._found_precisions(name, minimised, options, rows, purposes)
        if optimizer is not None and "f16" in precisions.values():
            options.setdefault("training.loss_scaling", "dynamic")
        # Precisions of cells are found in scope "net"; all that stands in scope "loss" keeps its digits.
        self._own_loss_scope = "net" if is_half(self._precision) or precisions else "loss"
        texts = context.option_texts(options)
        update = None
        if optimizer is not None and (optimizer.adds_updates or factor != 1):
            update = functools.partial(optimizer.add_update, factor=factor)
        cuts = None if alone else strategy.cuts_to_load()
        updates = None if update is None else (optimizer.name_in_files, update)
        self.core = _core.Model(name, self._forward, minimised, texts, alone, updates, cuts, list(precisions.items()))

    def _found_precisions(self, name, minimised, options, rows, purposes):
        """{scope: precision} of the cells of another precision than what is around them."""
        found = {}
        for purpose in purposes if cells_have_precisions() else ():
            _core.build_network(name, self._forward, minimised, *rows, purpose, context.option_texts(options))
            found = {**self._build.scopes.precisions, **found}
        return found

    def _forward(self, trace, column, _):
        self._build = _trace.Build(trace, trace.training, self._trained, self._groups, self._precision, self._names)
        self._build.divides_batches = True
        self._columns = {}
        if trace.training:
            self._trained_build = self._build, self._columns
        with self._build:
            named = self._outputs(lambda name: self._column(column, name))
        outputs = [(name, _symbol("construct", value)) for name, value in named]
        if not self._loss:
            self._build.store_counts()
        self._learn()
        return outputs

    def _minimised(self, trace, column, outputs):
        made = self._loss_of(column, outputs)
        self._build.store_counts()
        self._learn()
        return [("loss", made)]

    def _loss_of(self, column, outputs):
        """The symbol of the loss of these outputs, which are (name, symbol)."""
        build = self._build
        build.here = build.here._replace(scope="loss" if outputs else self._own_loss_scope, path="loss")
        with build:
            loss = self._loss(
                lambda name: self._column(column, name),
                {name: Tensor._from_symbol(symbol) for name, symbol in outputs},
            )
            build.here = build.here._replace(scope="loss")
            if isinstance(loss, tuple):
                loss = loss[0]
            if isinstance(loss, Tensor) and loss.ndim > 0:
                losses = loss.size
                loss = loss.mean() if losses > 1 else loss.reshape(())
                if build.training and losses > self._batches:
                    self.losses = losses / self._batches
                    loss = loss * self.losses
        return _symbol("loss", loss)

    def _column(self, column, name):
        symbol = column(name)
        self._columns[name] = tuple(symbol.shape), symbol.dtype
        return Tensor._from_symbol(symbol)

    def require_same_network(self, step):
        """Raises RuntimeError if the Python of the network no longer says what is trained. Called before each step."""
        if self._watch is None:
            self._watch = Watch(self._called, *self._trained_build)
        self._watch.require_same(step)

    def _called(self, column):
        """Calls the functions of the network as a build does."""
        self._loss(column, dict(self._outputs(column)))

    def _learn(self):
        """Knows the parameters and captured tensors of the program; those that `give` did not know get their values,
        which the library reads when the program is made. It has none of the first build."""
        if self.core is None:
            return
        found = self._build.parameters
        new = {name: one.array for name, one in found.items() if name not in self._given}
        self._given |= new.keys()
        self._parameters.update(found)
        if new:
            self.core.assign(new)

    def give(self, parameters, others):
        """Values that the next call begins with: of parameters of Python, and of states that only trainings have."""
        values = dict(others)
        values.update({one.name: one.array for one in parameters})
        values.update({name: one.array for name, one in self._parameters.items()})
        self._given = set(values)
        self.core.assign(values)

    @property
    def parameters(self):
        """The parameters of Python, by their names in the program."""
        return {name: one for name, one in self._parameters.items() if one.is_parameter}

    def take(self):
        """Sets the parameters of Python to the values that a call has computed. Returns the other states by name."""
        states = self.core.states()
        for name, parameter in self.parameters.items():
            if name in states:
                parameter._take(states[name])
        return {name: array for name, array in states.items() if name not in self._parameters}


def _symbol(where, value):
    if isinstance(value, Tensor):
        if value._symbol is None:
            return _trace.run(lambda trace, x: x, value)._symbol
        return value._symbol
    raise TypeError(f"[{where}] the result is not a tensor, got {type(value).__name__}, expected a Tensor")
