"""Collectives of processes that write their results into tensors that are given, and groups of processes. Groups are
names; None is the group of all ranks."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from partita._names import refuse_missing
from partita.common.tensor import Tensor
from partita.communication import comm_func, management
from partita.communication.comm_func import CommHandle
from partita.ops import functional as F

_OPS = ("sum", "prod", "max", "min", "avg")


def _group(group):
    return management.GlobalComm.WORLD_COMM_GROUP if group is None else group


def _ranks(group):
    return management.get_process_group_ranks(_group(group))


def _own(where, group):
    """The place of this process in a group. Raises RuntimeError if it is not in it."""
    place = get_rank(group)
    if place < 0:
        raise RuntimeError(f"[{where}] this process is not in the group, got '{group}', expected one of its ranks")
    return place


def _place_of(where, rank, group):
    ranks = _ranks(group)
    if rank not in ranks:
        raise ValueError(f"[{where}] the rank is not in the group, got {rank}, expected one of {ranks}")
    return ranks.index(rank)


def _ended(async_op):
    return CommHandle() if async_op else None


def _write(where, target, value):
    if tuple(target.shape) != tuple(value.shape):
        raise ValueError(
            f"[{where}] the tensor for the result has another shape, got {target.shape}, expected {value.shape}"
        )
    target.copy_(value)


def _gathered(tensor, group):
    """[ranks, ..]: the tensors of all ranks, which have one shape."""
    rows = F.reshape(tensor, [1, *tensor.shape])
    return comm_func.all_gather_into_tensor(rows, _group(group))[0]


def _combined(where, tensor, op, group):
    """The tensors of all ranks, combined element by element."""
    if op not in _OPS:
        raise ValueError(f"[{where}] unknown op, got {op!r}, expected one of {_OPS}")
    if op == "prod":
        return F.cast(F.prod(_gathered(tensor, group), 0), tensor.dtype)
    total = comm_func.all_reduce(tensor, "sum" if op == "avg" else op, _group(group))[0]
    return F.cast(F.div(total, len(_ranks(group))), tensor.dtype) if op == "avg" else total


def is_available() -> bool:
    """Whether there is communication: it is always there."""
    return True


def is_initialized() -> bool:
    """Whether communication has begun."""
    return management.GlobalComm.INITED


def init_process_group(
    backend: str = "hccl",
    init_method: str | None = None,
    timeout: int | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: int | None = None,
) -> None:
    """Begins communication of the processes that a launcher started: see msrun. Raises ValueError for another number of
    processes, or another rank, than the launcher's."""
    management.init(backend)
    for name, given, known in (("world_size", world_size, get_world_size()), ("rank", rank, get_rank())):
        if given not in (-1, known):
            raise ValueError(f"[init_process_group] the launcher has another {name}, got {given}, expected {known}")


def destroy_process_group(group: str | None = None) -> None:
    """Forgets a group; without one it ends communication."""
    if group is None or group in management._WORLDS:
        management.release()
    else:
        management.destroy_group(group)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: int | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> str:
    """The name of a group of ranks of the world, or of all ranks. Every process calls it for the same groups in the
    same order."""
    if ranks is None:
        return _group(None)
    ranks = list(ranks)
    name = "group_" + "_".join(map(str, ranks))
    management.create_group(name, ranks)
    return name


def get_backend(group: str | None = None) -> str:
    """The name of the library of a group."""
    _ranks(group)
    return management.GlobalComm.BACKEND


def get_rank(group: str | None = None) -> int:
    """The rank of this process in a group, by its name, from 0; -1 if it is not in it. Without a group that of all
    ranks."""
    ranks, own = _ranks(group), management.get_rank()
    return ranks.index(own) if own in ranks else -1


def get_world_size(group: str | None = None) -> int:
    """Number of ranks of a group, by its name, -1 if this process is not in it. Without a group that of all ranks."""
    return len(_ranks(group)) if get_rank(group) >= 0 else -1


def get_global_rank(group: str, group_rank: int) -> int:
    """The rank in the world of a rank of a group."""
    return management.get_world_rank_from_group_rank(_group(group), group_rank)


def get_group_rank(group: str, global_rank: int) -> int:
    """The rank in a group of a rank of the world."""
    return management.get_group_rank_from_world_rank(global_rank, _group(group))


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The ranks of a group."""
    return _ranks(group)


def barrier(
    group: str | None = None, async_op: bool = False, device_ids: Sequence[int] | None = None
) -> CommHandle | None:
    """Returns when all ranks of the group have called it."""
    comm_func.barrier(_group(group))
    return _ended(async_op)


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Combines the tensors of all ranks, which have one shape, element by element, in place: "sum", "prod", "max",
    "min" or "avg". Raises ValueError for another op."""
    _write("all_reduce", tensor, _combined("all_reduce", tensor, op, group))
    return _ended(async_op)


def reduce(
    tensor: Tensor, dst: int, op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """`all_reduce` for the rank `dst` of the world; the tensors of others stay."""
    place = _place_of("reduce", dst, group)
    made = _combined("reduce", tensor, op, group)
    if _own("reduce", group) == place:
        _write("reduce", tensor, made)
    return _ended(async_op)


def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Writes the tensor of the rank `src` of the world into those of all."""
    _write("broadcast", tensor, comm_func.broadcast(tensor, src, _group(group)))
    return _ended(async_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensors of all ranks, which have one shape, into those of a list, in the order of the ranks. Raises
    ValueError for tensors of another shape."""
    made = _gathered(tensor, group)
    for i, one in enumerate(tensor_list):
        _write("all_gather", one, made[i])
    return _ended(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensors of all ranks, along the first dimension, into one."""
    _write("all_gather_into_tensor", output_tensor, comm_func.all_gather_into_tensor(input_tensor, _group(group))[0])
    return _ended(async_op)


def _rows_of(tensor, sizes, group):
    """The rows of all ranks, of which each has as many as `sizes` says, in a list."""
    most = max(sizes)
    rows = F.reshape(tensor, [tensor.shape[0], -1])
    wide = F.pad(rows, (0, 0, 0, most - rows.shape[0])) if rows.shape[0] < most else rows
    made = _gathered(wide, group)
    return [F.reshape(made[i][:count], [count, *tensor.shape[1:]]) for i, count in enumerate(sizes)]


def _counts(where, given, rows, group):
    """The numbers of rows of ranks: those that are given, or equal ones."""
    count = len(_ranks(group))
    if given is None:
        if rows % count:
            raise ValueError(f"[{where}] rows do not divide, got {rows} for {count} ranks, expected a multiple")
        return [rows // count] * count
    if len(given) != count or sum(given) != rows:
        raise ValueError(
            f"[{where}] bad sizes, got {list(given)} for {rows} rows, expected {count} that add up to them"
        )
    return list(given)


def all_gather_into_tensor_uneven(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Writes the rows of all ranks into one tensor; ranks may have different numbers of them."""
    where = "all_gather_into_tensor_uneven"
    sizes = _counts(where, output_split_sizes, output.shape[0], group)
    _write(where, output, F.concat([one for one in _rows_of(input, sizes, group) if one.shape[0]], 0))
    return _ended(async_op)


def _own_rows(where, total, sizes, group):
    place = _own(where, group)
    begin = sum(sizes[:place])
    return total[begin : begin + sizes[place]]


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Writes this rank's part, along the first dimension, of the combined tensors."""
    return reduce_scatter_tensor_uneven(output, input, None, op, group, async_op)


def reduce_scatter_tensor_uneven(
    output: Tensor,
    input: Tensor,
    input_split_sizes: Sequence[int] | None = None,
    op: str = "sum",
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Writes this rank's rows of the combined tensors; ranks may get different numbers of them."""
    where = "reduce_scatter_tensor"
    sizes = _counts(where, input_split_sizes, input.shape[0], group)
    if op in ("sum", "max", "min") and len(set(sizes)) == 1:
        made = comm_func.reduce_scatter_tensor(input, op, _group(group))[0]
    else:
        made = _own_rows(where, _combined(where, input, op, group), sizes, group)
    _write(where, output, made)
    return _ended(async_op)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: str = "sum", group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensor of this rank's place in the lists of all ranks, combined."""
    where = "reduce_scatter"
    if len({one.shape for one in input_list}) == 1:
        made = _combined(where, F.stack(input_list, 0), op, group)[_own(where, group)]
    else:
        made = [_combined(where, one, op, group) for one in input_list][_own(where, group)]
    _write(where, output, made)
    return _ended(async_op)


def gather(
    tensor: Tensor, gather_list: list[Tensor], dst: int = 0, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensors of all ranks into a list of the rank `dst` of the world."""
    place, made = _place_of("gather", dst, group), _gathered(tensor, group)
    if _own("gather", group) == place:
        for i, one in enumerate(gather_list):
            _write("gather", one, made[i])
    return _ended(async_op)


def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor], src: int = 0, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Writes the tensor of this rank's place in the list of the rank `src` of the world."""
    place, own = _place_of("scatter", src, group), _own("scatter", group)
    count = len(_ranks(group))
    given = F.stack(scatter_list, 0) if own == place else F.zeros([count, *tensor.shape], tensor.dtype)
    _write("scatter", tensor, comm_func.broadcast(given, src, _group(group))[own])
    return _ended(async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Writes the rows that each rank has for this one. Every rank has as many rows for each as `input_split_sizes`
    says, and gets as many as `output_split_sizes` says; without these equal numbers."""
    where = "all_to_all_single"
    sizes = _counts(where, input_split_sizes, input.shape[0], group)
    own = _own(where, group)
    table = _gathered(Tensor(np.array(sizes, np.int64)), group).asnumpy()  # [from, to]
    expected = _counts(where, output_split_sizes, output.shape[0], group)
    if table[:, own].tolist() != expected:
        raise ValueError(f"[{where}] other rows arrive, got sizes {expected}, expected {table[:, own].tolist()}")
    parts = []
    for rows, counts in zip(_rows_of(input, table.sum(1).tolist(), group), table.tolist()):
        begin = sum(counts[:own])
        if counts[own]:
            parts.append(rows[begin : begin + counts[own]])
    if parts:
        _write(where, output, F.concat(parts, 0))
    return _ended(async_op)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Writes the tensor that each rank has for this one into a list."""
    flat = F.concat([F.reshape(one, [-1]) for one in input_tensor_list], 0)
    sizes = [one.size for one in output_tensor_list]
    output = F.zeros([sum(sizes)], flat.dtype)
    all_to_all_single(output, flat, sizes, [one.size for one in input_tensor_list], group)
    for one, values in zip(output_tensor_list, F.split(output, sizes, 0)):
        _write("all_to_all", one, F.reshape(values, one.shape))
    return _ended(async_op)


# Objects, as the bytes that pickle makes of them.


def _all_bytes(value, group):
    """The bytes of all ranks, in a list."""
    data = Tensor(np.frombuffer(value, np.uint8).astype(np.int32))
    sizes = _gathered(Tensor(np.array([data.size], np.int64)), group).asnumpy().reshape(-1).tolist()
    return [one.asnumpy().astype(np.uint8).tobytes() for one in _rows_of(data, sizes, group)]


def _all_objects(value, group):
    return [pickle.loads(one) for one in _all_bytes(pickle.dumps(value), group)]


def all_gather_object(object_list: list, obj: Any, group: str | None = None) -> None:
    """Writes the objects of all ranks, which can be pickled, into a list."""
    object_list[:] = _all_objects(obj, group)


def gather_object(obj: Any, object_gather_list: list | None = None, dst: int = 0, group: str | None = None) -> None:
    """Writes the objects of all ranks into a list of the rank `dst` of the world."""
    place, made = _place_of("gather_object", dst, group), _all_objects(obj, group)
    if _own("gather_object", group) == place:
        object_gather_list[:] = made


def broadcast_object_list(object_list: list, src: int = 0, group: str | None = None, device: str | None = None) -> None:
    """Writes the objects of a list of the rank `src` of the world into those of all."""
    place = _place_of("broadcast_object_list", src, group)
    mine = list(object_list) if _own("broadcast_object_list", group) == place else None
    object_list[:] = _all_objects(mine, group)[place]


def scatter_object_list(
    scatter_object_output_list: list, scatter_object_input_list: list, src: int = 0, group: str | None = None
) -> None:
    """Writes the object of this rank's place in a list of the rank `src` of the world into the first place of a
    list."""
    place, own = _place_of("scatter_object_list", src, group), _own("scatter_object_list", group)
    made = _all_objects(scatter_object_input_list if own == place else None, group)[place]
    scatter_object_output_list[0] = made[own]


def _refused(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"[{name}] messages between two ranks are not supported, got a call, expected a collective of the group, "
            "such as broadcast or all_to_all_single"
        )

    refuse.__name__ = name
    refuse.__doc__ = "Not there: messages between two ranks are those of pipeline stages."
    return refuse


for _name in "P2POp batch_isend_irecv irecv isend recv recv_object_list send send_object_list".split():
    globals()[_name] = _refused(_name)

__getattr__ = refuse_missing(globals())
