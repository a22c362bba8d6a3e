"""A training that Ctrl-C ends."""

import numpy as np

import partita as ms
from partita import dataset as ds
from partita import nn

net = nn.Dense(2, 1)
x = np.ones((8, 2), "f4")
data = ds.NumpySlicesDataset((x, x[:, :1]), ["x", "y"], shuffle=False).batch(4)
ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 1e-9)).train(1000000, data)
