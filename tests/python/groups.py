"""Collectives and groups of three processes."""

import numpy as np

from partita import Tensor, ops
from partita.communication import comm_func, create_group, destroy_group, get_group_size, get_rank, init
from partita.communication import get_group_rank_from_world_rank, get_world_rank_from_group_rank

init()
rank, size = get_rank(), get_group_size()
assert size == 3
mine = Tensor(np.full((3, 2), rank + 1, "f4"))
np.testing.assert_array_equal(comm_func.all_reduce(mine)[0].asnumpy(), np.full((3, 2), 6))
np.testing.assert_array_equal(ops.AllReduce("max")(mine).asnumpy(), np.full((3, 2), 3))
np.testing.assert_array_equal(ops.AllGather()(mine).asnumpy()[:, 0], [1, 1, 1, 2, 2, 2, 3, 3, 3])
np.testing.assert_array_equal(ops.ReduceScatter()(mine).asnumpy(), [[6, 6]])
np.testing.assert_array_equal(comm_func.broadcast(mine, 2).asnumpy(), np.full((3, 2), 3))
create_group("ends", [0, 2])
if rank != 1:
    assert get_group_size("ends") == 2 and get_rank("ends") == rank // 2
    np.testing.assert_array_equal(comm_func.all_reduce(mine, group="ends")[0].asnumpy(), np.full((3, 2), 4))
assert get_world_rank_from_group_rank("ends", 1) == 2 and get_group_rank_from_world_rank(2, "ends") == 1
destroy_group("ends")
comm_func.barrier()
try:
    get_rank("ends")
except ValueError as error:
    assert "unknown group, got 'ends'" in str(error)
else:
    raise AssertionError("a group that is gone")
print("groups of three processes: ok")
