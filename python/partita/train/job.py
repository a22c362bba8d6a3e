"""From a network of cells to a job of the library: its functions, its options, its states."""

from partita import _core, _trace, context
from partita.common import seed as _seed
from partita.common.tensor import Tensor
from partita.communication import management as ranks
from partita.train import strategy

_MODES = {"data_parallel": "data", "hybrid_parallel": "hybrid", "semi_auto_parallel": "semi", "auto_parallel": "auto"}
_SEARCHES = {
    "recursive_programming": "recursive",
    "dynamic_programming": "dynamic",
    "sharding_propagation": "propagation",
}
_ORDERS = {"gpipe": "gpipe", "1f1b": "1f1b"}


class Parallelism:
    """How a script's context shares the work over ranks."""

    def __init__(self, micro_batches=1):
        get = context.get_auto_parallel_context
        self.mode = get("parallel_mode")
        self.alone = self.mode == "stand_alone"
        self.ranks = 1 if self.alone else ranks.ranks_of_job()
        if not self.alone and context.is_set("device_num") and ranks.is_process() and get("device_num") != self.ranks:
            raise ValueError(
                f"[set_auto_parallel_context] device_num is not the number of ranks, got {get('device_num')}, "
                f"expected {self.ranks}, or none"
            )
        self.stages = get("pipeline_stages")
        self.micro_batches = micro_batches * get("grad_accumulation_step")
        self.options = {
            "ranks.count": self.ranks,
            "ranks.threads": context.get_context("threads"),
            "ranks.kernels": context.get_context("kernels"),
            "training.seed": _seed.seed_or_default(),
        }
        if context.get_context("save_graphs"):
            self.options["files.dump"] = context.get_context("save_graphs_path")
        if context.get_context("batch_norm"):
            self.options["training.batch_norm"] = context.get_context("batch_norm")
        if self.micro_batches > 1:
            self.options["plan.micro_batches"] = self.micro_batches
        if not self.alone:
            self._share(get)

    def _share(self, get):
        options = self.options
        options["plan.parallel"] = _MODES[self.mode]
        if self.mode == "auto_parallel":
            search = "sharding_propagation" if get("sharding_propagation") else get("search_mode")
            options["plan.search"] = _SEARCHES[search]
        if self.mode in ("semi_auto_parallel", "auto_parallel"):
            strategy = "full_batch" if get("full_batch") else get("dataset_strategy")
            options["plan.dataset_strategy"] = strategy if isinstance(strategy, str) else _strategy_text(strategy)
        elif not get("gradients_mean") and self.ranks > 1:
            options["training.gradients"] = "sum"
        if self.stages > 1:
            options["plan.stages"] = self.stages
            self._pipeline(get("pipeline_config"))
        if get("enable_parallel_optimizer"):
            self._shard_optimizer(get)

    def _pipeline(self, config):
        order = config.get("pipeline_scheduler", "1f1b")
        if order not in _ORDERS:
            raise NotImplementedError(
                f"[pipeline_config] no such order of micro-batches, got '{order}', expected gpipe or 1f1b"
            )
        self.options["plan.order"] = "interleaved" if config.get("pipeline_interleave") else _ORDERS[order]

    def _shard_optimizer(self, get):
        config = get("parallel_optimizer_config")
        level = config.get("optimizer_level", "level1")
        levels = {"level1": 1, "level2": 2, "level3": 3}
        if level not in levels:
            raise ValueError(
                f"[parallel_optimizer_config] unknown optimizer_level, got {level!r}, expected level1, level2 or level3"
            )
        self.options["plan.zero"] = levels[level]
        self.options["plan.zero_threshold"] = 1024 * config.get("parallel_optimizer_threshold", 64)
        group = config.get("optimizer_weight_shard_size", get("optimizer_weight_shard_size"))
        if group > 0:
            self.options["plan.zero_group"] = group

    def feeders(self, dataset):
        """(parts of the data set that stand side by side in a global batch, whether these are the script's shards)."""
        shards, _ = dataset._shards
        if self.ranks == 1:
            return 1, False
        if shards > 1:
            return shards, True
        get = context.get_auto_parallel_context
        whole = get("full_batch") or get("dataset_strategy") == "full_batch"
        if whole or not ranks.is_process():
            return 1, False
        return max(1, self.ranks // max(1, self.stages)), False


    def batches(self, dataset):
        """Whose losses are averaged: one of each process under data parallelism; else the global batch is one."""
        return self.feeders(dataset)[0] if self.mode in ("data_parallel", "hybrid_parallel") else 1


def _strategy_text(strategy):
    parts = ("(" + ",".join(map(str, one)) + ("," if len(one) == 1 else "") + ")" for one in strategy)
    return "(" + ",".join(parts) + ("," if len(strategy) == 1 else "") + ")"


def training_rows(dataset, parallelism):
    """(rows of the library in the order of global batches, rows of a global batch)."""
    batch = dataset._batch_size
    rows = dataset.rows() if batch is not None else dataset.rows().unbatch()
    if batch is None:
        batch = dataset.rows().columns[0][2][0]
    parts, cut = parallelism.feeders(dataset)
    if parts == 1:
        return rows, batch
    shards = [_part(dataset, (parts, i) if cut else None) for i in range(parts)]
    return _core.data.shards_in_turn(shards, batch), batch * parts


def _part(dataset, shard):
    rows = dataset.rows(shard)
    return rows if dataset._batch_size is not None else rows.unbatch()


class NetworkJob:
    """A network of cells as a model of the library. States stay with it; parameters of Python get them back. A loss of
    several elements is minimised as their sum, in each of the `batches` that a global batch is made of, and these on
    average; what is reported is the mean."""

    def __init__(self, name, outputs, loss, options, alone, optimizer=None, groups=1, batches=1):
        self._groups, self._batches = groups, batches
        self.losses = 1  # that a training minimises the sum of, where the loss has several elements
        self._outputs, self._loss = outputs, loss
        self._trained = None if optimizer is None else {one.name for one in optimizer.parameters}
        self._build = None
        self._parameters, self._given = {}, set()
        texts = context.option_texts(options)
        update = optimizer.add_update if optimizer is not None and optimizer.adds_updates else None
        cuts = None if alone else strategy.cuts_to_load()
        self.core = _core.Model(name, self._forward, self._minimised if loss else None, texts, alone, update, cuts)

    def _forward(self, trace, column, _):
        self._build = _trace.Build(trace, trace.training, self._trained, self._groups)
        with self._build:
            named = self._outputs(lambda name: _trace.from_symbol(column(name)))
        self._learn()
        return [(name, _symbol("construct", value)) for name, value in named]

    def _minimised(self, trace, column, outputs):
        build = self._build
        build.scope = "loss"
        with build:
            loss = self._loss(
                lambda name: _trace.from_symbol(column(name)),
                {name: _trace.from_symbol(symbol) for name, symbol in outputs},
            )
            if isinstance(loss, tuple):
                loss = loss[0]
            if isinstance(loss, Tensor) and loss.ndim > 0:
                losses = loss.size
                loss = loss.mean() if losses > 1 else loss.reshape(())
                if build.training and losses > self._batches:
                    self.losses = losses / self._batches
                    loss = loss * self.losses
        self._learn()
        return [("loss", _symbol("loss", loss))]

    def _learn(self):
        """Knows the parameters and captured tensors of the program; those that `give` did not know get their values,
        which the library reads when the program is made."""
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
        """Of Python, by their names in the program."""
        return {name: one for name, one in self._parameters.items() if one.is_parameter}

    def take(self):
        """Parameters of Python get what a call has made of them; gives the other states by their names."""
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
    raise TypeError(f"[{where}] the result is no tensor, got {type(value).__name__}, expected a Tensor")
