"""Gradients by any values of a program, steps and optimizers that are changed or replaced, states in files."""

import contextlib
import io
import os
import tempfile
import unittest

import numpy as np
from support import Case, labelled

import partita as ms
from partita import Parameter, Tensor, nn, ops, train
from partita import dataset as ds


class Gradients(Case):
    """Gradients are the same outside of programs and within one."""

    def setUp(self):
        super().setUp()
        self.x = Tensor(np.array([3.0, 4.0], "f4"))

    def both(self, function, expected, *args):
        for one in (function, ms.jit(function)):
            self.close(one(*args), expected)

    def test_by_values_that_are_made_in_between(self):
        self.both(lambda x: ms.grad(lambda a: (a * a).sum())(x * 2), [12, 16], self.x)
        net = nn.SequentialCell(nn.Dense(2, 2, "ones"), nn.Dense(2, 1, "ones"))
        self.both(lambda x: ms.grad(lambda a: net[1](a).sum())(net[0](x)), np.ones((1, 2)), self.x.reshape(1, 2))

    def test_of_gradients(self):
        """By the parameters of a penalty on a gradient by an interpolated sample."""
        weight = Parameter(np.array([1.0, 2.0], "f4"), name="weight")

        def penalty(x):
            slope = ms.grad(lambda a: (a * a * weight).sum())(x * 0.5)
            return (slope * slope).sum()

        # slope = x w, by w: 2 x^2 w
        self.both(penalty, (self.x.asnumpy() * [1, 2]) @ (self.x.asnumpy() * [1, 2]), self.x)
        gradient = ms.value_and_grad(penalty, None, [weight])(self.x)[1]
        self.close(gradient[0] if isinstance(gradient, tuple) else gradient, [18, 64])

    def test_by_arguments_and_nothing_else_of_the_same_value(self):
        product = lambda a, b: (a * b).sum()  # noqa: E731
        self.both(lambda x: ms.grad(product, (0, 1))(x, x)[0], [3, 4], self.x)
        self.both(lambda x: ms.grad(lambda a: (a * x).sum())(x), [3, 4], self.x)
        self.both(lambda x: ops.GradOperation(get_all=True)(product)(x, x)[1], [3, 4], self.x)
        weight = Parameter(np.array([5.0, 6.0], "f4"), name="weight")
        self.both(lambda x: ms.grad(lambda a: (a * weight * x).sum())(weight), [15, 24], self.x)


class Constants(Case):
    def test_of_any_sizes(self):
        data = Tensor(np.ones(4, "f4"))
        self.close(ms.jit(lambda x: x * Tensor(2.0) * Tensor(3.0) * data)(data), [6] * 4)
        self.close(ms.jit(lambda x: x * Tensor(np.pad(np.ones(2, "f4"), 1)))(data), [0, 1, 1, 0])

    def test_copies_have_their_own_values(self):
        one = Tensor(np.ones(2, "f4"))
        copy = Tensor(one)
        one[0] = 5
        self.close(copy, [1, 1])


class Clipped(nn.Momentum):
    def construct(self, gradients):
        return super().construct(tuple(ops.clip_by_value(one, -0.5, 0.5) for one in gradients))


class Doubled(nn.TrainOneStepCell):
    """A step of one's own, as scripts write it."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        factor = ops.ones_like(loss) * 2
        self.optimizer(self.grad(self.network, self.weights)(*inputs, factor))
        return loss


class Sums(Doubled):
    """A step as older scripts write it, with attributes of its own."""

    def __init__(self, network, optimizer):
        super().__init__(network, optimizer)
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)
        self.weights = ms.ParameterTuple(network.trainable_params())


class Steps(Case):
    def setUp(self):
        super().setUp()
        self.data, self.label = Tensor(np.ones((1, 2), "f4")), Tensor(np.zeros((1, 1), "f4"))

    def net(self):
        return nn.Dense(2, 1, weight_init="ones", bias_init="zeros")

    def test_clip_gradients(self):
        net = self.net()
        optimizer = Clipped(net.trainable_params(), 1.0, 0.0)
        optimizer((Tensor(np.full((1, 2), 5.0, "f4")), Tensor(np.zeros(1, "f4"))))
        self.close(net.weight, [[0.5, 0.5]])
        net = self.net()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), Clipped(net.trainable_params(), 1.0, 0.0))
        step(self.data, self.label)  # by 4, and cut to 0.5
        self.close(net.weight, [[0.5, 0.5]])
        rows = ds.NumpySlicesDataset((np.ones((2, 2), "f4"), np.zeros((2, 1), "f4")), ["x", "y"]).batch(2)
        net = self.net()
        train.Model(net, nn.MSELoss(), Clipped(net.trainable_params(), 1.0, 0.0)).train(1, rows)
        self.close(net.weight, [[0.5, 0.5]])

    def test_refuse_methods_that_are_not_called(self):
        class Rates(nn.SGD):
            def get_lr(self):
                return 0.5

        with self.refuses(NotImplementedError, "got get_lr of its own", "expected `update` or `construct`"):
            Rates(self.net().trainable_params(), 0.1)

    def test_of_ones_own(self):
        net = self.net()
        for kind, mode in ((Doubled, ms.PYNATIVE_MODE), (Doubled, ms.GRAPH_MODE), (Sums, ms.GRAPH_MODE)):
            step = kind(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
            ms.set_context(mode=mode)
            net.weight.set_data(Tensor(np.ones((1, 2), "f4")))
            net.bias.set_data(Tensor(np.zeros(1, "f4")))
            self.close(step(self.data, self.label), 4)
            self.close(net.weight, [[0.2, 0.2]])  # 1 - 0.1 * 2 * 4

    def test_take_what_replaces_their_parts(self):
        net = self.net()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
        step(self.data, self.label)
        step.optimizer = nn.SGD(net.trainable_params(), 0.0)
        before = net.weight.asnumpy().copy()
        loss = step(self.data, self.label)
        self.close(net.weight, before, 0)
        step.network = nn.WithLossCell(net, nn.MAELoss())
        self.close(float(step(self.data, self.label)) ** 2, float(loss))

    def test_leave_frozen_parameters(self):
        net = self.net()
        step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
        step(self.data, self.label)
        before = net.weight.asnumpy().copy(), net.bias.asnumpy().copy()
        net.weight.requires_grad = False
        step(self.data, self.label)
        self.close(net.weight, before[0], 0)
        self.assertTrue((net.bias.asnumpy() != before[1]).all())

    def test_count_for_each_optimizer(self):
        first, second = (Parameter(np.ones(1, "f4"), name=name) for name in "ab")
        early, late = nn.Adam([first], 0.1), nn.Adam([second], 0.1)
        gradient = Tensor(np.ones(1, "f4"))

        @ms.jit
        def both(gradient):
            early((gradient,))
            late((gradient,))
            return gradient

        both(gradient)
        self.close(second, [0.9], 1e-4)
        early((gradient,))
        with self.refuses(RuntimeError, "got [1, 2] steps", "a program for each"):
            both(gradient)
        late((gradient,))
        both(gradient)  # as many by each again
        alone = Parameter(np.ones(1, "f4"), name="alone")
        optimizer = nn.Adam([alone], 0.1)
        for _ in range(3):
            optimizer((gradient,))
        for one in (first, second):
            self.close(one, alone, 1e-6)
        for one in (early, late):
            self.assertEqual(int(one.states["step"].asnumpy()), 3)

    def test_do_not_count_for_optimizers_that_need_no_number(self):
        first, second = (Parameter(np.ones(1, "f4"), name=name) for name in "ab")
        plain, adam = nn.SGD([first], 0.1), nn.Adam([second], 0.1)
        gradient = Tensor(np.ones(1, "f4"))
        plain((gradient,))

        @ms.jit
        def both(gradient):
            plain((gradient,))
            adam((gradient,))
            return gradient

        both(gradient)
        self.close(first, [0.8])
        self.close(second, [0.9], 1e-4)

    def test_name_parameters_that_are_in_no_group(self):
        net = self.net()
        optimizer = nn.SGD([{"params": net.trainable_params(), "lr": 0.2}], 0.1)
        step = nn.TrainOneStepCell(nn.WithLossCell(nn.SequentialCell(net), nn.MSELoss()), optimizer)
        with self.refuses(RuntimeError, "a parameter belongs to no group, got '0.weight'"):
            step(self.data, self.label)


class States(Case):
    """States of optimizers, in files."""

    def test_of_other_optimizers_or_shapes_are_not_taken(self):
        weight = Parameter(np.ones(2, "f4"), name="w")
        adam = nn.Adam([weight], 0.1)
        given = {"w.momentum": Tensor(np.ones(2, "f4")), "global_step": Tensor(3)}
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(ms.load_param_into_net(adam, given), ([], ["w.momentum"]))
        self.assertIn("no state is loaded, got 1 names, none of one of Adam", errors.getvalue())
        with self.refuses(RuntimeError, "'w.exp_avg' is of another shape, got (5,), expected (2,)"):
            ms.load_param_into_net(adam, {"w.exp_avg": np.ones(5, "f4")})

    def test_go_on(self):
        rows = ds.NumpySlicesDataset(labelled(24), ["data", "label"], shuffle=False).batch(12)
        for kind in (
            lambda params: nn.Momentum(params, 0.1, 0.9),
            lambda params: nn.Adam(params, 0.01),
            lambda params: nn.SGD(params, [0.1, 0.05, 0.02, 0.01, 0.5, 0.2]),
        ):

            def made():
                net = nn.Dense(6, 3)
                optimizer = kind(net.trainable_params())
                return net, optimizer, train.Model(net, nn.CrossEntropyLoss(), optimizer)

            with tempfile.TemporaryDirectory() as folder:
                ms.set_seed(3)
                whole, optimizer, model = made()
                saver = train.ModelCheckpoint("x", folder, train.CheckpointConfig(save_checkpoint_steps=2))
                model.train(2, rows, [saver])
                apart = os.path.join(folder, "apart.ckpt")
                ms.save_checkpoint(optimizer, apart)
                model.train(1, rows)
                saved = ms.load_checkpoint(os.path.join(folder, "x-2_2.ckpt"))
                for states in (saved, ms.load_checkpoint(apart)):
                    net, optimizer, model = made()
                    ms.load_param_into_net(net, saved)
                    missing, unused = ms.load_param_into_net(optimizer, states)
                    self.assertEqual(missing, [])
                    self.assertFalse([one for one in unused if "." in one and not one.startswith("checkpoint.")])
                    self.assertEqual(int(optimizer.global_step), 4)
                    model.train(1, rows)
                    self.close(net.weight, whole.weight, 0)

    def test_go_to_parameters_of_their_names_alone(self):
        class Old(nn.Cell):
            def __init__(self):
                super().__init__()
                self.weight = Parameter(np.full(3, 7, "f4"), name="weight")
                self.bias = Parameter(np.full(3, 9, "f4"), name="bias")

        class New(Old):
            def __init__(self):
                super().__init__()
                self.gamma = Parameter(np.full(3, 1, "f4"), name="gamma")
                self.beta = Parameter(np.full(3, 0, "f4"), name="beta")

        new = New()
        missing, unused = ms.load_param_into_net(new, {one.name: one for one in Old().get_parameters()})
        self.assertEqual((sorted(missing), unused), (["beta", "gamma"], []))
        self.close(new.gamma, [1] * 3)
        norm = nn.LayerNorm((3,))
        self.assertEqual(ms.load_param_into_net(norm, {one.name: one for one in Old().get_parameters()}), ([], []))
        self.close(norm.gamma, [7] * 3)

    def test_of_other_names_or_kinds_are_told(self):
        net = nn.Dense(2, 1)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            ms.load_param_into_net(net, {"other": Parameter(np.ones(2, "f4"), name="other")})
        self.assertIn("nothing is loaded, got 1 names, none of them one of 2", errors.getvalue())
        with self.refuses(RuntimeError, "'bias' is of another type, got Int32"):
            ms.load_param_into_net(net, {"bias": Parameter(np.ones(1, "i4"), name="bias")})


if __name__ == "__main__":
    unittest.main()
