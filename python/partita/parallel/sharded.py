"""How the inputs and results of a function or a cell are cut."""

from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.ops import functional as F
from partita.parallel.layout import annotation_text


class _Sharded(Cell):
    """A function whose inputs pass through nodes that are annotated."""

    def __init__(self, function, in_strategy, out_strategy, parameter_plan):
        super().__init__(auto_prefix=False)
        if parameter_plan:
            raise NotImplementedError(
                "[shard] cuts of parameters, got parameter_plan, expected None: they follow from the cuts of ops"
            )
        if not isinstance(in_strategy, tuple):
            raise TypeError(
                f"[shard] in_strategy is no tuple, got {type(in_strategy).__name__}, expected one entry for each input"
            )
        if isinstance(function, Cell):
            self.network = function
        else:
            self.__dict__["network"] = function
        self.in_strategy, self.out_strategy = in_strategy, out_strategy

    def construct(self, *args):
        if len(args) != len(self.in_strategy):
            raise ValueError(f"[shard] strategies for other inputs, got {len(self.in_strategy)}, expected {len(args)}")
        cut = [_cut(one, strategy) for one, strategy in zip(args, self.in_strategy)]
        result = self.network(*cut)
        if self.out_strategy is None:
            return result
        several = isinstance(result, tuple)
        results = result if several else (result,)
        outs = self.out_strategy if several else self.out_strategy[:1]
        made = tuple(_cut(one, strategy) for one, strategy in zip(results, outs))
        return made if several else made[0]


def _cut(value, strategy):
    """The value through a node that does nothing, and is cut so."""
    if not isinstance(value, Tensor) or strategy is None:
        return value
    same = F.run(lambda trace, x: F.F.reshape(x, list(value.shape)), value)
    if same._symbol is not None:
        same._symbol.annotate(annotation_text("shard", (strategy,)))
    return same


def shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device="Ascend", level=0):
    """A function whose inputs, and perhaps results, are cut as the strategies say: one for each, None for any."""
    return _Sharded(fn, in_strategy, out_strategy, parameter_plan)


sharded_cell = _Sharded
