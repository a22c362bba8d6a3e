"""Collectives as ops and functions among three processes, or alone: each against NumPy."""

import numpy as np

from partita import Tensor, bfloat16, communication, float32, ops
from partita.communication import comm_func
from partita.communication.management import get_group_size, get_rank

communication.init()
rank, size = get_rank(), get_group_size()
ONE, TWO = 1 % size, 2 % size
ALL = np.random.default_rng(5).standard_normal((size, 6, 2)).astype("f4")  # of each rank
mine = Tensor(ALL[rank])


def same(got, expected):
    np.testing.assert_allclose(got.asnumpy(), expected, 1e-6, 1e-6)


def expect(got, on, expected):
    """The result on one rank; one element on others."""
    same(got, expected) if rank == on else same(got, np.zeros(1))


expect(comm_func.reduce(mine, ONE), ONE, ALL.sum(0))
expect(ops.Reduce(TWO, "max")(mine), TWO, ALL.max(0))
expect(comm_func.gather_into_tensor(mine, ONE), ONE, ALL.reshape(-1, 2))
expect(ops.CollectiveGather(0)(mine), 0, ALL.reshape(-1, 2))
own = 6 // size
same(comm_func.scatter_tensor(mine, ONE), ALL[ONE][rank * own : (rank + 1) * own])
same(ops.CollectiveScatter(TWO)(mine), ALL[TWO][rank * own : (rank + 1) * own])
parts = [one[rank * own : (rank + 1) * own] for one in ALL]
same(ops.AlltoAll(size, 0, 1)(mine), np.concatenate(parts, 1))
short = ops.AlltoAll(size, 0, 0)(Tensor(np.round(ALL[rank])).astype(bfloat16))
same(short.astype(float32), np.round(np.concatenate(parts, 0)))
ops.Barrier()()
for call in (lambda: comm_func.reduce(mine, size), lambda: ops.AlltoAll(size + 1, 0, 1)(mine)):
    try:
        call()
    except ValueError:
        continue
    raise AssertionError("not refused")
print("collectives of ops: ok")
