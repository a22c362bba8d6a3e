"""The same with a file of its own part for each rank: mpirun -n 8 python3 semi_auto_parallel_parts.py"""
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
    inputs = numbers.random((256, 1)).astype(np.float32)
    labels = np.eye(16, dtype=np.float32)[numbers.integers(0, 16, 256)]
    return ds.NumpySlicesDataset((inputs, labels), ["inputs", "label"], shuffle=False, num_shards=8,
                                 shard_id=get_rank()).batch(8)


class SemiAutoParallelNet(Cell):
    def __init__(self, mul_size, test_size, strategy=None, strategy2=None):
        super().__init__()
        mul_np = np.full(mul_size, 0.5, dtype=np.float32)
        equal_np = np.full(test_size, 0.1, dtype=np.float32)
        self.mul_weight = Parameter(Tensor(mul_np), name="mul_weight")
        self.equal_weight = Parameter(Tensor(equal_np), name="equal_weight")
        self.mul = ops.Mul()
        self.equal = ops.Add()  # mended: ops.Equal, whose bools have no gradient
        if strategy is not None:
            self.mul.shard(strategy)
            self.equal.shard(strategy2)

    def construct(self, inputs):  # mended: not (self, inputs, label), of which the loss gets the label
        x = self.mul(inputs, self.mul_weight)
        x = self.equal(x, self.equal_weight)
        return x


# create data sets
parallel_dataset = CreateData()
# set parallel strategy
strategy = ((1, 1), (1, 8))
# create network model
# mended: no sizes, and a strategy2 that cuts two operands of one size differently
net = SemiAutoParallelNet([1, 16], [1, 16], strategy=strategy, strategy2=((1, 8), (1, 8)))
# reset parallel mode
context.reset_auto_parallel_context()
# set parallel mode, data parallel mode is selected for training and model saving. If you want to choose auto parallel
# mode, you can simply change the value of parallel_mode parameter to ParallelMode.AUTO_PARALLEL.
from partita.context import ParallelMode
context.set_auto_parallel_context(parallel_mode=ParallelMode.SEMI_AUTO_PARALLEL,
                               # mended: get_rank was not called
                               strategy_ckpt_save_file='./rank_{}_ckpt/strategy.txt'.format(get_rank()))

# config checkpoint
ckpt_config = CheckpointConfig(keep_checkpoint_max=1, integrated_save=False)
# define checkpoint save path
ckpt_path = './rank_{}_ckpt'.format(get_rank())  # mended: get_rank was not called
# create a ModelCheckpoint object
ckpt_callback = ModelCheckpoint(prefix='semi_auto_parallel', directory=ckpt_path, config=ckpt_config)
# set optimizer and loss function
opt = Momentum(net.trainable_params(), 0.01, 0.9)  # mended: without arguments
loss = SoftmaxCrossEntropyExpand()
model = Model(net, loss_fn=loss, optimizer=opt)  # mended: loss_fb
# After you've trained your network, the system will automatically save the checkpoint file.
# mended: no epochs, the loss as a callback
model.train(1, train_dataset=parallel_dataset, callbacks=[ckpt_callback, LossMonitor()])
# After training, reset the parallel mode to avoid unnecessary trouble when retraining.
context.reset_auto_parallel_context()
