"""Two networks of one class in a program, whose parameters have the same names: teacher and student, a copy that
follows, a pair that plays against each other."""

import copy


import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, ops, train
from partita import dataset as ds


class Net(nn.Cell):
    def __init__(self, outputs=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(4, 5), nn.Dense(5, outputs)

    def construct(self, x):
        return self.fc2(ops.tanh(self.fc1(x)))


def values(net):
    return [one.asnumpy().copy() for one in net.get_parameters()]


def forward(net, x):
    """The outputs of the network, by NumPy."""
    w1, b1, w2, b2 = values(net)
    return np.tanh(x @ w1.T + b1) @ w2.T + b2


X = np.random.default_rng(1).standard_normal((6, 4)).astype("f4")


class Pairs(Case):
    def setUp(self):
        super().setUp()
        self.x = Tensor(X)

    def check(self, one, expected):
        self.close(one, expected, 1e-5)

    def test_in_a_function(self):
        teacher, student = Net(), Net()
        found = ms.jit(lambda x: teacher(x) - student(x))(self.x)
        self.check(found, forward(teacher, X) - forward(student, X))

    def test_in_a_loss_of_which_one_is_trained(self):
        teacher, student = Net(), Net()
        before = values(teacher)
        ms.set_seed(2)  # else both begin with the same weights
        other = values(student)
        optimizer = nn.SGD(student.trainable_params(), 0.1)
        step = ms.value_and_grad(lambda x: ((teacher(x) - student(x)) ** 2).mean(), None, optimizer.parameters)
        losses = []
        for _ in range(5):
            loss, gradients = step(self.x)
            optimizer(gradients)
            losses.append(float(loss))
        self.assertLess(losses[-1], losses[0])
        for one, same in zip(values(teacher), before):
            np.testing.assert_array_equal(one, same)
        self.assertTrue(any((one != same).any() for one, same in zip(values(student), other)))
        self.check(losses[0], np.square(forward_of(before) - forward_of(other)).mean())

    def test_of_a_network_and_its_copy(self):
        net = Net()
        follower = copy.deepcopy(net)
        distance = ms.jit(lambda x: (net(x) - follower(x)).abs().sum())
        self.assertEqual(float(distance(self.x)), 0.0)
        net.fc2.bias.set_data(net.fc2.bias + 1)
        self.check(distance(self.x), 18.0)
        for own, other in zip(follower.get_parameters(), net.get_parameters()):
            own.set_data(own * 0.5 + other * 0.5)
        self.check(distance(self.x), 9.0)

    def test_within_a_cell_without_prefixes(self):
        class Distilled(nn.Cell):
            def __init__(self, teacher, student):
                super().__init__(auto_prefix=False)
                self.teacher, self.student = teacher, student

            def construct(self, x):
                return (ops.stop_gradient(self.teacher(x)) - self.student(x)).abs().mean()

        teacher, student = Net(), Net()
        before = values(teacher)
        net = Distilled(teacher, student)
        rows = ds.NumpySlicesDataset((X,), ["x"], shuffle=False).batch(3)
        train.Model(net, None, nn.SGD(student.trainable_params(), 0.1)).train(2, rows)
        for one, same in zip(values(teacher), before):
            np.testing.assert_array_equal(one, same)

    def test_that_play_against_each_other(self):
        first, second = Net(4), Net(1)
        third = Net(1)  # a second critic of the class of the first one
        ours = nn.SGD(first.trainable_params(), 0.1)
        theirs = nn.Adam([*second.trainable_params()], 0.01)
        made = ms.value_and_grad(lambda x: -(second(first(x)) + third(first(x))).mean(), None, ours.parameters)
        judged = ms.value_and_grad(lambda x: (second(first(x)) - second(x)).mean(), None, theirs.parameters)
        for _ in range(3):
            loss, gradients = judged(self.x)
            theirs(gradients)
            loss, gradients = made(self.x)
            ours(gradients)
            self.assertTrue(np.isfinite(float(loss)))
        self.check(made(self.x)[0], -(forward(second, forward(first, X)) + forward(third, forward(first, X))).mean())

    def test_with_one_optimizer_for_each_in_one_step(self):
        first, second = Net(), Net()
        optimizers = [nn.Momentum(net.trainable_params(), 0.1, 0.9) for net in (first, second)]
        step = ms.value_and_grad(
            lambda x: (first(x) ** 2).mean() + (second(x) ** 2).mean(),
            None,
            [*optimizers[0].parameters, *optimizers[1].parameters],
        )

        @ms.jit
        def both(x):
            loss, gradients = step(x)
            optimizers[0](gradients[:4])
            optimizers[1](gradients[4:])
            return loss

        losses = [float(both(self.x)) for _ in range(5)]
        self.assertLess(losses[-1], losses[0])

    def test_of_parameters_without_names(self):
        one, other = (ms.Parameter(Tensor(np.full(2, value, "f4"))) for value in (1, 2))
        self.check(ms.jit(lambda x: x * one + other)(Tensor([3.0, 4.0])), [5, 6])


def forward_of(weights):
    w1, b1, w2, b2 = weights
    return np.tanh(X @ w1.T + b1) @ w2.T + b2
