"""How the inputs and results of a function or a cell are cut."""

from partita.nn.cell import Sharded


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    """A function whose inputs, and perhaps results, are cut as the strategies say: one for each, None for any."""
    return Sharded(fn, in_strategy, out_strategy, parameter_plan)
