"""Gradients of users that make other calls from step to step: each is called once in a step, also within another."""

import random
import unittest

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, nn, ops

calls = []


class Step(nn.Cell):
    """x * 2, whose gradient is what `way(x, out, dout)` gives."""

    def __init__(self, way):
        super().__init__()
        self.__dict__["way"] = way

    def construct(self, x):
        return x * 2.0

    def bprop(self, x, out, dout):
        calls.append(self)
        return self.way(x, out, dout)


# (way of tensors, the same of arrays). Some read values, before or after they compute.
WAYS = [
    (lambda x, out, d: d * 2.0, lambda x, out, d: d * 2),
    (lambda x, out, d: d * x + out, lambda x, out, d: d * x + out),
    (lambda x, out, d: d * float(d.sum()), lambda x, out, d: d * d.sum()),
    (lambda x, out, d: d * 3.0 if d.sum() > 1 else d * out, lambda x, out, d: d * 3 if d.sum() > 1 else d * out),
    (lambda x, out, d: (d + 1.0) * float((d * 2.0).sum()), lambda x, out, d: (d + 1) * (d * 2).sum()),
    (lambda x, out, d: d + Tensor(d.asnumpy() * 0.5), lambda x, out, d: d * 1.5),
    (lambda x, out, d: d * 2.0 * float(x.sum()) * float(out.sum()), lambda x, out, d: d * 2 * x.sum() * out.sum()),
]


class OfOneStep(Case):
    def setUp(self):
        super().setUp()
        del calls[:]

    def test_random_ways(self):
        """Three gradients one after the other, each with ways that change."""
        for seed in range(2):
            draws, now = random.Random(seed), [0, 0, 0]
            cells = [Step(lambda x, out, d, i=i: WAYS[now[i]][0](x, out, d)) for i in range(3)]

            def chain(x, cells=cells):
                for cell in cells:
                    x = ops.tanh(cell(x))
                return x.sum()

            gradient = ms.grad(chain)
            for _ in range(16):
                now[:] = [draws.choice(range(len(WAYS))) if draws.random() < 0.6 else one for one in now]
                x = rng(draws.randrange(1000)).standard_normal(3)
                del calls[:]
                self.close(gradient(Tensor(x)), self.expected(x, now), 1e-9)
                self.assertEqual(len(calls), 3)

    @staticmethod
    def expected(x, now):
        kept = []
        for _ in now:
            out = x * 2
            kept.append((x, out))
            x = np.tanh(out)
        d = np.ones_like(x)
        for (x, out), way in zip(reversed(kept), reversed(now)):
            d = WAYS[way][1](x, out, d * (1 - np.tanh(out) ** 2))
        return d

    def test_results_that_have_no_gradient(self):
        """After such a gradient another number of gradients is called: all are called again."""
        has, factors, numbers = [True], [3.0], [2.0]
        first = Step(lambda x, out, d: d * factors[0])
        second = Step(lambda x, out, d: d * 5.0 if has[0] else (None,))
        slope = ms.grad(lambda a: (second(first(a)) + a).sum())
        step = ms.value_and_grad(lambda a: slope(a).sum() * numbers[0])
        draws = random.Random(1)
        for order in ([True, False] * 6, [False, True] * 6, [draws.random() < 0.5 for _ in range(12)]):
            for has[0] in order:
                factors[0], numbers[0] = draws.random(), draws.random()
                expected = 5 * factors[0] + 1 if has[0] else 1
                self.close(step(Tensor([1.0, 2.0]))[0], 2 * expected * numbers[0], 1e-6)

    def test_random_inputs_without_gradients(self):
        """Three gradients of two inputs, of which either or both may have none, with numbers that change."""

        class Pair(nn.Cell):
            def __init__(self, number):
                super().__init__()
                self.__dict__["number"] = number

            def construct(self, x, y):
                return x * 2.0 + y

            def bprop(self, x, y, out, dout):
                found = dout * factors[self.number]
                if reads[0]:
                    found = found * float(dout.sum())
                return tuple(found * (i + 1.0) if one else None for i, one in enumerate(has[self.number]))

        draws = random.Random(7)
        cells = [Pair(i) for i in range(3)]
        has, factors, reads, number = [None] * 3, [0.0] * 3, [False], [1.0]

        def total(x, y):
            first = cells[0](x, y)
            return (cells[2](cells[1](first, y), first) * Tensor([1.0, -0.5])).sum() + (x * y).sum()

        slope = ms.grad(total, (0, 1))
        step = ms.value_and_grad(lambda x, y: (slope(x, y)[0].sum() + slope(x, y)[1].sum() * 2.0) * number[0])
        for _ in range(60):
            for i, one in enumerate(has):
                if one is None or draws.random() < 0.5:
                    has[i] = draws.random() < 0.7, draws.random() < 0.7
            factors[:], number[0] = [draws.random() for _ in range(3)], draws.random()
            reads[0] = draws.random() < 0.3
            x, y = rng(draws.randrange(99)).standard_normal((2, 2))
            d_x, d_y = self.of_pairs(x, y, has, factors, reads[0])
            got = step(Tensor(x), Tensor(y))[0]
            self.close(got, (d_x.sum() + 2 * d_y.sum()) * number[0], 1e-9)

    @staticmethod
    def of_pairs(x, y, has, factors, reads):
        def back(number, d):
            found = d * factors[number] * (d.sum() if reads else 1)
            return [found * (i + 1) * one for i, one in enumerate(has[number])]

        d_second, d_first = back(2, np.array([1, -0.5]))
        d_x, d_y = y.copy(), x.copy()
        if has[2][0]:  # else the gradient of the second is not called
            more, d = back(1, d_second)
            d_first, d_y = d_first + more, d_y + d
        if has[2][1] or (has[2][0] and has[1][0]):
            d, more = back(0, d_first)
            d_x, d_y = d_x + d, d_y + more
        return d_x, d_y

    def test_alternating_ways_are_compiled_once(self):
        now = [0]
        cell = Step(lambda x, out, d: WAYS[now[0]][0](x, out, d))
        gradient = ms.grad(lambda a: cell(a).sum())
        counts = []
        for i in range(24):
            now[0] = i % 4
            gradient(Tensor([1.0, 2.0]))
            ((tree, _),) = gradient._trees.values()
            counts.append(tree.compiled)
        self.assertEqual(counts[11], counts[-1])
        self.assertEqual(len(calls), 24)


class Within(Case):
    """Gradients within gradients."""

    def setUp(self):
        super().setUp()
        del calls[:]

    def test_read_values(self):
        """The gradient of the outer cell differentiates the inner one, whose gradient reads values."""
        for number, (way, of_arrays) in enumerate(WAYS):
            inner = Step(way)

            def outer_way(x, out, d, inner=inner):
                return d * ms.grad(lambda a: (inner(a) * a).sum())(x)

            outer = Step(outer_way)
            gradient = ms.grad(lambda a, outer=outer: (outer(a) * 3.0).sum())
            for seed in range(3):
                x = rng(seed).standard_normal(3)
                del calls[:]
                with self.subTest(number, seed=seed):
                    self.close(gradient(Tensor(x)), 3 * (of_arrays(x, 2 * x, x) + 2 * x), 1e-9)
                    self.assertEqual(len(calls), 2)

    def test_random_ways(self):
        """Both gradients change, and the outer one reads before and after it differentiates the inner one twice."""
        draws, now = random.Random(3), [0, False, 0]
        inner = Step(lambda x, out, d: WAYS[now[0]][0](x, out, d))

        def outer_way(x, out, d):
            if now[1]:
                d = d * float((d * 0.5).sum())
            first = ms.grad(lambda a: (inner(a) * a).sum())(x)
            second = ms.grad(lambda a: (inner(a) * 2.0).sum())(x * d)
            made = first * second
            return made * float(made.sum()) if now[2] else made + d

        outer = Step(outer_way)
        gradient = ms.grad(lambda a: (outer(ops.tanh(a)) * 3.0).sum())
        for _ in range(24):
            now[0] = draws.choice(range(len(WAYS)))
            now[1:] = [draws.random() < 0.5, draws.randrange(2)]
            x = rng(draws.randrange(100)).standard_normal(3)
            del calls[:]
            self.close(gradient(Tensor(x)), self.expected(x, now), 1e-8)
            self.assertEqual(len(calls), 3)

    @staticmethod
    def expected(x, now):
        way, y = WAYS[now[0]][1], np.tanh(x)
        d = np.full_like(x, 3)
        if now[1]:
            d = d * (d * 0.5).sum()
        first = way(y, 2 * y, y) + 2 * y
        second = way(y * d, 2 * y * d, np.full_like(x, 2))
        made = first * second
        d = made * made.sum() if now[2] else made + d
        return d * (1 - y * y)

    def test_read_three_deep(self):
        lowest = Step(lambda x, out, d: d * float((d + x).sum()))
        middle = Step(lambda x, out, d: ms.grad(lambda a: (lowest(a) * d).sum())(x) * float(d.sum()))
        highest = Step(lambda x, out, d: ms.grad(lambda a: (middle(a) * d).sum())(x) * float(x.sum()))
        gradient = ms.grad(lambda a: (highest(a) * a).sum())
        for seed in range(3):
            x = rng(seed).standard_normal(3)
            del calls[:]
            d = x * (x + x).sum() * x.sum() * x.sum() + 2 * x
            self.close(gradient(Tensor(x)), d, 1e-9)
            self.assertEqual(len(calls), 3)


if __name__ == "__main__":
    unittest.main()
