"""Random steps against what they are when nothing of them changes: a search for steps that keep an old number, take
another branch than the data say, or lose a gradient."""

import random
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Parameter, Tensor, nn, ops

STEPS = 7


class Decisions:
    """The numbers and branches of one step: drawn and written down, or read again."""

    def __init__(self, generator=None, known=None):
        self._generator, self._left = generator, None if known is None else iter(known)
        self.seen = []

    def draw(self, make):
        """The next number: `make(generator)`, or what was written down."""
        found = make(self._generator) if self._left is None else next(self._left)
        self.seen.append(found)
        return found

    def of_data(self, value):
        """The next number that data say."""
        found = float(value()) if self._left is None else next(self._left)
        self.seen.append(found)
        return found


def _unary(g, x, w, decisions):
    return g.choice([ops.tanh, ops.sigmoid, lambda a: a * 0.5, lambda a: a * a * 0.25, ops.relu])(x)


def _number(g, x, w, decisions):
    factor = decisions.draw(lambda r: r.choice([r.uniform(-1, 1), 0.5, 0.0, -0.0]))
    return x * factor + decisions.draw(lambda r: r.uniform(-1, 1))


def _array(g, x, w, decisions):
    noise = decisions.draw(lambda r: [r.uniform(-1, 1) for _ in range(4)])
    return x + Tensor(np.array(noise, "f8"))


def _weight(g, x, w, decisions):
    return ops.matmul(x, w) * 0.5


def _branch(g, x, w, decisions):
    value = decisions.of_data(lambda: (x * x).sum())
    return ops.tanh(x) + 0.25 if value > 2.0 else x * 0.75 - ops.sigmoid(x)


def _loop(g, x, w, decisions):
    for _ in range(decisions.draw(lambda r: r.randrange(3))):
        x = ops.tanh(x) + 0.125
    return x


def _scaled(g, x, w, decisions):
    return x * (1.0 / (1.0 + decisions.of_data(lambda: (x * x).mean())))


def _item(g, x, w, decisions):
    y = x * 1.0
    y[decisions.draw(lambda r: r.randrange(3))] = x[0] * decisions.draw(lambda r: r.uniform(-1, 1))
    return y


def _view(g, x, w, decisions):
    y = x * 1.0
    row = y[1]
    row[2] = decisions.draw(lambda r: r.uniform(-1, 1))
    y[0] = row * 0.5
    return y * y * 0.5


def _mask(g, x, w, decisions):
    y = x * 1.0
    y[x > 0.25] = decisions.draw(lambda r: r.uniform(-1, 1))
    return y


PARTS = (_unary, _number, _array, _weight, _branch, _loop, _scaled, _item, _view, _mask)


def function_of(seed, weight):
    """A function of (x, decisions): parts in an order that the seed says; some parts are left out at random."""
    order = random.Random(seed)
    parts = [(order.choice(PARTS), order.randrange(10**6), order.random() < 0.2) for _ in range(order.randrange(2, 7))]

    def call(x, decisions):
        for part, own, may_miss in parts:
            if may_miss and decisions.draw(lambda r: r.random() < 0.5):
                continue
            x = part(random.Random(own), x, weight, decisions)
        return (x * x).mean()

    return call


class RandomSteps(Case):
    def steps(self, seed, is_updated):
        draws, start = random.Random(seed), np.random.default_rng(seed)
        weight = Parameter(Tensor(start.normal(size=(4, 4))), name="weight")
        other = Parameter(Tensor(weight.asnumpy().copy()), name="weight")
        optimizers = [nn.Momentum([one], 0.1, 0.9) for one in (weight, other)]
        function, frozen = function_of(seed, weight), function_of(seed, other)
        current = [None]
        step = ms.value_and_grad(lambda x: function(x, current[0]), 0, [weight])
        for i in range(STEPS):
            x = Tensor(start.normal(size=(3, 4)))
            current[0] = Decisions(generator=draws)
            value, (of_x, (of_w,)) = step(x)
            seen = current[0].seen
            program = ms.jit(ms.value_and_grad(lambda a: frozen(a, Decisions(known=seen)), 0, [other]))
            expected, (x_then, (w_then,)) = program(x)
            with self.subTest(seed=seed, step=i):
                for got, wanted in ((value, expected), (of_x, x_then), (of_w, w_then), (weight, other)):
                    np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-9, atol=1e-12)
            if is_updated:
                for optimizer, gradient in zip(optimizers, (of_w, w_then)):
                    optimizer((gradient,))

    def test_have_the_numbers_of_steps_that_do_not_change(self):
        for seed in range(40):
            self.steps(seed, seed % 2 == 0)


if __name__ == "__main__":
    unittest.main()
