"""Collectives on tensors at once, among processes. Alone a process is a group of one."""

from __future__ import annotations

import numpy as np

from partita import _core
from partita._names import refuse_missing
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.communication.management import GlobalComm, _ranks_of, core_group, get_rank, is_process

_WORLD = GlobalComm.WORLD_COMM_GROUP
_OPS = ("sum", "max", "min")


class CommHandle:
    """Handle of a collective that is already complete: `wait` returns immediately."""

    def wait(self) -> None:
        pass


class ReduceOp:
    """How a collective combines the elements of ranks."""

    SUM, MAX, MIN, PROD = "sum", "max", "min", "prod"


def _group(where, group):
    ranks = _ranks_of(where, group)
    if not is_process() and len(ranks) > 1:
        raise RuntimeError(
            f"[{where}] ranks are threads of one process, got a collective of the script, expected processes "
            "under a launcher"
        )
    return ranks


def _tensor(where, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"[{where}] not a tensor, got {type(tensor).__name__}, expected a Tensor")
    return tensor.array


def _result(array, async_op):
    return Tensor(array), CommHandle() if async_op else None


def barrier(group: str = _WORLD) -> None:
    """Returns when all ranks of the group have called it. Collectives raise RuntimeError if the ranks are threads of
    this process."""
    _group("barrier", group)
    _core.collective("barrier", core_group(group), None, "sum", 0)


def all_reduce(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = _WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """Returns (result, handle). The result combines the tensors of all ranks element by element. The handle is None
    unless `async_op`. Raises ValueError for an unknown `op`, TypeError if `tensor` is no Tensor."""
    if op not in _OPS:
        raise ValueError(f"[all_reduce] unknown op, got {op!r}, expected one of {_OPS}")
    _group("all_reduce", group)
    return _result(_core.collective("all_reduce", core_group(group), _tensor("all_reduce", tensor), op, 0), async_op)


def all_gather_into_tensor(
    tensor: Tensor, group: str = _WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """Returns (result, handle). The result has the tensors of all ranks, in the order of the group, concatenated along
    the first dimension. The handle is None unless `async_op`. Raises TypeError if `tensor` is no Tensor."""
    _group("all_gather_into_tensor", group)
    array = _core.collective("all_gather", core_group(group), _tensor("all_gather_into_tensor", tensor), "sum", 0)
    return _result(array, async_op)


def reduce_scatter_tensor(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = _WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """Returns (result, handle). The result is this rank's part, along the first dimension, of the combined tensors:
    [n, ..] becomes [n / ranks, ..]. The handle is None unless `async_op`. Raises ValueError for an unknown `op`, or if
    the ranks do not divide n."""
    if op not in _OPS:
        raise ValueError(f"[reduce_scatter_tensor] unknown op, got {op!r}, expected one of {_OPS}")
    ranks = _group("reduce_scatter_tensor", group)
    if not tensor.shape or tensor.shape[0] % len(ranks):
        raise ValueError(
            f"[reduce_scatter_tensor] parts are not equal, got shape {tensor.shape} for {len(ranks)} ranks, "
            "expected a multiple"
        )
    return _result(
        _core.collective("reduce_scatter", core_group(group), _tensor("reduce_scatter_tensor", tensor), op, 0), async_op
    )


def broadcast(tensor: Tensor, src: int = 0, group: str = _WORLD) -> Tensor:
    """Returns the tensor of rank `src`, a rank of the world, on all ranks of the group. Raises ValueError if `src` is
    not in the group."""
    ranks = _group("broadcast", group)
    if src not in ranks:
        raise ValueError(f"[broadcast] rank is not in the group, got {src}, expected one of {ranks}")
    return Tensor(
        _core.collective("broadcast", core_group(group), _tensor("broadcast", tensor), "sum", ranks.index(src))
    )


def _place_of(where, rank, group):
    ranks = _group(where, group)
    if rank not in ranks:
        raise ValueError(f"[{where}] rank is not in the group, got {rank}, expected one of {ranks}")
    return ranks.index(rank)


def _own(group):
    """The place of this process in a group."""
    return _ranks_of("rank", group).index(get_rank())


def _no_result(tensor):
    """The result of other ranks: one element, which has no meaning."""
    return Tensor(np.zeros(1), tensor.dtype)


def reduce(tensor, dst, op=ReduceOp.SUM, group=_WORLD):
    """Returns what combines the tensors of all ranks element by element, on rank `dst`, a rank of the world; on others
    a tensor of one 0. Raises ValueError if `dst` is not in the group, or for an unknown `op`."""
    place, made = _place_of("reduce", dst, group), all_reduce(tensor, op, group)[0]
    return made if _own(group) == place else _no_result(tensor)


def gather_into_tensor(tensor, dst=0, group=_WORLD):
    """Returns the tensors of all ranks concatenated along the first dimension, on rank `dst`, a rank of the world; on
    others a tensor of one 0. Raises ValueError if `dst` is not in the group."""
    place, made = _place_of("gather_into_tensor", dst, group), all_gather_into_tensor(tensor, group)[0]
    return made if _own(group) == place else _no_result(tensor)


def scatter_tensor(tensor, src=0, group=_WORLD):
    """Returns this rank's part, along the first dimension, of the tensor of rank `src`, a rank of the world: [n, ..]
    becomes [n / ranks, ..]. Tensors of others are of the same shape. Raises ValueError if the ranks do not divide n."""
    ranks = len(_group("scatter_tensor", group))
    if not tensor.shape or tensor.shape[0] % ranks:
        raise ValueError(
            f"[scatter_tensor] parts are not equal, got shape {tensor.shape} for {ranks} ranks, expected a multiple"
        )
    whole, rows = broadcast(tensor, src, group), tensor.shape[0] // ranks
    return whole[_own(group) * rows : (_own(group) + 1) * rows]


def exchanged(tensor, split_count, split_dim, concat_dim, group=_WORLD):
    """Returns the parts for this rank of the tensors of all ranks, which are cut along `split_dim`, concatenated along
    `concat_dim`. Raises ValueError unless there are as many equal parts as ranks."""
    ranks = len(_group("AlltoAll", group))
    if split_count != ranks or tensor.shape[split_dim] % ranks:
        raise ValueError(
            f"[AlltoAll] parts are not those of ranks, got {split_count} of {tensor.shape} along {split_dim}, "
            f"expected {ranks} equal ones"
        )
    if tensor.dtype == mstype.bfloat16:  # which NumPy lacks
        return exchanged(tensor.astype(mstype.float32), split_count, split_dim, concat_dim, group).astype(tensor.dtype)
    rows = all_gather_into_tensor(tensor.reshape(1, *tensor.shape), group)[0]
    size = tensor.shape[split_dim] // ranks
    cut = [slice(None)] * tensor.ndim
    cut[split_dim] = slice(_own(group) * size, (_own(group) + 1) * size)
    parts = [rows[i][tuple(cut)].asnumpy() for i in range(ranks)]
    return Tensor(np.concatenate(parts, concat_dim), tensor.dtype)


def _later(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"[{name}] messages between two ranks are not supported, got a call, expected a collective of the group"
        )

    refuse.__name__ = name
    refuse.__doc__ = "Not there: raises NotImplementedError. Use a collective of the group, such as `all_reduce`."
    return refuse


for _name in (
    "send",
    "recv",
    "isend",
    "irecv",
    "batch_isend_irecv",
    "all_to_all_single_with_output_shape",
    "all_to_all_with_output_shape",
    "P2POp",
):
    globals()[_name] = _later(_name)

__getattr__ = refuse_missing(globals())
