"""Values that functions use besides their arguments: programs follow them when they change."""

import contextlib
import io
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn

FACTOR = 1.0


class Settings:
    factor = 1.0
    unused = 0.0

    def __init__(self):
        self.factor = 1.0


class Captured(Case):
    def setUp(self):
        super().setUp()
        self.x = Tensor(np.arange(1, 4, dtype="f4"))

    def gradient(self, function):
        return float(ms.grad(lambda x: function(x).sum())(self.x)[0])

    def test_of_closures(self):
        factor = 2.0
        step = ms.grad(lambda x: (x * factor).sum())
        self.close(step(self.x), [2, 2, 2])
        factor = 3.0
        self.close(step(self.x), [3, 3, 3])

    def test_of_globals(self):
        global FACTOR
        step = ms.grad(lambda x: (x * FACTOR).sum())
        FACTOR = 2.0
        self.close(step(self.x), [2, 2, 2])
        FACTOR = 3.0
        self.close(step(self.x), [3, 3, 3])

    def test_of_functions_that_are_called(self):
        factor = 2.0

        def scaled(x):
            return x * factor

        step = ms.grad(lambda x: scaled(x).sum())
        self.close(step(self.x), [2, 2, 2])
        factor = 3.0
        self.close(step(self.x), [3, 3, 3])

    def test_of_objects(self):
        settings = Settings()
        step = ms.grad(lambda x: (x * settings.factor).sum())
        self.close(step(self.x), [1, 1, 1])
        settings.factor = 4.0
        self.close(step(self.x), [4, 4, 4])

    def test_of_methods(self):
        class Trainer:
            def __init__(self):
                self.factor, self.steps = 1.0, 0
                self.step = ms.grad(self.loss)

            def loss(self, x):
                return self.scaled(x).sum()

            def scaled(self, x):
                return x * self.factor

        trainer = Trainer()
        self.close(trainer.step(self.x), [1, 1, 1])
        trainer.factor = 5.0
        self.close(trainer.step(self.x), [5, 5, 5])

    def test_of_tensors_that_are_changed_in_place(self):
        for values in ([2.0], [2.0, 2.0, 2.0]):
            factor = Tensor(values)
            step = ms.grad(lambda x: (x * factor).sum())
            self.close(step(self.x), [2, 2, 2])
            factor[0] = 4.0
            self.assertEqual(float(step(self.x)[0]), 4.0)

    def test_that_do_not_matter_keep_the_program(self):
        global ndim
        calls = []
        step = ms.jit(lambda x: calls.append(1) or x * float(x.ndim))
        for ndim in range(4):  # of the same name as the attribute
            step(self.x)
        self.assertEqual(len(set(calls)), 1)
        traces = len(calls)
        ndim = 9
        step(self.x)
        self.assertEqual(len(calls), traces)
        calls.clear()

        class Trainer:
            def __init__(self):
                self.steps = 0
                self.step = ms.jit(self.scaled)

            def scaled(self, x):
                calls.append(1)
                return x * 2.0

        trainer = Trainer()
        for _ in range(4):
            trainer.step(self.x)
            trainer.steps += 1
        traces = len(calls)
        trainer.step(self.x)
        self.assertEqual(len(calls), traces)

    def test_that_come_back_find_their_program(self):
        calls = []
        factor = 1.0

        @ms.jit
        def scaled(x):
            calls.append(1)
            return x * factor

        for factor in (1.0, 2.0, 1.0, 2.0):
            self.close(scaled(self.x), factor * self.x.asnumpy())
        once = len(calls) // 2
        scaled(self.x)
        self.assertEqual(len(calls), 2 * once)

    def test_that_change_always_are_warned_of(self):
        factor = 0.0

        @ms.jit
        def scaled_anew(x):
            return x * factor

        with contextlib.redirect_stderr(io.StringIO()) as said:
            for factor in range(12):
                self.close(scaled_anew(self.x), factor * self.x.asnumpy())
        self.assertEqual(said.getvalue().count("'scaled_anew' is compiled again and again"), 1)


class Modes(Case):
    """`set_train` is heard wherever the cell is."""

    def setUp(self):
        super().setUp()
        self.x = Tensor(np.array([[1.0], [3.0]], "f4"))

    def follows(self, net, step, cell=None):
        """Statistics of the batch in a training, running ones else."""
        (cell or net).set_train(True)
        self.close(step(self.x), 1.0, 1e-3)
        (cell or net).set_train(False)
        self.assertGreater(abs(float(step(self.x)) - 1.0), 0.1)

    def test_of_attributes(self):
        class Trainer:
            def __init__(self):
                self.net = nn.BatchNorm2d(1)
                self.step = ms.jit(self.loss)

            def loss(self, x):
                return (self.net(x.reshape(2, 1, 1, 1)) ** 2).mean()

        trainer = Trainer()
        self.follows(trainer.net, trainer.step)

    def test_of_lists(self):
        nets = [nn.BatchNorm2d(1)]
        self.follows(nets[0], ms.jit(lambda x: (nets[0](x.reshape(2, 1, 1, 1)) ** 2).mean()))

    def test_of_arguments(self):
        net = nn.BatchNorm2d(1)
        step = ms.jit(lambda cell, x: (cell(x.reshape(2, 1, 1, 1)) ** 2).mean())
        self.follows(net, lambda x: step(net, x))

    def test_of_cells_within(self):
        net = nn.SequentialCell(nn.BatchNorm2d(1))
        self.follows(net, ms.jit(lambda x: (net(x.reshape(2, 1, 1, 1)) ** 2).mean()), net[0])

    def test_of_graph_mode(self):
        ms.set_context(mode=ms.GRAPH_MODE)

        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.norm, self.factor = nn.BatchNorm2d(1), 1.0

            def construct(self, x):
                return (self.norm(x.reshape(2, 1, 1, 1)) ** 2).mean() * self.factor

        net = Net()
        self.follows(net, net)
        before = float(net(self.x))
        net.factor = 2.0
        self.assertAlmostEqual(float(net(self.x)), 2 * before, 5)

    def test_of_cells_that_are_replaced(self):
        net = nn.SequentialCell(nn.Dense(1, 1, weight_init="ones", has_bias=False))
        step = ms.jit(lambda x: net(x).sum())
        self.assertEqual(float(step(self.x)), 4.0)
        net.insert_child_to_cell("0", nn.Dense(1, 1, weight_init="zeros", has_bias=False))
        self.assertEqual(float(step(self.x)), 0.0)


class Methods(Case):
    """Values that methods of cells use and that are no attributes, and attributes of methods that are programs."""

    def setUp(self):
        super().setUp()
        self.x = Tensor(np.ones(2, "f4"))

    def test_of_globals_and_closures(self):
        global FACTOR
        factors = [1.0, 2.0]

        class Scaled(nn.Cell):
            def construct(self, x):
                return x * FACTOR * factors[0]

            def bprop(self, x, out, dout):
                return dout * Tensor(np.array(factors, "f4"))

        net = Scaled()
        FACTOR = 1.0
        call, gradient = ms.jit(lambda x: net(x)), ms.grad(lambda x: net(x).sum())
        self.close(call(self.x), [1, 1])
        self.close(gradient(self.x), [1, 2])
        FACTOR, factors[1] = 3.0, 7.0
        self.close(call(self.x), [3, 3])
        self.close(gradient(self.x), [1, 7])
        factors[0] = 2.0
        self.close(call(self.x), [6, 6])

    def test_that_are_programs(self):
        class Decorated(nn.Cell):
            def __init__(self):
                super().__init__()
                self.factor, self.offsets = 1.0, [0.0, np.zeros(2, "f4")]

            @ms.jit
            def construct(self, x):
                return x * self.factor + self.offsets[0] + Tensor(self.offsets[1])

        net = Decorated()
        self.close(net(self.x), [1, 1])
        net.factor = 5.0
        self.close(net(self.x), [5, 5])
        net.offsets[0] = 2.0  # nothing is set
        self.close(net(self.x), [7, 7])
        net.offsets[1][1] = 1.0
        self.close(net(self.x), [7, 8])


class Optimizers(Case):
    def updated(self, make, *changes):
        """One parameter of 1 after updates by gradients of 1, with changes of the optimizer between them."""
        parameter = ms.Parameter(Tensor([1.0]), name="w")
        optimizer = make([parameter])
        for change in (lambda one: None, *changes):
            change(optimizer)
            optimizer((Tensor([1.0]),))
        return float(parameter)

    def test_hear_of_their_rate(self):
        for kind in (nn.SGD, nn.Adagrad):
            make = lambda p: kind(p, learning_rate=0.5)  # noqa: E731
            once = self.updated(make)
            for change in (
                lambda one: one.learning_rate.set_data(Tensor(0.0)),
                lambda one: ms.ops.assign(one.learning_rate, Tensor(0.0)),
                lambda one: setattr(one, "learning_rate", 0.0),
            ):
                self.assertEqual(self.updated(make, change), once)
        with self.refuses(ValueError, "the rates of all steps are given already"):
            self.updated(lambda p: nn.SGD(p, [0.1, 0.2]), lambda one: one.learning_rate.set_data(Tensor(0.0)))

    def test_hear_of_their_decay(self):
        make = lambda p: nn.SGD(p, 0.5, weight_decay=1.0)  # noqa: E731
        self.assertEqual(self.updated(make), 0.0)
        self.assertEqual(self.updated(make, lambda one: setattr(one, "weight_decay", 0.0)), -0.5)

    def test_do_not_decay_scales_and_offsets_of_norms(self):
        for make in (
            lambda p: nn.SGD(p, 0.1, weight_decay=0.5),
            lambda p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=0.5),
            lambda p: nn.Momentum(p, 0.1, 0.9, weight_decay=0.5),
            lambda p: nn.Adam(p, 0.1, weight_decay=0.5),
            lambda p: nn.AdamWeightDecay(p, 0.1, weight_decay=0.5),
            lambda p: nn.RMSProp(p, learning_rate=0.1, weight_decay=0.5),
        ):
            net = nn.SequentialCell(nn.Dense(3, 2, bias_init="ones"), nn.LayerNorm((2,)))
            net[1].beta.set_data(Tensor([1.0, 1.0]))
            before = {name: one.asnumpy().copy() for name, one in net.parameters_dict().items()}
            update = make(net.trainable_params())
            update(tuple(ms.ops.zeros_like(one) for one in net.trainable_params()))
            changed = {name for name, one in net.parameters_dict().items() if (one.asnumpy() != before[name]).any()}
            self.assertEqual(changed, {"0.weight", "0.bias"})

    def test_have_the_states_of_their_parameters(self):
        first, second = (ms.Parameter(Tensor([1.0]), name=name) for name in "ab")
        one, two = nn.Adam([first], 0.1), nn.Adam([second], 0.1)

        @ms.jit
        def both(gradient):
            one((gradient,))
            two((gradient,))
            return gradient

        both(Tensor([1.0]))
        self.assertTrue(any(name.startswith("a.") for name in one.states))
        self.assertTrue(any(name.startswith("b.") for name in two.states))
        self.assertFalse(any(name.startswith("b.") for name in one.states))

    def test_update_once_in_a_program(self):
        optimizer = nn.Momentum([ms.Parameter(Tensor([1.0]), name="w")], 0.1, 0.9)

        @ms.jit
        def twice(gradient):
            optimizer((gradient,))
            optimizer((gradient,))
            return gradient

        with self.refuses(NotImplementedError, "an optimizer is called twice in one program"):
            twice(Tensor([1.0]))


if __name__ == "__main__":
    unittest.main()
