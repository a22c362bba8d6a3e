"""Steps in PYNATIVE mode: parameters and tensors that a step changes, and what is left when a step fails."""

import copy
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Parameter, Tensor, ops

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


if __name__ == "__main__":
    unittest.main()
