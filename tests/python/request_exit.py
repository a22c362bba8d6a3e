"""A training that a signal ends, with the callback that writes a file then: request_exit.py FOLDER."""

import os
import signal
import sys
import threading

import numpy as np

import partita as ms
from partita import dataset as ds
from partita import nn, train
from partita.communication import get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
net = nn.Dense(2, 1)
x = np.ones((8, 2), "f4")
data = ds.NumpySlicesDataset((x, x[:, :1]), ["x", "y"], shuffle=False).batch(4)


class Signal(train.Callback):
    """The last rank gets it when the training has begun."""

    def on_train_begin(self, run_context):
        if get_rank() == ms.communication.get_group_size() - 1:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()


callback = train.OnRequestExit(file_name="net", directory=sys.argv[1])
ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 1e-9)).train(1000000, data, callbacks=[callback, Signal()])
assert callback.stopped_by == signal.SIGTERM
if get_rank() == 0:
    assert set(ms.load_checkpoint(os.path.join(sys.argv[1], "net_train.ckpt"))) == {"weight", "bias"}
print("ended by a signal", flush=True)
