"""Collectives as ops: at once, among processes. What networks communicate follows from how they are cut."""

from __future__ import annotations

from partita import _trace, context
from partita.common.tensor import NeedsSteps, Tensor
from partita.communication import comm_func
from partita.communication.comm_func import ReduceOp  # noqa: F401  # its name in the documented module
from partita.communication.management import GlobalComm, _ranks_of, group_size_or_one
from partita.ops.primitive import Primitive

_WORLD = GlobalComm.WORLD_COMM_GROUP


class _Collective(Primitive):
    def __init__(self, group=_WORLD):
        super().__init__()
        self.group = group

    def __call__(self, x):
        if _trace.current() is not None:
            if self.is_done_in_programs():
                return x
            x = self._given(x)
        result = self.collective(comm_func, x)
        return result[0] if isinstance(result, tuple) else result

    def _given(self, x):
        """The value of an operand that a program was called with. Raises NeedsSteps where its Python does not run in
        every step, RuntimeError for what a network computes."""
        build = _trace.current()
        symbol = getattr(x, "_symbol", None)
        if not build.is_recorded:
            raise NeedsSteps(f"[{self.name}] a program that is traced once cannot call collectives, got a call in it")
        if symbol is not None and getattr(symbol, "slot", 0) >= 0:
            raise RuntimeError(
                f"[{self.name}] a network cannot call collectives, got a call in construct, expected none: what ranks "
                "communicate follows from how ops are cut"
            )
        return Tensor._from_array(x.array.copy())

    def is_done_in_programs(self):
        """Whether operands within programs have what the collective would give."""
        return len(_ranks_of(self.name, self.group)) == 1


class AllReduce(_Collective):
    """AllReduce(op, group)(x): the elements of all ranks, combined, in the shape of x. Within programs only sums over
    stages: what the last stage has there, all ranks have here. Raises RuntimeError before communication is initialised,
    and in `construct` of a network on several ranks."""

    def __init__(self, op: str = "sum", group: str = _WORLD) -> None:
        super().__init__(group)
        self.op = op

    def collective(self, functions, x):
        return functions.all_reduce(x, self.op, self.group)

    def is_done_in_programs(self):
        ranks, stages = _ranks_of(self.name, self.group), context.get_auto_parallel_context("pipeline_stages")
        if len(ranks) == 1 or self.op != "sum" or stages == 1 or len(ranks) != stages:
            return len(ranks) == 1
        within = group_size_or_one() // stages  # ranks of a stage
        return len({rank % within for rank in ranks}) == 1 and len({rank // within for rank in ranks}) == stages


class AllGather(_Collective):
    """AllGather(group)(x): the tensors of all ranks along the first dimension, whose size is multiplied by their
    number. Raises RuntimeError before communication is initialised, and in `construct` of a network on several ranks.
    """

    def __init__(self, group: str = _WORLD) -> None:
        super().__init__(group)

    def collective(self, functions, x):
        return functions.all_gather_into_tensor(x, self.group)


class ReduceScatter(_Collective):
    """ReduceScatter(op, group)(x): this rank's part of the first dimension of what is combined; its size is divided by
    the number of ranks. Raises RuntimeError before communication is initialised, and in `construct` of a network on
    several ranks."""

    def __init__(self, op: str = "sum", group: str = _WORLD) -> None:
        super().__init__(group)
        self.op = op

    def collective(self, functions, x):
        return functions.reduce_scatter_tensor(x, self.op, self.group)


class Broadcast(_Collective):
    """Broadcast(root_rank, group)(x): the tensor of one rank on all, in its shape; tensors may be given in a tuple.
    Raises RuntimeError before communication is initialised, and in `construct` of a network on several ranks."""

    def __init__(self, root_rank: int, group: str = _WORLD) -> None:
        super().__init__(group)
        self.root_rank = root_rank

    def collective(self, functions, x):
        if isinstance(x, tuple):
            return ([functions.broadcast(one, self.root_rank, self.group) for one in x],)
        return functions.broadcast(x, self.root_rank, self.group)


class Reduce(_Collective):
    """The elements of all ranks, combined, on rank `dest_rank`; on others a tensor of one 0."""

    def __init__(self, dest_rank, op="sum", group=_WORLD):
        super().__init__(group)
        self.dest_rank, self.op = dest_rank, op

    def collective(self, functions, x):
        return functions.reduce(x, self.dest_rank, self.op, self.group)


class CollectiveGather(_Collective):
    """The tensors of all ranks along the first dimension, on rank `dest_rank`; on others a tensor of one 0."""

    def __init__(self, dest_rank, group=_WORLD):
        super().__init__(group)
        self.dest_rank = dest_rank

    def collective(self, functions, x):
        return functions.gather_into_tensor(x, self.dest_rank, self.group)


class CollectiveScatter(_Collective):
    """This rank's part, along the first dimension, of the tensor of rank `src_rank`."""

    def __init__(self, src_rank=0, group=_WORLD):
        super().__init__(group)
        self.src_rank = src_rank

    def collective(self, functions, x):
        return functions.scatter_tensor(x, self.src_rank, self.group)


class AlltoAll(_Collective):
    """The parts for this rank of the tensors of all: each is cut into `split_count` parts along `split_dim`, of which
    rank i gets the i-th; what comes is concatenated along `concat_dim`. Raises ValueError unless there are as many
    parts as ranks."""

    def __init__(self, split_count, split_dim, concat_dim, group=_WORLD):
        super().__init__(group)
        self.split_count, self.split_dim, self.concat_dim = split_count, split_dim, concat_dim

    def collective(self, functions, x):
        return functions.exchanged(x, self.split_count, self.split_dim, self.concat_dim, self.group)


class Barrier(Primitive):
    """Returns when all ranks of the group have called it."""

    def __init__(self, group=_WORLD):
        super().__init__()
        self.group = group

    def __call__(self):
        if len(_ranks_of(self.name, self.group)) > 1:
            comm_func.barrier(self.group)


class _Message(Primitive):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f"[{type(self).__name__}] messages between two ranks are not supported, got an op, expected pipeline "
            "stages, which send what they need"
        )


class Send(_Message):
    """Not there yet: messages between two ranks, of any shape. Raises NotImplementedError when it is made."""


class Receive(_Message):
    """Not there yet: messages between two ranks, of any shape. Raises NotImplementedError when it is made."""
