"""Functions that are made anew in every step: compiled once, and never with values of an earlier one."""

import gc
import random
import threading
import unittest
import weakref
from unittest import mock

import numpy as np
from support import Case, rng, warned

import partita as ms
from partita import Parameter, Tensor, nn, ops
from partita._executable import Executable

X = Tensor(np.array([1, -2, 3], "f4"))


class counted:
    """The number of programs that are compiled in a `with` block, as `count`."""

    def __enter__(self):
        self.count, made = 0, Executable.__init__

        def init(program, *args):
            self.count += 1
            made(program, *args)

        self._patch = mock.patch.object(Executable, "__init__", init)
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()


class CompileOnce(Case):
    def compiled(self, step, steps=6):
        """The programs that steps compile after the first two."""
        for i in range(2):
            step(i)
        with counted() as programs:
            for i in range(2, steps):
                step(i)
        return programs.count

    def test_gradients(self):
        weight = Parameter(Tensor(np.array([2, 3, 4], "f4")), "w")
        ways = {
            "value_and_grad": lambda i: ms.value_and_grad(lambda a: (a * weight * float(i)).sum(), 0, [weight])(X),
            "grad": lambda i: ms.grad(lambda a: (a * a * float(i)).sum())(X),
            "grad of a function within": lambda i: ms.grad(self.scaled(float(i)))(X),
            "GradOperation": lambda i: ops.GradOperation(get_all=True)(lambda a: (a * a * float(i)).sum())(X),
            "vmap": lambda i: ms.vmap(lambda a: a * float(i))(X),
            "jacrev": lambda i: ms.jacrev(lambda a: a * a * float(i))(X),
            "jacfwd": lambda i: ms.jacfwd(lambda a: a * a * float(i))(X),
            "vjp": lambda i: ms.vjp(lambda a: a * a * float(i), X)[1](X),
            "jvp": lambda i: ms.jvp(lambda a: a * a * float(i), X, X),
        }
        for name, step in ways.items():
            with self.subTest(name):
                self.assertEqual(self.compiled(step), 0)

    @staticmethod
    def scaled(factor):
        def function(a):
            return (a * a * factor).sum()

        return lambda a: function(a)

    def test_in_graph_mode(self):
        ms.set_context(mode=ms.GRAPH_MODE)
        self.assertEqual(self.compiled(lambda i: ms.grad(lambda a: (a * a).sum())(X)), 0)
        values = [ms.grad(lambda a, i=i: (a * a * float(i)).sum())(X).asnumpy() for i in range(4)]
        self.close(np.stack(values), np.arange(4)[:, None] * 2 * X.asnumpy())

    def test_a_training(self):
        """The forward function is made in each step, as in many examples."""
        net = nn.SequentialCell(nn.Dense(3, 4), nn.Dropout(p=0.5), nn.Dense(4, 1))
        optimizer, loss = nn.SGD(net.trainable_params(), 0.1), nn.MSELoss()
        net.set_train()
        seen = []

        def step(i):
            rows, labels = (Tensor(rng(seed).random((5, n), "f4")) for seed, n in ((i, 3), (i + 1, 1)))

            def forward(a):
                return loss(net(a), labels)

            value, gradients = ms.value_and_grad(forward, None, optimizer.parameters)(rows)
            optimizer(gradients)
            seen.append(float(value))

        self.assertEqual(self.compiled(step), 0)
        self.assertEqual(len(set(seen)), 6)

    def test_draws_differ_between_steps(self):
        ones = Tensor(np.ones(64, "f4"))
        masks = [ms.value_and_grad(lambda a: ops.dropout(a, 0.5))(ones)[0].asnumpy().tobytes() for _ in range(5)]
        self.assertEqual(len(set(masks)), 5)


    def test_parameters_live_no_longer_than_their_users(self):
        x, alive = Tensor(np.ones((1, 3), "f4")), []
        for _ in range(20):
            weight = Parameter(Tensor(np.ones((3, 3), "f4")), name="w")
            alive.append(weakref.ref(weight))
            ms.grad(lambda a, w=weight: ops.matmul(a, w).sum())(x)
            known["weight"] = weight
            ms.grad(eval("lambda a: ops.matmul(a, weight).sum()", known))(x)
        del weight
        known.clear()
        gc.collect()
        self.assertLessEqual(sum(one() is not None for one in alive), 1)


known = {"ops": ops}  # global names of functions


class FollowWhatTheyCloseOver(Case):
    """Random closures, against plain functions of NumPy."""

    def closure(self, draws, kind, factor, table, flag):
        def inner(a):
            return a * factor if flag else a + factor

        if kind == 0:
            return lambda a: (inner(a) * table).sum()
        if kind == 1:
            return lambda a, scale=factor: (a * a * scale * table).sum()
        order = [draws.randrange(3) for _ in range(draws.randrange(1, 4))]
        if kind == 2:
            return lambda a: sum((a[one] * (one + 1.0) * factor for one in order), a[0] * 0.0)
        return lambda a: (ops.tanh(a) if flag else a * a).sum() * factor

    @staticmethod
    def at_once(function, x):
        """Values and gradients by differences, without steps."""
        step, x = 1e-4, x.astype("f8")
        value = float(function(Tensor(x)))
        slope = [
            (float(function(Tensor(x + step * unit))) - float(function(Tensor(x - step * unit)))) / (2 * step)
            for unit in np.eye(3)
        ]
        return value, slope

    def test_random_closures(self):
        draws, numbers = random.Random(5), rng(5)
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            with warned():
                for i in range(150):
                    table = Tensor(numbers.standard_normal(3)) if draws.random() < 0.5 else draws.choice([0.0, 2.0])
                    factor = draws.choice([0.0, -0.0, 1.0, 2.5, draws.random(), 3])
                    function = self.closure(draws, draws.randrange(4), factor, table, draws.random() < 0.5)
                    x = numbers.standard_normal(3)
                    value, slope = self.at_once(function, x)
                    got, found = ms.value_and_grad(function)(Tensor(x))
                    self.close(got, value, 1e-9)
                    self.close(found, slope, 1e-6)

    def test_networks_and_weights(self):
        nets = [nn.Dense(3, 1) for _ in range(3)]
        rows = Tensor(rng(1).random((4, 3), "f4"))
        for _ in range(3):
            for net in nets:
                value, (of_weight,) = ms.value_and_grad(lambda a, net=net: net(a).sum(), None, [net.weight])(rows)
                self.close(value, net(rows).asnumpy().sum(), 1e-5)
                self.close(of_weight, rows.asnumpy().sum(0, keepdims=True), 1e-5)

    def test_lists_of_networks(self):
        """Functions that use other networks have other programs, also if these are in a list."""
        for i in range(3):
            nets = [nn.Dense(3, 1), nn.Dense(3, 1)]
            slope = ms.grad(lambda a, nets=nets: sum(net(a).sum() for net in nets))
            self.close(slope(Tensor([[1.0, 2.0, 3.0]])), sum(net.weight.asnumpy() for net in nets), 1e-5)
            self.assertIn("of functions", nets[0].__dict__["_programs"])
            ((tree, _),) = slope._trees.values()
            self.assertEqual(tree.steps, 1)
            second = ms.grad(lambda a, slope=slope: slope(a).sum())  # a gradient of a gradient function
            second(Tensor([[1.0, 2.0, 3.0]]))
            ((tree, _),) = second._trees.values()
            self.assertEqual(tree.steps, 1)

    def test_single_weights_are_no_tuple(self):
        net = nn.Dense(3, 1)
        rows = Tensor(np.ones((4, 3), "f4"))
        for fn in (net, lambda a: net(a)):
            single = ms.grad(fn, None, net.weight)(rows)
            several = ms.grad(fn, None, [net.weight])(rows)
            generated = ms.grad(fn, None, (one for one in [net.weight]))(rows)
            self.assertIsInstance(single, Tensor)
            for one in (several, generated):
                self.assertIsInstance(one, tuple)
                self.close(one[0], single.asnumpy())

    def test_structures_of_results(self):
        for i in range(4):
            made = ms.value_and_grad(lambda a, i=i: (a.sum(), *[i] * i), 0, None, i > 0)(X)[0]
            self.assertEqual(len(made) if isinstance(made, tuple) else 1, 1 + i)

    def test_functions_that_stay_have_programs_of_their_own(self):
        """Twenty functions of the same code, which take other elements, in turn."""
        functions = [ms.grad(lambda a, i=i: (a[i % 3 :] ** (i + 1)).sum()) for i in range(20)]
        with warned() as lines:
            for turn in range(4):
                with counted() as programs:
                    for i, function in enumerate(functions):
                        expected = (i + 1) * X.asnumpy().astype("f8") ** i
                        expected[: i % 3] = 0
                        np.testing.assert_allclose(function(X).asnumpy(), expected, rtol=1e-5)
        self.assertEqual((programs.count, lines), (0, []))

    def test_threads(self):
        found = {}

        def work(number):
            for i in range(20):
                factor = float(number * 100 + i)
                found[number, i] = ms.grad(lambda a, f=factor: (a * a * f).sum())(X).asnumpy() / 2

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        for (number, i), got in found.items():
            self.close(got, X.asnumpy() * (number * 100 + i), 1e-6)


class Memory(Case):
    def test_networks_are_not_kept(self):
        def trained():
            net = nn.Dense(3, 1)
            ms.value_and_grad(lambda a: net(a).sum(), None, net.trainable_params())(Tensor(np.ones((2, 3), "f4")))
            return weakref.ref(net), weakref.ref(net.weight)

        found = [trained() for _ in range(3)]
        gc.collect()
        self.assertEqual([(a(), b()) for a, b in found], [(None, None)] * 3)

    def test_programs_of_many_functions_are_given_up(self):
        net = nn.Dense(3, 1)
        for i in range(100):
            weight = Parameter(Tensor(np.ones(3, "f4") * i), "w")
            slope = ms.grad(lambda a, weight=weight: (net(a) * weight).sum())(Tensor([[1.0, 2.0, 3.0]]))
            self.close(slope, 3 * i * net.weight.asnumpy(), 1e-4)
        self.assertLessEqual(len(net.__dict__["_programs"]["of functions"]), 64)


if __name__ == "__main__":
    unittest.main()
