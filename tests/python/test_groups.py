"""Groups of parameters: decays and learning rates of their own, in loops of one's own and in trainings."""

import unittest

import numpy as np
from support import Case, Small, labelled

import partita as ms
from partita import Parameter, Tensor, nn, train
from partita import dataset as ds


def parameter(name):
    return Parameter(Tensor(np.ones(1, "f4")), name)


def after_one_step(make):
    """Values of parameters of 1 after a step with gradients of 1."""
    a, b, gamma = (parameter(name) for name in ("a", "b", "gamma"))
    optimizer = make(a, b, gamma)
    optimizer([Tensor(np.ones(1, "f4"))] * 3)
    return [float(one.asnumpy()[0]) for one in (a, b, gamma)]


class Groups(Case):
    def test_decay_as_they_say(self):
        make = lambda a, b, gamma: nn.SGD(  # noqa: E731
            [{"params": [a, gamma], "weight_decay": 0.5}, {"params": [b]}], 0.5, weight_decay=0.25
        )
        self.close(after_one_step(make), [0.25, 0.375, 0.25])

    def test_of_updates_that_are_made_of_ops(self):
        make = lambda a, b, gamma: nn.SGD(  # noqa: E731
            [{"params": [a], "weight_decay": 0.5}, {"params": [b], "lr": 0.25}, {"params": [gamma], "weight_decay": 0}],
            0.5,
            momentum=0.9,
            dampening=0.1,
        )
        self.close(after_one_step(make), [0.25, 0.75, 0.5])

    def test_learn_at_rates_of_their_own(self):
        make = lambda a, b, gamma: nn.Momentum(  # noqa: E731
            [{"params": [a], "lr": 0.25}, {"params": [b, gamma]}], 0.5, 0.9
        )
        self.close(after_one_step(make), [0.75, 0.5, 0.5])

    def test_take_gradients_in_the_order_that_is_given(self):
        a, b = parameter("a"), parameter("b")
        optimizer = nn.SGD([{"params": [a]}, {"params": [b]}, {"order_params": [b, a]}], 1.0)
        optimizer([Tensor(np.full(1, 2, "f4")), Tensor(np.full(1, 3, "f4"))])
        self.close([float(a), float(b)], [-2, -1])

    def test_train_as_loops_of_ones_own_do(self):
        x, y = labelled(64)

        def groups(net):
            weights = [one for one in net.trainable_params() if one.ndim > 1]
            others = [one for one in net.trainable_params() if one.ndim <= 1]
            return [
                {"params": weights, "weight_decay": 0.1},
                {"params": others, "lr": 0.02},
                {"order_params": net.trainable_params()},
            ]

        for make in (
            lambda net: nn.Momentum(groups(net), 0.1, 0.9),
            lambda net: nn.Adam(groups(net), 0.01),
            lambda net: nn.AdamWeightDecay(groups(net), [0.01, 0.005]),
        ):
            nets = []
            for ranks in (1, 4):
                ms.set_context(ranks=ranks)
                nets.append(Small(norm=True))
                rows = ds.NumpySlicesDataset((x, y), ["data", "label"], shuffle=False).batch(16)
                train.Model(nets[-1], nn.CrossEntropyLoss(), make(nets[-1])).train(1, rows)
            ms.set_context(ranks=1)
            nets.append(Small(norm=True))
            loss_fn, update = nn.CrossEntropyLoss(), make(nets[-1])
            nets[-1].set_train()
            step = nn.TrainOneStepCell(nn.WithLossCell(nets[-1], loss_fn), update)
            for i in range(4):
                step(Tensor(x[i * 16 :][:16]), Tensor(y[i * 16 :][:16]))
            for net in nets[1:]:
                for got, expected in zip(net.trainable_params(), nets[0].trainable_params()):
                    self.close(got.asnumpy(), expected.asnumpy(), 2e-6)

    def test_that_make_no_sense_are_refused(self):
        a, b = parameter("a"), parameter("b")
        with self.refuses(TypeError, "groups are mixed with parameters, got Parameter"):
            nn.SGD([{"params": [a]}, b])
        with self.refuses(KeyError, "bad group of parameters, got ['params', 'rate']"):
            nn.SGD([{"params": [a], "rate": 0.1}])
        with self.refuses(KeyError, "bad group of parameters, got ['order_params', 'params']"):
            nn.SGD([{"params": [a], "order_params": [a]}])
        with self.refuses(ValueError, "order_params names other parameters, got 1, expected the 2"):
            nn.SGD([{"params": [a, b]}, {"order_params": [a]}])
        with self.refuses(ValueError, "bad weight_decay of a group, got -1"):
            nn.SGD([{"params": [a], "weight_decay": -1}])
        with self.refuses(ValueError, "bad learning rate, got [0.1, -0.2], expected numbers from 0"):
            nn.SGD([{"params": [a], "lr": [0.1, -0.2]}])
        with self.refuses(NotImplementedError, "grad_centralization is not supported"):
            nn.SGD([{"params": [a], "grad_centralization": True}])
        with self.refuses(RuntimeError, "two parameters have the same name, got 'a' again"):
            nn.SGD([{"params": [a]}, {"params": [a], "weight_decay": 0.1}])
        with self.refuses(TypeError, "not a parameter, got int"):
            nn.SGD([{"params": [1]}])


if __name__ == "__main__":
    unittest.main()
