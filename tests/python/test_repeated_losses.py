"""Losses with gradients of their own under tensor parallelism, as client libraries write them: they undo the division
by the ranks that repeat a loss."""

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, ops, train
from partita import dataset as ds


class LogSoftmax(nn.Cell):
    """Hands the gradient through: that of both cells together is in the next."""

    def __init__(self, dp, mp):
        super().__init__()
        self.shift, self.exp = ops.Sub().shard(((dp, mp), (dp, 1))), ops.Exp().shard(((dp, mp),))
        self.sum, self.log = ops.ReduceSum(keep_dims=True).shard(((dp, mp),)), ops.Log().shard(((dp, 1),))
        self.maximum = ops.ReduceMax(keep_dims=True).shard(((dp, mp),))
        self.rest = ops.Sub().shard(((dp, mp), (dp, 1)))

    def construct(self, logits, hot):
        shifted = self.shift(logits, self.maximum(logits, -1))
        return self.rest(shifted, self.log(self.sum(self.exp(shifted), -1)))

    def bprop(self, logits, hot, out, dout):
        return dout, ops.zeros_like(hot)


class NLL(nn.Cell):
    def __init__(self, dp, mp, factor):
        super().__init__()
        self.factor = factor
        self.sum = ops.ReduceSum().shard(((dp, mp),))
        self.mul, self.neg = ops.Mul().shard(((dp, mp), (dp, mp))), ops.Neg().shard(((dp, mp),))

    def construct(self, logs, hot):
        return self.sum(self.neg(self.mul(logs, hot)), -1)

    def bprop(self, logs, hot, out, dout):
        return (ops.exp(logs) - hot) * ops.expand_dims(dout, -1) * float(self.factor), ops.zeros_like(hot)


class Net(nn.Cell):
    def __init__(self, dp, mp, factor):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(6, 8, dtype=ms.float64), nn.Dense(8, 4, dtype=ms.float64)
        self.logs, self.loss = LogSoftmax(dp, mp), NLL(dp, mp, factor)

    def construct(self, x, hot):
        return self.loss(self.logs(self.fc2(ops.tanh(self.fc1(x))), hot), hot).mean()


class RepeatedLosses(Case):
    def trained(self, ranks, dp, mp, factor):
        ms.set_context(ranks=ranks)
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel" if ranks > 1 else "stand_alone")
        ms.set_seed(1)
        rng = np.random.default_rng(1)
        net = Net(dp, mp, factor)
        hot = np.eye(4)[rng.integers(0, 4, 16)]
        data = ds.NumpySlicesDataset((rng.normal(size=(16, 6)), hot), ["x", "hot"], shuffle=False).batch(8)
        train.Model(net, None, nn.Momentum(net.trainable_params(), 0.5, 0.9)).train(3, data)
        return np.concatenate([one.asnumpy().ravel() for one in net.get_parameters()])

    def test_have_the_weights_of_one_rank(self):
        expected = self.trained(1, 1, 1, 1)
        for dp, mp in ((2, 1), (1, 2), (2, 2), (1, 4), (4, 1)):
            with self.subTest(dp=dp, mp=mp):
                found = self.trained(dp * mp, dp, mp, mp)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        # A loss that does not undo the division learns at a lower rate, as it does there.
        self.assertFalse(np.allclose(self.trained(2, 1, 2, 1), expected, rtol=1e-3))
