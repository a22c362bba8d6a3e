"""Hooks and gradients of users in steps: they are those of the step that runs, and compile once."""

import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, ops

ROWS = [[1.0, 2.0], [3.0, 4.0]]


class Own(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x, y):
        return x * y

    def bprop(self, x, y, out, dout):
        return dout * y * self.factor, None


class Hooks(Case):
    def sums(self, function, steps=6):
        """Sums of the gradients of some steps, and how many programs these compiled."""
        step = ms.value_and_grad(function, 0)
        found = [float(step(Tensor(ROWS))[1].sum()) for _ in range(steps)]
        ((tree, _),) = step._trees.values()
        return found, tree.compiled

    def test_hooks_of_tensors_compile_once(self):
        def function(x):
            y = x * 2.0
            y.register_hook(lambda gradient: gradient * 0.5)
            return (y * y).sum()

        self.assertEqual(self.sums(function), ([40.0] * 6, 1))

    def test_numbers_of_hooks_are_those_of_the_step(self):
        counts = iter(range(1, 7))

        def function(x):
            y, factor, offset = x * 2.0, float(next(counts)), Tensor(np.zeros(2, "f4"))
            y.register_hook(lambda gradient, factor=factor: gradient * factor + offset)
            return (y * y).sum()

        self.assertEqual(self.sums(function), ([80.0 * i for i in range(1, 7)], 2))

    def test_hooks_that_differ_are_those_of_the_step(self):
        counts = iter(range(6))
        hooks = [lambda gradient: gradient * 0.5, lambda gradient: gradient * gradient]

        def function(x):
            y = x * 2.0
            y.register_hook(hooks[next(counts) % 2])
            return (y * y).sum()

        self.assertEqual(self.sums(function), ([40.0, 960.0] * 3, 2))

    def test_hooks_of_a_tensor_are_called_in_their_order(self):
        def function(x):
            y = x * 2.0
            y.register_hook(lambda gradient: gradient * 2.0 + 2.0)
            handle = y.register_hook(lambda gradient: gradient * 7.0)
            y.register_hook(lambda gradient: gradient * 3.0 + 2.0)
            y.register_hook(lambda gradient: None)
            handle.remove()
            return (y * y).sum()

        self.assertEqual(self.sums(function)[0], [544.0] * 6)
        program = ms.jit(ms.grad(function))
        self.assertEqual(float(program(Tensor(ROWS)).sum()), 544.0)

    def test_cells_of_a_step_and_their_numbers_compile_once(self):
        counts = iter(range(1, 7))

        def function(x):
            i = float(next(counts))
            return Own(i)(x * 2.0, i * 0.5).sum()

        found, compiled = self.sums(function)
        self.assertEqual(found, [4.0 * i * i for i in range(1, 7)])
        self.assertLessEqual(compiled, 2)

    def test_ops_that_insert_gradients_compile_once(self):
        counts = iter(range(1, 7))

        def function(x):
            limit = float(next(counts))
            y = ops.InsertGradientOf(lambda gradient: gradient * limit)(x * 1.0)
            return (y * y).sum()

        self.assertEqual(self.sums(function), ([20.0 * i for i in range(1, 7)], 2))


class Gradients(Case):
    def test_a_gradient_of_ones_own_can_change_a_tensor(self):
        class Changes(nn.Cell):
            def __init__(self):
                super().__init__()
                self.__dict__["scale"] = Tensor(np.ones(2, "f4"))

            def construct(self, x):
                return x * 1.0

            def bprop(self, x, out, dout):
                gradient = dout * self.scale
                self.scale[0] = 5.0
                return gradient * self.scale

        cell = Changes()
        gradient = ms.grad(lambda x: cell(x).sum())
        found = [gradient(Tensor(ROWS)).asnumpy()[0].tolist() for _ in range(3)]
        self.assertEqual(found, [[5.0, 1.0], [25.0, 1.0], [25.0, 1.0]])


if __name__ == "__main__":
    unittest.main()
