"""Ranks, and groups of them: who a process is, and sums over a part of the processes.

    mpirun -n 4 python3 ranks_and_groups.py      # or by any script of ../launch

Prints a line for each process. Its sum over the even, or the odd, ranks must be that of their numbers.
"""

import sys

import numpy as np

import partita as ms
from partita import communication as comm
from partita.communication.comm_func import all_reduce, barrier

if __name__ == "__main__":
    comm.init()
    rank, size = comm.get_rank(), comm.get_group_size()
    if size < 2:
        sys.exit("groups are of processes, expected: mpirun -n 4 python3 ranks_and_groups.py")
    members = {"even": list(range(0, size, 2)), "odd": list(range(1, size, 2))}
    for name, ranks in members.items():  # every process makes every group
        comm.create_group(name, ranks)
    mine = "odd" if rank % 2 else "even"
    place = comm.get_rank(mine)
    assert comm.get_world_rank_from_group_rank(mine, place) == rank
    assert comm.get_group_rank_from_world_rank(rank, mine) == place

    total, _ = all_reduce(ms.Tensor(np.array([rank], "f4")), group=mine)
    assert float(total.asnumpy()[0]) == sum(members[mine]), total
    here = f"{comm.get_local_rank()} of {comm.get_local_rank_size()} on its host"
    print(f"rank {rank} of {size}, {here}, {place} of {comm.get_group_size(mine)} {mine} ranks", flush=True)
    barrier()
    for name in members:
        comm.destroy_group(name)
