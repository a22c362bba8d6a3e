"""Callbacks of processes that read other parameters than those of the others, or none:
mpirun -n 3 python3 reading_ranks.py."""

import numpy as np
from support import labelled

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.communication import get_rank, init

init()
rank = get_rank()
ms.set_seed(1)
zero = {"parallel_optimizer_threshold": 0, "optimizer_level": "level3"}
ms.set_auto_parallel_context(
    parallel_mode="data_parallel",
    gradients_mean=True,
    enable_parallel_optimizer=True,
    parallel_optimizer_config=zero,
)
net = nn.SequentialCell(nn.Dense(6, 8), nn.ReLU(), nn.Dense(8, 3))
weights = [net[0].weight, net[2].weight]
last, losses = {}, []


class Reads(train.Callback):
    def on_train_step_end(self, run_context):
        step = run_context.original_args().cur_step_num
        wanted = [weights, weights[::-1], weights[1:], weights[:1], []][(step + rank) % 5]
        last.update((one.name, (step, one.asnumpy().copy())) for one in wanted)

    def on_train_epoch_end(self, run_context):
        """One rank has read a parameter already when all evaluate."""
        if rank == 0:
            weights[0].asnumpy()
        losses.append(model.eval(rows)["loss"])

    def on_train_end(self, run_context):
        if rank == 1:
            last.update((one.name, (0, one.asnumpy().copy())) for one in weights)


loss = nn.CrossEntropyLoss()
model = train.Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"loss"})
rows = ds.NumpySlicesDataset(labelled(24), ["data", "label"], shuffle=False, num_shards=3, shard_id=rank).batch(4)
model.train(5, rows, callbacks=[Reads()])
assert last, "nothing was read"
assert len(losses) == 5 and losses[-1] < losses[0]
for one in weights:
    step, values = last.get(one.name, (None, None))
    if step in (0, 10):
        np.testing.assert_array_equal(values, one.asnumpy())
    elif step is not None:
        assert (values != one.asnumpy()).any()
print("callbacks of three processes: ok", flush=True)
