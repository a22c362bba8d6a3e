"""Hooks that gradients pass through, and gradients of users that read values."""

import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, nn, ops


class Hooked(nn.Cell):
    """Two cells with hooks of gradients, which note what they get."""

    def __init__(self):
        super().__init__()
        self.relu, self.fc = nn.ReLU(), nn.Dense(2, 2, weight_init="ones", bias_init="zeros")
        self.__dict__["seen"] = []
        self.handle = self.fc.register_backward_hook(self.of_inputs)
        self.relu.register_backward_pre_hook(lambda cell, gradients: gradients[0] * 2.0)

    def of_inputs(self, cell, inputs, outputs):
        self.seen.append((type(cell).__name__, len(inputs), inputs[0].shape, len(outputs)))
        return (inputs[0] * 10.0,)

    def construct(self, x):
        return self.relu(self.fc(x)).sum()


class Hooks(Case):
    """Hooks of gradients; the numbers are those of the documented system."""

    def test_of_cells(self):
        net, x = Hooked(), Tensor(np.ones((1, 2), "f4"))
        gradient = ms.grad(net)
        for calls in (1, 2, 3):
            self.close(gradient(x), [[40, 40]])
        self.assertEqual(set(net.seen), {("Dense", 1, (1, 2), 1)})
        self.assertGreaterEqual(len(net.seen), 3)
        net.handle.remove()
        self.close(gradient(x), [[4, 4]])

    def test_of_tensors(self):
        def hooked(x):
            y = x * 2.0
            handle = y.register_hook(lambda gradient: gradient * 3.0)
            z = y.sum()
            handle.remove() if float(x[0]) > 5 else None
            return z

        self.close(ms.grad(hooked)(Tensor([1.0, 1.0])), [6, 6])
        self.close(ms.grad(hooked)(Tensor([9.0, 1.0])), [2, 2])

    def test_of_inputs(self):
        def function(x, y):
            x.register_hook(lambda gradient: gradient * 3)
            return (x * x * y).sum()

        x, y = Tensor(np.array([3, 4], "f4")), Tensor(np.array([2, -1], "f4"))
        for _ in range(2):
            self.close(ms.grad(function)(x, y), [36, -24])
            found = ms.grad(function, (0, 1))(x, y)
            self.close(found[0], [36, -24])
            self.close(found[1], [9, 16])
            self.close(ops.GradOperation(get_all=True)(function)(x, y)[0], [36, -24])
            self.close(ms.jit(ms.grad(function))(x, y), [36, -24])

    def test_parameters_take_none(self):
        weight = ms.Parameter(Tensor(np.ones(2, "f4")), name="w")
        with self.refuses(NotImplementedError, "[register_hook] a parameter takes no hook, got 'w'"):
            weight.register_hook(lambda gradient: gradient)

    def test_read_values(self):
        seen = []

        def clipped(cell, inputs, outputs):
            norm = float((inputs[0] * inputs[0]).sum()) ** 0.5
            seen.append((norm, outputs[0].asnumpy().copy()))
            return (inputs[0] * (1.0 / norm) if norm > 1 else inputs[0],)

        net = nn.Dense(2, 2, weight_init="ones", bias_init="zeros")
        net.register_backward_hook(clipped)
        both = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), 0, net.trainable_params())
        for factor in (1.0, 2.0, 0.01, 1.0):
            value, (gradient, _) = both(Tensor(np.full((1, 2), factor, "f4")))
            self.close(value, 8 * factor**2, 1e-5)
            whole = np.full((1, 2), 8 * factor)
            self.close(gradient, whole / max(1, np.linalg.norm(whole)), 1e-5)
            self.close(seen[-1][0], np.linalg.norm(whole), 1e-5)
            self.close(seen[-1][1], np.full((1, 2), 4 * factor), 1e-5)
        self.assertEqual(len(seen), 4)  # once in each step, whatever it calls

    def test_branch_on_values(self):
        class Own(nn.Cell):
            def construct(self, x):
                return x * 2.0

            def bprop(self, x, out, dout):
                return dout * 5.0 if dout.sum() > 2 else dout * x * 2.0

        own = Own()
        gradient = ms.grad(lambda a, k: (own(a) * k).sum())
        for k in (0.5, 3.0, 0.5, 3.0, 1.5):
            expected = np.full(2, 5 * k) if 2 * k > 2 else np.array([1, 2]) * 2 * k
            self.close(gradient(Tensor([1.0, 2.0]), k), expected)
        twice = ms.grad(lambda a: own(own(a)).sum())
        for given in ([1.0, 2.0], [0.1, 0.2], [1.0, 2.0]):
            self.close(twice(Tensor(given)), self.twice(given), 1e-5)

    @staticmethod
    def twice(x):
        """The gradient of two such cells, one after the other."""
        x, d = np.array(x), np.ones(2)
        d = d * 5 if d.sum() > 2 else d * (2 * x) * 2
        return d * 5 if d.sum() > 2 else d * x * 2

    def test_as_ops(self):
        clip = ops.InsertGradientOf(lambda gradient: ops.clamp(gradient, -1.0, 1.0))
        both = ops.HookBackward(lambda gradients: tuple(one * 5.0 for one in gradients))
        x = Tensor([1.0, -3.0])
        self.close(ms.grad(lambda a: (clip(a) * a).sum())(x), np.clip([1, -3], -1, 1) + np.array([1, -3]))
        self.close(ms.grad(lambda a: sum(both(a, a)).sum())(x), [10, 10])

    def test_refuse_others(self):
        with self.refuses(TypeError, "[register_hook] the hook is not a function, got int"):
            Tensor([1.0]).register_hook(3)
        with self.refuses(ValueError, "backward_hook] wrong number of gradients, got 2, expected 1"):
            net = nn.ReLU()
            net.register_backward_hook(lambda cell, inputs, outputs: (inputs[0], inputs[0]))
            ms.grad(lambda a: net(a).sum())(Tensor([1.0]))


if __name__ == "__main__":
    unittest.main()
