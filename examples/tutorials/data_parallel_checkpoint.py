"""Checkpoints under data parallelism, as the tutorial of r1.0 prints it:
mpirun -n 8 python3 data_parallel_checkpoint.py"""
from partita import context
from partita.communication.management import get_rank, init
from partita.train import Model
from partita.nn import Momentum, Cell, Flatten, ReLU
from partita.train.callback import CheckpointConfig, ModelCheckpoint, LossMonitor
from partita.common.parameter import Parameter
from partita import Tensor
import partita.ops as ops
import numpy as np
from expanded_loss import SoftmaxCrossEntropyExpand

# mended: the page leaves this to its beginning
context.set_context(mode=context.GRAPH_MODE)
init()


def CreateData():  # mended: the tutorial does not define it
    from partita import dataset as ds
    numbers = np.random.default_rng(1)
    inputs = numbers.random((256, 24)).astype(np.float32)
    labels = np.eye(16, dtype=np.float32)[numbers.integers(0, 16, 256)]
    return ds.NumpySlicesDataset((inputs, labels), ["inputs", "label"], shuffle=False, num_shards=8,
                                 shard_id=get_rank()).batch(8)


# define network
class DataParallelNet(Cell):
    def __init__(self, test_size, transpose_a=False, transpose_b=False, strategy=None, layerwise_parallel=True):
        super().__init__()
        weight_np = np.full(test_size, 0.1, dtype=np.float32)
        self.weight = Parameter(Tensor(weight_np), name="fc_weight", layerwise_parallel=layerwise_parallel)
        self.relu = ReLU()
        self.fc = ops.MatMul(transpose_a=transpose_a, transpose_b=transpose_b)
        if strategy is not None:
            self.fc.shard(strategy)

    def construct(self, inputs):  # mended: not (self, inputs, label), of which the loss gets the label
        x = self.relu(inputs)
        x = self.fc(x, self.weight)
        return x


# create data sets
parallel_dataset = CreateData()
# set parallel strategy
strategy = ((1, 1), (1, 8))
# create network model
net = DataParallelNet([24, 16], strategy=strategy)  # mended: the size was left out
# reset parallel mode
context.reset_auto_parallel_context()
# set parallel mode, data parallel mode is selected for training and model saving. If you want to choose auto parallel
# mode, you can simply change the value of parallel_mode parameter to ParallelMode.AUTO_PARALLEL.
from partita.context import ParallelMode
context.set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, device_num=8)

# config checkpoint
ckpt_config = CheckpointConfig(keep_checkpoint_max=1)
# define checkpoint save path
ckpt_path = './rank_{}_ckpt'.format(get_rank())  # mended: get_rank was not called
# create a ModelCheckpoint object
ckpt_callback = ModelCheckpoint(prefix='data_parallel', directory=ckpt_path, config=ckpt_config)
# set optimizer and loss function
opt = Momentum(net.trainable_params(), 0.01, 0.9)  # mended: without arguments
loss = SoftmaxCrossEntropyExpand()
model = Model(net, loss_fn=loss, optimizer=opt)  # mended: loss_fb
# After training, the system will automatically save the checkpoint file.
# mended: no epochs, the loss as a callback
model.train(1, train_dataset=parallel_dataset, callbacks=[ckpt_callback, LossMonitor()])
# After training, reset the parallel mode to avoid unnecessary trouble when retraining.
context.reset_auto_parallel_context()
