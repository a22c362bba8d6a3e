"""Steps and programs that several threads call, and copies of them."""

import copy
import sys
import threading
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, mint, nn, ops

THREADS, CALLS = 4, 60


class Threads(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-5)

    def wrong(self, function, expected):
        """Calls of threads at the same time, each with numbers of its own, whose results are not as expected."""
        wrong = []

        def call(number):
            values = np.random.default_rng(number).uniform(0, 1 + number, (4, 4))
            x = Tensor(values)
            for _ in range(CALLS):
                try:
                    np.testing.assert_allclose(float(function(x)), expected(values), rtol=1e-9)
                except Exception as error:
                    wrong.append(error)

        threads = [threading.Thread(target=call, args=(i,)) for i in range(THREADS)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return wrong

    def test_steps_of_threads_have_their_own_numbers(self):
        def function(x):
            return (x * x * x).sum() if float(x.sum()) > 20 else (ops.tanh(x) * 2.0).sum()

        def expected(x):
            return (x**3).sum() if x.sum() > 20 else 2 * np.tanh(x).sum()

        step = ms.value_and_grad(function, 0)
        self.assertEqual(self.wrong(lambda x: step(x)[0], expected), [])

    def test_programs_of_threads_have_their_own_numbers(self):
        program = ms.jit(lambda x: (x * x * x).sum())
        self.assertEqual(self.wrong(program, lambda x: (x**3).sum()), [])

    def of_threads(self, calls):
        """The results of each function of a list, called by a thread of its own, all at the same time."""
        found, begun = [[] for _ in calls], threading.Barrier(len(calls))

        def call(number):
            begun.wait(20)
            found[number].extend(calls[number]() for _ in range(CALLS))

        threads = [threading.Thread(target=call, args=(i,)) for i in range(len(calls))]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return found

    def test_generators_of_threads_have_their_own_numbers(self):
        def draws(seed):
            generator = ms.Generator().manual_seed(seed)
            return lambda: tuple(mint.rand(3, generator=generator).asnumpy().tolist())

        seeds = range(5, 5 + THREADS)
        expected = [[one() for _ in range(CALLS)] for one in map(draws, seeds)]
        ms.manual_seed(3)
        common = [tuple(ops.rand(3).asnumpy().tolist()) for _ in range(CALLS)]
        ms.manual_seed(3)
        found = self.of_threads([*map(draws, seeds), lambda: tuple(ops.rand(3).asnumpy().tolist())])
        self.assertEqual(found, [*expected, common])

    def test_threads_that_share_a_generator_share_its_numbers(self):
        for own in (ms.Generator().manual_seed(7), ms.default_generator.manual_seed(7)):
            draw = lambda own=own: tuple(mint.rand(3, generator=own).asnumpy().tolist())  # noqa: E731
            expected = [draw() for _ in range(THREADS * CALLS)]
            own.manual_seed(7)
            found = self.of_threads([draw] * THREADS)
            self.assertEqual(sorted(sum(found, [])), sorted(expected))


class WithGradient(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 2)
        self.gradient = ms.grad(self.loss)

    def loss(self, x):
        return (self.dense(x) ** 2).sum()

    @ms.jit
    def compiled(self, x):
        return self.loss(x)


class Copies(Case):
    def test_cells_with_gradients_can_be_copied(self):
        x = Tensor([[1.0, 2.0]])
        cell = WithGradient()
        expected = cell.gradient(x).asnumpy()
        other = copy.deepcopy(cell)
        other.dense.weight.set_data(other.dense.weight * 2.0)
        self.close(cell.gradient(x), expected)
        self.close(other.gradient(x), expected)  # a function stays that of the first cell

    def test_programs_of_methods_are_those_of_the_copy(self):
        x = Tensor([[1.0, 2.0]])
        cell = WithGradient()
        expected = cell.compiled(x).asnumpy()
        other = copy.deepcopy(cell)
        for one in other.get_parameters():
            one.set_data(one * 2.0)
        self.close(cell.compiled(x), expected)
        self.close(other.compiled(x), expected * 4)


if __name__ == "__main__":
    unittest.main()
