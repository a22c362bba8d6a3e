"""The ranks of the job: processes that a launcher started, or threads of this process (`set_context(ranks=8)`)."""

from __future__ import annotations

from partita import _core, _ranks, context
from partita._names import refuse_missing

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_COMM_GROUP = "mccl_world_group"
_WORLDS = (HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP, MCCL_WORLD_COMM_GROUP)
_BACKENDS = ("hccl", "nccl", "mccl")

_groups = {}


class GlobalComm:
    """The group of all ranks, WORLD_COMM_GROUP, the name of the backend, and whether `init` was called, INITED."""

    BACKEND = "mccl"
    WORLD_COMM_GROUP = MCCL_WORLD_COMM_GROUP
    INITED = False


def init(backend_name: str | None = None) -> None:
    """Begins communication: ranks are then processes that a launcher such as `python -m partita.msrun` started, or one
    alone. The name of a library, "hccl", "nccl" or "mccl", is accepted and has no effect: ranks of one host communicate
    through shared memory, others as their launcher has it. Raises ValueError for another name."""
    if backend_name is not None and backend_name not in _BACKENDS:
        raise ValueError(f"[init] unknown backend, got {backend_name!r}, expected one of {_BACKENDS}")
    _core.this_place()  # refuses a launcher's numbers that make no sense
    _ranks.set_begun(True)
    GlobalComm.INITED = True


def release() -> None:
    """Ends communication; groups are gone. Raises RuntimeError before `init`."""
    _require_init("release")
    _groups.clear()
    _ranks.set_begun(False)
    GlobalComm.INITED = False


def in_process_ranks():
    """Ranks that are threads of this process."""
    return _ranks.in_process(context.get_context("ranks"))


is_process = _ranks.is_process


def group_size_or_one():
    """The number of ranks; 1 before init."""
    return _ranks.group_size_or_one(context.get_context("ranks"))


def ranks_of_job():
    """The number of ranks that share a computation. Processes that a launcher started begin communication first."""
    if is_process():
        _require_init("train")
    return group_size_or_one()


def _require_init(where):
    if not _ranks.is_begun():
        raise RuntimeError(
            f"[{where}] communication is not initialised, got a call before init(), expected init() first"
        )


def _ranks_of(where, group):
    _require_init(where)
    if group in _WORLDS:
        return list(range(group_size_or_one()))
    if not isinstance(group, str):
        raise TypeError(f"[{where}] the group is not a name, got {type(group).__name__}, expected str")
    if group not in _groups:
        near = _core.nearest(group, list(_groups))
        raise ValueError(
            f"[{where}] unknown group, got '{group}', expected one that create_group made"
            + (f", did you mean '{near}'?" if near else "")
        )
    return _groups[group]


def core_group(group):
    """The name of a group in the library, which has no others in a process alone."""
    return "world" if group in _WORLDS or not is_process() else group


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The rank of this process in the group, from 0. Ranks that are threads of one process are all run by its rank 0.
    Raises RuntimeError before `init`, or if the process is not in the group, ValueError for an unknown group."""
    ranks = _ranks_of("get_rank", group)
    rank = _core.this_place().rank
    if rank not in ranks:
        raise RuntimeError(
            f"[get_rank] rank {rank} is not in the group, got '{group}' of ranks {ranks}, expected one of its ranks"
        )
    return ranks.index(rank)


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """Number of ranks of the group, by default of all. Raises RuntimeError before `init`, ValueError for an unknown
    group."""
    return len(_ranks_of("get_group_size", group))


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The rank of this process among those of its host, from 0. Raises RuntimeError before `init`."""
    _ranks_of("get_local_rank", group)
    return _core.this_place().local_rank


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """Number of ranks of the job on this host. Raises RuntimeError before `init`."""
    _ranks_of("get_local_rank_size", group)
    place = _core.this_place()
    return place.local_ranks if place.ranks > 1 else in_process_ranks()


get_local_size = get_local_rank_size


def get_world_rank_from_group_rank(group: str, group_rank_id: int) -> int:
    """The rank in the world of a rank of the group. Raises ValueError if the group has no such rank."""
    ranks = _ranks_of("get_world_rank_from_group_rank", group)
    if not 0 <= group_rank_id < len(ranks):
        raise ValueError(
            f"[get_world_rank_from_group_rank] rank out of range, got {group_rank_id}, expected 0 to {len(ranks) - 1}"
        )
    return ranks[group_rank_id]


def get_group_rank_from_world_rank(world_rank_id: int, group: str) -> int:
    """The rank in the group of a rank of the world. Raises ValueError if the rank is not in the group."""
    ranks = _ranks_of("get_group_rank_from_world_rank", group)
    if world_rank_id not in ranks:
        raise ValueError(
            f"[get_group_rank_from_world_rank] rank is not in the group, got {world_rank_id}, expected one of {ranks}"
        )
    return ranks.index(world_rank_id)


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """The ranks of the group."""
    return list(_ranks_of("get_process_group_ranks", group))


def create_group(group: str, rank_ids: list[int], options=None) -> None:
    """Makes a group `group` of ranks of the world, a list in the order given. Every process makes the same groups in
    the same order, whether it is in them or not. Raises TypeError for what is no name or no list, ValueError for ranks
    that are none or stand twice, or for a name with other ranks, RuntimeError before `init`."""
    _require_init("create_group")
    if not isinstance(group, str) or not group:
        raise TypeError(f"[create_group] the group name is not a string, got {group!r}, expected str")
    if not isinstance(rank_ids, list):
        raise TypeError(f"[create_group] the ranks are not a list, got {type(rank_ids).__name__}, expected list")
    size = group_size_or_one()
    if not rank_ids or len(set(rank_ids)) != len(rank_ids) or any(not 0 <= rank < size for rank in rank_ids):
        raise ValueError(f"[create_group] bad ranks, got {rank_ids}, expected ranks of 0 to {size - 1}, each once")
    if group in _groups and _groups[group] != rank_ids:
        raise ValueError(
            f"[create_group] a group of this name has other ranks, got {rank_ids}, expected {_groups[group]}"
        )
    if is_process() and group not in _groups:
        _core.create_group(group, list(rank_ids))
    _groups[group] = list(rank_ids)


def destroy_group(group: str) -> None:
    """Forgets a group. Raises ValueError for the group of all ranks, and for an unknown one."""
    if group in _WORLDS:
        raise ValueError(
            f"[destroy_group] the group of all ranks cannot be destroyed, got '{group}', expected one that "
            "create_group made"
        )
    _ranks_of("destroy_group", group)
    if is_process():
        _core.destroy_group(group)
    del _groups[group]


__getattr__ = refuse_missing(globals())
