"""Collectives of `mint.distributed` among three processes, or alone: each against NumPy."""

import numpy as np

from partita import Tensor
from partita.mint import distributed as D

assert D.is_available() and not D.is_initialized()
D.init_process_group("mccl")
assert D.is_initialized()
rank, size = D.get_rank(), D.get_world_size()
drawn = np.random.default_rng(11)
ALL = drawn.standard_normal((size, 6, 2)).astype("f4")  # what each rank has
mine = ALL[rank]


def same(got, expected, tolerance=1e-6):
    np.testing.assert_allclose(got.asnumpy() if isinstance(got, Tensor) else got, expected, tolerance, tolerance)


def fresh(*shape):
    return Tensor(np.zeros(shape, "f4"))


for op, expected in {
    "sum": ALL.sum(0),
    "prod": ALL.prod(0),
    "max": ALL.max(0),
    "min": ALL.min(0),
    "avg": ALL.mean(0),
}.items():
    tensor = Tensor(mine)
    assert D.all_reduce(tensor, op) is None
    same(tensor, expected)
tensor = Tensor(mine)
D.all_reduce(tensor, async_op=True).wait()
same(tensor, ALL.sum(0))
tensor = Tensor(mine)
D.reduce(tensor, size - 1)
same(tensor, ALL.sum(0) if rank == size - 1 else mine)
tensor = Tensor(mine)
D.broadcast(tensor, size - 1)
same(tensor, ALL[-1])
whole, parts = fresh(6 * size, 2), [fresh(6, 2) for _ in range(size)]
D.all_gather_into_tensor(whole, Tensor(mine))
same(whole, ALL.reshape(-1, 2))
D.all_gather(parts, Tensor(mine))
for got, expected in zip(parts, ALL):
    same(got, expected)
for one in parts:
    one.zero_()
D.gather(Tensor(mine), parts, 0)
same(parts[-1], ALL[-1] if rank == 0 else np.zeros((6, 2)))
tensor = fresh(6, 2)
D.scatter(tensor, [Tensor(one * 2) for one in ALL] if rank == 0 else None, 0)
same(tensor, ALL[rank] * 2)
own = 6 // size
tensor = fresh(own, 2)
D.reduce_scatter_tensor(tensor, Tensor(mine), "max")
same(tensor, ALL.max(0)[rank * own : (rank + 1) * own])
D.reduce_scatter(tensor, [Tensor(one) for one in mine.reshape(size, own, 2)], "avg")
same(tensor, ALL.mean(0)[rank * own : (rank + 1) * own])
tensor = fresh(6, 2)
D.all_to_all_single(tensor, Tensor(mine))
same(tensor, ALL[:, rank * own : (rank + 1) * own].reshape(6, 2))

SIZES = np.array([[1, 2, 3], [0, 4, 2], [5, 1, 0]])[:size, :size] if size == 3 else np.full((size, size), own)
begins = SIZES.cumsum(1) - SIZES
tensor = fresh(int(SIZES[:, rank].sum()), 2)
D.all_to_all_single(tensor, Tensor(mine), SIZES[:, rank].tolist(), SIZES[rank].tolist())
rows = [ALL[i, begins[i, rank] : begins[i, rank] + SIZES[i, rank]] for i in range(size)]
same(tensor, np.concatenate(rows))
parts = [fresh(2, i + rank + 1) for i in range(size)]
D.all_to_all(parts, [Tensor(np.full((2, i + rank + 1), 10.0 * rank + i, "f4")) for i in range(size)])
for i, one in enumerate(parts):
    same(one, np.full((2, i + rank + 1), 10.0 * i + rank))
counts = list(range(1, size + 1))
whole = fresh(sum(counts), 2)
D.all_gather_into_tensor_uneven(whole, Tensor(mine[: rank + 1]), counts)
same(whole, np.concatenate([ALL[i, : i + 1] for i in range(size)]))
total = [6 - (size - 1)] + [1] * (size - 1)
tensor = fresh(total[rank], 2)
D.reduce_scatter_tensor_uneven(tensor, Tensor(mine), total)
same(tensor, ALL.sum(0)[sum(total[:rank]) : sum(total[: rank + 1])])

objects = [None] * size
D.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
assert objects == [{"rank": i, "text": "x" * i} for i in range(size)], objects
objects = [rank, "of", rank]
D.broadcast_object_list(objects, size - 1)
assert objects == [size - 1, "of", size - 1]
objects = [None]
D.scatter_object_list(objects, list("abc")[:size] if rank == 0 else None, 0)
assert objects == ["abc"[rank]]
objects = []
D.gather_object(rank, objects if rank == 0 else None, 0)
assert objects == (list(range(size)) if rank == 0 else [])

ends = D.new_group([0, size - 1] if size > 1 else [0])
if rank in (0, size - 1):
    tensor = Tensor(mine)
    D.all_reduce(tensor, group=ends)
    same(tensor, ALL[0] + ALL[-1] if size > 1 else ALL[0])
    assert D.get_rank(ends) == min(rank, 1) and D.get_world_size(ends) == min(size, 2)
else:
    assert D.get_rank(ends) == D.get_world_size(ends) == -1
assert D.get_process_group_ranks(ends) == sorted({0, size - 1}) and D.get_global_rank(ends, 0) == 0
assert D.get_group_rank(ends, size - 1) == min(size - 1, 1)
try:
    D.send(Tensor(mine), 0)
except NotImplementedError as error:
    assert "[send] messages between two ranks are not supported" in str(error)
else:
    raise AssertionError("a message between two ranks")
D.barrier()
D.destroy_process_group(ends)
D.destroy_process_group()
assert not D.is_initialized()
print("mint.distributed: ok")
