"""Parts become wholes again: the files of save_parts.py, joined in four ways without its ranks.

    python3 merge_parts.py [FOLDER]

1. `load_distributed_checkpoint` loads the files of all ranks into a network.
2. `merge_sliced_parameter` joins one weight, by the strategy file.
3. `unified_safetensors` writes one file of whole tensors.
4. `transform_checkpoints` writes the files that another number of ranks needs; here of one rank.

All four must give the same bits, and the network must evaluate as it did at the end of its training.
"""

import glob
import json
import os
import sys

import digits
import numpy as np
from save_whole import RANKS, WideNetwork, make_model

import partita as ms
from partita import parallel


def joined_by_name(files, strategy, name):
    entries = ms.build_searched_strategy(strategy)
    return ms.merge_sliced_parameter([ms.load_checkpoint(path)[name] for path in files], entries)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "parts"
    strategy = os.path.join(folder, "strategy.json")
    digits.start(1)
    files = [glob.glob(os.path.join(folder, f"rank_{rank}", "digits-*.ckpt"))[0] for rank in range(RANKS)]

    network = WideNetwork()
    assert parallel.load_distributed_checkpoint(network, files) == []
    with open(os.path.join(folder, "evaluated.json")) as file:
        expected = json.load(file)
    found = make_model(network).eval(digits.rows(batch=32))
    assert abs(found["loss"] - expected["loss"]) < 1e-5 * expected["loss"], (found, expected)
    print(f"loaded: loss {found['loss']:.4f}, as at the end of the training")

    unified = os.path.join(folder, "unified")
    parallel.unified_safetensors(folder, strategy, unified)
    in_one_file = ms.load_checkpoint(os.path.join(unified, "part0.safetensors"), format="safetensors")
    anew = os.path.join(folder, "anew")
    parallel.transform_checkpoints(folder, anew, "digits", strategy)
    of_one_rank = ms.load_checkpoint(os.path.join(anew, "rank_0", "digits0.ckpt"))
    for weight in network.get_parameters():
        by_name = joined_by_name(files, strategy, weight.name)
        for other in (by_name, in_one_file[weight.name], of_one_rank[weight.name]):
            np.testing.assert_array_equal(weight.asnumpy(), other.asnumpy(), err_msg=weight.name)
        print(f"merged: {weight.name} {list(weight.shape)}")
