"""The table of docs/reference/mindspore.md of the loss that is differentiated: the gradient of one weight on one rank,
or on two processes or threads, in a loop of one's own and in Model.train."""

import numpy as np

import partita as ms
from partita import Parameter, Tensor, nn, ops, train
from partita import dataset as ds
from partita.communication import get_group_size, get_rank, init

init()
ranks, rank = get_group_size(), get_rank()
X, Y = np.array([[1.0], [2.0], [3.0], [4.0]], "f4"), np.array([0, 1, 0, 1], "i4")
LOSSES = {
    "mean": (nn.CrossEntropyLoss(), 1.320, 1.320),
    "sum": (nn.CrossEntropyLoss(reduction="sum"), 5.278, 5.278),
    "ignored": (nn.CrossEntropyLoss(ignore_index=1), -0.206, -0.206),
    "weights": (nn.CrossEntropyLoss(weight=Tensor(np.array([1.0, 3.0], "f4"))), 2.082, 2.082),
    "none": (nn.CrossEntropyLoss(reduction="none"), 5.278, 5.278 / ranks),
}


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([[1.0, 0.0]], "f4")), name="w")

    def construct(self, x):
        return ops.matmul(x, self.w)


def moved(loss, is_model):
    net = Net()
    optimizer = nn.SGD(net.trainable_params(), 1.0)
    data = ds.NumpySlicesDataset((X, Y), ["x", "y"], shuffle=False, num_shards=ranks, shard_id=rank).batch(4 // ranks)
    if is_model:
        train.Model(net, loss, optimizer).train(1, data)
    else:
        gradients_of = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
        reducer = nn.DistributedGradReducer(optimizer.parameters)
        for x, y in data:
            _, gradients = gradients_of(x, y)
            optimizer(reducer(gradients))
    return 1 - float(net.w.asnumpy()[0, 0])


for mean in (True, False):
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=mean)
    factor = 1 if mean else ranks
    for name, (loss, in_loop, in_model) in LOSSES.items():
        np.testing.assert_allclose(moved(loss, False), in_loop * factor, atol=6e-4 * factor, err_msg=name)
        np.testing.assert_allclose(moved(loss, True), in_model * factor, atol=6e-4 * factor, err_msg=name)
print("losses of ranks: ok", flush=True)
