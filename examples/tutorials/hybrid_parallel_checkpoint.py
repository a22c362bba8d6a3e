"""Hybrid parallelism, a weight of which each rank has its rows; every rank saves its part:
mpirun -n 4 python3 hybrid_parallel_checkpoint.py, then python3 merge_checkpoints.py"""
import numpy as np
import partita as ms
from partita import Parameter, Tensor, context, nn, ops
from partita import dataset as ds
from partita.communication.management import get_rank, init
from partita.context import ParallelMode
from partita.train import Model
from partita.train.callback import CheckpointConfig, LossMonitor, ModelCheckpoint

context.set_context(mode=context.GRAPH_MODE)
init()
ms.set_seed(1)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(np.full((16, 24), 0.1, np.float32)), name="weight", layerwise_parallel=True)
        self.fc = ops.MatMul(transpose_b=True)
        self.head = nn.Dense(16, 4)

    def construct(self, x):
        return self.head(self.fc(x, self.weight))


if __name__ == "__main__":
    context.set_auto_parallel_context(parallel_mode=ParallelMode.HYBRID_PARALLEL, gradients_mean=True,
                                      strategy_ckpt_save_file="./rank_{}_ckpt/strategy.txt".format(get_rank()))
    numbers = np.random.default_rng(1)
    rows = numbers.random((128, 24)).astype(np.float32), numbers.integers(0, 4, 128).astype(np.int32)
    data = ds.NumpySlicesDataset(rows, ["data", "label"], shuffle=False, num_shards=4, shard_id=get_rank()).batch(8)
    net = Net()
    config = CheckpointConfig(save_checkpoint_steps=4, integrated_save=False)
    callback = ModelCheckpoint(prefix="hybrid", directory="./rank_{}_ckpt".format(get_rank()), config=config)
    opt = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    Model(net, nn.CrossEntropyLoss(), opt).train(1, data, callbacks=[callback, LossMonitor()])
