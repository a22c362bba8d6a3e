"""Files of parts, joined, are the whole ones: compare_parts.py WHOLE PARTS RANKS, folders of rank_N_ckpt."""

import glob
import os
import sys

import numpy as np

import partita as ms
from partita.train import serialization

wholes, parts, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])


def file_of(folder, rank):
    (path,) = glob.glob(os.path.join(folder, f"rank_{rank}_ckpt", "*.ckpt"))
    return path


expected = ms.load_checkpoint(file_of(wholes, 0))
own = [ms.load_checkpoint(file_of(parts, rank)) for rank in range(ranks)]
cut = [name for name, one in own[0].items() if serialization.is_part(one)]
assert cut, "nothing is cut"
strategy = ms.build_searched_strategy(os.path.join(parts, "rank_0_ckpt", "strategy.txt"))
for name in cut:
    merged = ms.merge_sliced_parameter([one[name] for one in own], strategy)
    np.testing.assert_array_equal(merged.asnumpy(), expected[name].asnumpy(), err_msg=name)
    assert own[0][name].size * ranks == expected[name].size
print(f"{len(cut)} of {len(expected)} tensors are cut over {ranks} ranks, and joined have the bits of whole ones")
