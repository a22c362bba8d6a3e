"""How the context of a script shares the work over ranks, as options of a job of the library."""

from partita import context
from partita._warnings import warn
from partita.common import seed as _seed
from partita.communication import management as ranks

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
        if self.alone and not ranks.is_process() and ranks.ranks_of_job() > 1:
            warn(
                f"[set_auto_parallel_context] the script runs on one rank, got {ranks.ranks_of_job()} ranks and "
                "parallel_mode stand_alone, expected another mode, such as data_parallel"
            )
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
            "ranks.deterministic": context.get_context("deterministic") == "ON",
            "ranks.device": context.device_option(self.alone),
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
                f"[pipeline_config] unknown order of micro-batches, got '{order}', expected gpipe or 1f1b"
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
