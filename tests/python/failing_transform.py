"""A transform that fails on one rank ends all: mpirun -n 3 python3 failing_transform.py RANK."""

import sys

import numpy as np

import partita as ms
from partita import dataset as ds
from partita import nn
from partita.communication import get_rank, init

init()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
count = 0


def transform(row):
    global count
    count += 1
    if get_rank() == int(sys.argv[1]) and count > 60:
        raise ZeroDivisionError("mine")
    return row


rows = ds.NumpySlicesDataset((np.ones((96, 4), "f4"), np.zeros(96, "i4")), ["data", "label"], shuffle=False)
rows = rows.map(transform, "data").batch(4)
net = nn.Dense(4, 3)
ms.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1)).train(2, rows)
print("no error", flush=True)
