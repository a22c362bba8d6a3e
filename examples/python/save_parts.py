"""Checkpoints in parts: each process writes what its rank holds, and a strategy file says how all of it is cut.

    mpirun -n 4 python3 save_parts.py [FOLDER]    # then: python3 merge_parts.py [FOLDER]

`integrated_save=False` communicates nothing, so it suits weights that no single rank has room for. Writes
FOLDER/rank_N/digits-1_16.ckpt, FOLDER/strategy.json, and FOLDER/evaluated.json for merge_parts.py. Prints how much each
rank wrote, which must be less than half of a whole file.
"""

import json
import os
import sys

import digits
from save_whole import RANKS, WideNetwork, make_model

import partita as ms
from partita import train
from partita.communication.management import is_process

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "parts"
    rank = digits.start(RANKS)
    if not is_process():
        sys.exit(f"parts are those of processes, expected: mpirun -n {RANKS} python3 save_parts.py")
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel",
        dataset_strategy="full_batch",
        strategy_ckpt_save_file=os.path.join(folder, "strategy.json"),
    )
    ms.set_seed(1)
    network = WideNetwork(RANKS)
    model, data = make_model(network), digits.rows(batch=32)
    config = train.CheckpointConfig(save_checkpoint_steps=16, integrated_save=False)
    checkpoints = train.ModelCheckpoint("digits", digits.empty_folder(folder, f"rank_{rank}"), config)
    digits.losses_of(model, data, checkpoints)
    evaluated = model.eval(data)
    if rank == 0:
        with open(os.path.join(folder, "evaluated.json"), "w") as file:
            json.dump(evaluated, file)

    held = sum(one.size for one in ms.load_checkpoint(checkpoints.latest_ckpt_file_name).values())
    whole = 2 * sum(one.size for one in network.get_parameters())  # each weight has a momentum
    print(f"rank {rank} wrote {held} of {whole} numbers", flush=True)
    assert held < whole / 2, (held, whole)
