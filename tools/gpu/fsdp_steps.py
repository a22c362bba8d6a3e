"""Times steps of GPT-2 124M on several GPUs by PyTorch, as a peer of `partita train --collectives whole --zero LEVEL`.

    torchrun --standalone --nproc-per-node 8 tools/gpu/fsdp_steps.py LEVEL [ROWS=8]

LEVEL is 0 (DistributedDataParallel), 2 (FSDP that keeps parameters after the forward pass) or 3 (FSDP that does not), and
ROWS those of each GPU, of 1,024 tokens in bf16. The last line has the median of a step. --small takes tiny sizes, and
--cpu the processor, to try the script out.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from torch_steps import make, median_ms


def shard(model, level):
    """Returns the model with its parameters divided among all ranks: each block, which is compiled, then the rest."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        block.compile()
        fully_shard(block, mp_policy=policy, reshard_after_forward=level == 3)
    return fully_shard(model, mp_policy=policy, reshard_after_forward=level == 3)


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    level, rows = int(words[0]), int((words + [8])[1])
    if level not in (0, 2, 3):
        sys.exit(f"a level of FSDP, got {level}, expected 0, 2 or 3")
    device = "cpu"
    if "--cpu" not in sys.argv:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        device = "cuda"
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    model, x, y = make("gpt2", rows, "--small" in sys.argv, device)
    model = torch.compile(DistributedDataParallel(model)) if level == 0 else shard(model, level)
    took = median_ms(model, x, y, bf16=True)
    if dist.get_rank() == 0:
        ranks = dist.get_world_size()
        memory = f", {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB" if device == "cuda" else ""
        print(f"gpt2 batch {rows * ranks} bf16 ranks {ranks} level {level} torch: {took:.2f} ms{memory}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
