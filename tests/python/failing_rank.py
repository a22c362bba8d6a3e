"""A callback that fails on one process: the others end, too."""

import sys

import numpy as np

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.communication import get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)


class Fail(train.Callback):
    def on_train_step_end(self, run_context):
        if get_rank() == int(sys.argv[1]) and run_context.original_args().cur_step_num == 2:
            raise ZeroDivisionError("mine")


net = nn.Dense(2, 1)
x = np.ones((8, 2), "f4")
data = ds.NumpySlicesDataset((x, x[:, :1]), ["x", "y"], shuffle=False).batch(4)
ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 1e-9)).train(1000, data, callbacks=[Fail()])
