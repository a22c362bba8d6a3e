"""The calls about ranks and groups that the tutorial of r1.7 names: mpirun -n 8 python3 group_calls.py"""
from partita import context
from partita.communication import (create_group, destroy_group, get_group_rank_from_world_rank, get_group_size,
                                   get_local_rank, get_local_rank_size, get_rank, get_world_rank_from_group_rank, init)

if __name__ == "__main__":
    context.set_context(mode=context.GRAPH_MODE, device_target="GPU")
    init("nccl")
    rank, size = get_rank(), get_group_size()
    assert 0 <= get_local_rank() < get_local_rank_size() <= size
    halves = [list(range(0, size, 2)), list(range(1, size, 2))]
    for name, ranks in zip(("even", "odd"), halves):
        create_group(name, ranks)
    group = ("even", "odd")[rank % 2]
    assert get_group_size(group) == len(halves[rank % 2])
    assert get_world_rank_from_group_rank(group, get_rank(group)) == rank
    assert get_group_rank_from_world_rank(rank, group) == get_rank(group) == rank // 2
    for name in ("even", "odd"):
        destroy_group(name)
    print(f"rank {rank} of {size}: {get_local_rank()} of {get_local_rank_size()} here", flush=True)
