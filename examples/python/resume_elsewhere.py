"""Resuming under another plan: an epoch with data parallelism, then one in a pipeline, from the file of the first.

    python3 resume_elsewhere.py [FOLDER]
    mpirun -n 4 python3 resume_elsewhere.py [FOLDER]

The checkpoint has the weights and the momentum as whole tensors, so it fits any plan. Prints the losses of the second
epoch, which must be those of a training on one rank that was never interrupted.
"""

import sys

import digits

import partita as ms
from partita import nn, train

RANKS = 4


def make_network(staged=False):
    lower = nn.SequentialCell(nn.Flatten(), nn.Dense(784, 128), nn.ReLU())
    upper = nn.SequentialCell(nn.Dense(128, 10))
    if staged:
        lower.pipeline_stage, upper.pipeline_stage = 0, 1
    return nn.SequentialCell(lower, upper)


def make_model():
    return digits.model_of(make_network())


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "resumed"
    rank = digits.start(RANKS)
    whole = digits.rows(batch=32)
    uninterrupted = digits.losses_on_one_rank(make_model, whole, epochs=2)

    # The first epoch: four shares of each batch, and a quarter of the momentum on each rank.
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, enable_parallel_optimizer=True)
    ms.set_seed(1)
    config = train.CheckpointConfig(save_checkpoint_steps=16, integrated_save=True)
    checkpoints = train.ModelCheckpoint("first", digits.empty_folder(folder, f"rank_{rank}"), config)
    share = digits.rows(batch=8, shards=RANKS, shard=rank)
    digits.losses_of(make_model(), share, checkpoints)

    # The second epoch: another network, which knows nothing of the first, in two stages of two ranks.
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", dataset_strategy="full_batch", pipeline_stages=2)
    ms.set_seed(2)
    network = make_network(staged=True)
    saved = ms.load_checkpoint(checkpoints.latest_ckpt_file_name)
    assert ms.load_param_into_net(network, saved)[0] == []
    optimizer = nn.Momentum(network.trainable_params(), 0.05, 0.9)
    ms.load_param_into_net(optimizer, saved)
    divided = nn.PipelineCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), 4)
    losses = digits.losses_of(train.Model(divided, optimizer=optimizer), whole)
    digits.compare("resumed", losses, uninterrupted[len(losses) :])
