"""Steps in PYNATIVE mode: parameters and tensors that a step changes, and what is left when a step fails."""

import copy
import gc
import unittest
import weakref
from unittest import mock

import numpy as np
from support import Case, warned

import partita as ms
from partita import Parameter, Tensor, nn, ops

ROWS = [[1.0, 2.0], [3.0, 4.0]]


def parameter(values, name="w", requires_grad=True):
    return Parameter(Tensor(np.array(values, "f4")), name=name, requires_grad=requires_grad)


class AssignedParameters(Case):
    """A parameter that a step assigns has gradients by all its values, and none by what they were made of."""

    def gradients(self, function, *weights):
        return [one.asnumpy().tolist() for one in ms.grad(function, None, list(weights))(Tensor(ROWS))]

    def test_a_value_assigned_after_the_loss_leaves_the_gradient(self):
        w = parameter([1.0, 2.0])

        def loss(x):
            value = (x * w).sum()
            ops.assign(w, w * 0.5)
            return value

        self.assertEqual(self.gradients(loss, w), [[4.0, 6.0]])
        self.assertEqual(w.asnumpy().tolist(), [0.5, 1.0])

    def test_all_values_count(self):
        w = parameter([1.0, 2.0])

        def loss(x):
            total = (x * w).sum()
            for _ in range(2):
                w.set_data(w * 0.5)
                total = total + (x * w).sum()
            return total

        for _ in range(3):
            self.assertEqual(self.gradients(loss, w), [[12.0, 18.0]])

    def test_a_buffer_has_no_gradient(self):
        w, buffer = parameter([1.0, 1.0]), parameter([1.0, 2.0], "buffer", requires_grad=False)
        count = parameter([0.0], "count", requires_grad=False)

        def loss(x):
            y = x * w
            ops.assign(buffer, buffer * 0.9 + y.mean(axis=0) * 0.1)
            count[0] = y.sum()
            return (y * buffer * count).sum()

        self.assertEqual(loss(Tensor(ROWS)).shape, ())
        buffer.set_data(Tensor([1.0, 2.0]))
        (found,) = self.gradients(loss, w)
        self.close(np.array(found), [4 * 1.1 * 10, 6 * 2.1 * 10], 1e-5)

    def test_integers_can_be_assigned(self):
        w, count = parameter([1.0, 1.0]), Parameter(Tensor([0], ms.int32), name="count", requires_grad=False)

        def loss(x):
            ops.assign(count, count + 1)
            return (x * w).sum()

        for i in range(3):
            self.gradients(loss, w)
            self.assertEqual(count.asnumpy().tolist(), [i + 1])


class Copies(Case):
    """Copies of values of a step."""

    def test_gradients_pass_through_copies(self):
        ways = {
            "copy": lambda y: y.copy(),
            "deepcopy": copy.deepcopy,
            "Tensor": Tensor,
            "Tensor of another type": lambda y: Tensor(y, ms.float64),
            "in a list": lambda y: copy.deepcopy({"a": [y]})["a"][0],
        }
        for name, way in ways.items():
            with self.subTest(name):
                gradient = ms.grad(lambda x, way=way: (way(x * 1.0) * x).sum())
                for run in (gradient, ms.jit(gradient)):
                    for _ in range(2):
                        self.close(run(Tensor(ROWS)), np.array(ROWS) * 2)

    def test_copies_of_parameters_have_none(self):
        w = parameter([1.0, 2.0])
        for way in (lambda: w.copy(), lambda: Tensor(w), lambda: copy.deepcopy(w), lambda: w.clone()):
            (found,) = ms.grad(lambda x, way=way: (way() * x).sum() + (w * x).sum(), None, [w])(Tensor(ROWS))
            self.close(found, [4.0, 6.0])

    def test_a_shape_of_a_copy_is_checked(self):
        with self.refuses(ValueError, "[Tensor]", "another shape", "(2, 2)", "(4,)"):
            ms.grad(lambda x: Tensor(x * 1.0, shape=(4,)).sum())(Tensor(ROWS))


class SharedMemory(Case):
    """Arrays of NumPy over the memory of tensors, which nobody sees being written to."""

    def test_what_is_written_between_steps_counts(self):
        for before in (False, True):
            offset = Tensor(np.zeros(2, "f4"))
            if before:
                memory = offset.asnumpy()
            step = ms.value_and_grad(lambda x, offset=offset: (x + offset).sum(), 0)
            values = [float(step(Tensor(ROWS))[0])]
            memory = offset.asnumpy()
            for _ in range(4):
                memory += 1
                values.append(float(step(Tensor(ROWS))[0]))
            self.assertEqual(values, [10.0, 14.0, 18.0, 22.0, 26.0])

    def test_what_is_written_within_a_step_counts_from_there_on(self):
        offset = Tensor(np.zeros(2, "f4"))

        def function(x):
            before = (x + offset).sum()
            memory = offset.asnumpy()
            memory += 1
            return before + (offset * 1.0).sum()

        step = ms.value_and_grad(function, 0)
        self.assertEqual([float(step(Tensor(ROWS))[0]) for _ in range(4)], [12.0, 18.0, 24.0, 30.0])

    def test_each_use_has_what_is_written_then(self):
        scale = Tensor(np.ones(2, "f4"))

        def function(x):
            memory = scale.asnumpy()
            before = (x * scale).sum()
            memory += 1
            return before + (x * scale).sum() * 10.0

        step = ms.value_and_grad(function, 0)
        for i in range(1, 4):
            value, gradient = step(Tensor(ROWS))
            self.assertEqual(float(value), 10.0 * i + 100.0 * (i + 1))
            self.close(gradient, np.full((2, 2), i + 10.0 * (i + 1)))

    def test_values_that_a_step_reads_are_to_be_read(self):
        def function(x):
            memory = (x * 2.0).asnumpy()
            memory[0] = 0
            return x.sum()

        with self.refuses(ValueError, "read-only"):
            ms.grad(function)(Tensor(ROWS))

    def test_reading_alone_keeps_constants(self):
        scale = Tensor(np.full(2, 2.0, "f4"))
        step = ms.value_and_grad(lambda x: (x * scale).sum() * scale.tolist()[0], 0)
        for _ in range(3):
            float(scale.sum()), scale.tolist(), str(scale)
            self.assertEqual(float(step(Tensor(ROWS))[0]), 40.0)
        ((tree, _),) = step._trees.values()
        self.assertEqual(tree.compiled, 1)


class Failures(Case):
    """A step that ends with an error keeps what it changed before."""

    def fails(self, function, error):
        with self.assertRaises(error):
            ms.value_and_grad(function, 0)(Tensor(ROWS))

    def test_assigned_values_stay(self):
        w = parameter([1.0, 2.0])

        def raises(x):
            ops.assign(w, w + 1.0)
            raise KeyError("no")

        def refused(x):
            ops.assign(w, w + 1.0)
            return ops.matmul(x, Tensor(np.ones((3, 3), "f4"))).sum()

        def no_loss(x):
            w[0] = 7.0
            return "text"

        for function, error, expected in (
            (raises, KeyError, [2.0, 3.0]),
            (refused, ValueError, [3.0, 4.0]),
            (no_loss, TypeError, [7.0, 4.0]),
            (raises, KeyError, [8.0, 5.0]),
        ):
            self.fails(function, error)
            self.assertEqual(w.asnumpy().tolist(), expected)

    def test_steps_that_are_caught_go_on(self):
        w, counts = parameter([1.0, 2.0]), iter(range(4))

        def function(x):
            try:
                if next(counts) % 2 == 0:
                    ops.matmul(x, Tensor(np.ones((3, 3), "f4"))).sum()
                return (x * w).sum()
            except ValueError:
                return (x * w * 2.0).sum()

        step = ms.grad(function, None, [w])
        found = [step(Tensor(ROWS))[0].asnumpy().tolist() for _ in range(4)]
        self.assertEqual(found, [[8.0, 12.0], [4.0, 6.0]] * 2)


class Growth(Case):
    def test_calls_that_come_no_more_are_forgotten(self):
        rates = iter(np.linspace(0.1, 0.2, 40))
        cells = []

        def function(x):
            cells.append(nn.Dropout(p=float(next(rates))))
            return (cells[-1](x) * x).sum()

        step = ms.value_and_grad(function, 0)
        limits = mock.patch.multiple("partita._steps.calls", _MANY_CALLS=40, _MANY_STEPS=4)
        with limits, warned():
            for i in range(40):
                step(Tensor(ROWS))
                ((tree, _),) = step._trees.values()
                self.assertEqual(tree.steps, i + 1)
        self.assertLessEqual(tree.count, 50)
        first = weakref.ref(cells[0])
        cells.clear()
        gc.collect()
        self.assertIsNone(first())


    def test_a_value_that_is_kept_keeps_no_other(self):
        w, kept = parameter(np.ones((4, 4))), []

        def function(x):
            y = ops.matmul(x, w)
            kept.append(y.mean())
            w.set_data(w * 0.5)
            return (y * y).sum()

        step = ms.value_and_grad(function, None, [w])
        x = Tensor(np.ones((2, 4), "f4"))
        for _ in range(3):
            step(x)
        for one, expected in zip(kept, (4.0, 2.0, 1.0)):
            self.assertEqual(len(one._init.arrays), 1)
            self.close(one, expected)


if __name__ == "__main__":
    unittest.main()
