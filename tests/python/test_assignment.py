"""Item assignment, views and masks: at once, in steps, and in programs that are traced once."""

import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Parameter, Tensor, nn, ops


def _zeros():
    return Tensor(np.zeros((3, 4), "f4"))


class Assigned(Case):
    """Item assignment: at once, in steps, in programs; the numbers are those of the documented system."""

    def test_views_write_through(self):
        a = _zeros()
        a[0][1] = 5.0
        self.close(a[0], [0, 5, 0, 0])
        row, rest = a[0], a[1:]
        a[0, 2] = 7.0
        self.close(row, [0, 5, 7, 0])
        row[3] = 2.0
        rest[0] = 1.0
        rest[1][2] = 9.0
        self.close(a, [[0, 5, 7, 2], [1, 1, 1, 1], [0, 0, 9, 0]])
        a[a == 0] = 3.0
        self.close(a, [[3, 5, 7, 2], [1, 1, 1, 1], [3, 3, 9, 3]])
        self.close(row, [3, 5, 7, 2])
        a[0] += 1.0
        self.close(row, [4, 6, 8, 3])
        other = a
        other = other + 1.0
        self.close(row, [4, 6, 8, 3])

    def test_items_of_items_of_tensors_write_through(self):
        """The cases and numbers are those of MindSpore 2.10, at once and in functions that are differentiated."""
        rows, columns = Tensor([2, 0], ms.int32), Tensor([1, 3], ms.int32)
        mask, second = Tensor(np.array([True, False, True])), Tensor([1], ms.int32)

        def of_rows(y):
            found = y[rows]
            y[:] = 3.0  # does not reach what was found before
            found[0, 0] = 1.0

        def chained(y):
            found = y[rows][second]
            found[:, 0] = 1.0

        def of_slices(y):
            found = y[1:][second]
            found[0][2:] = 1.0

        def assign(index, item):
            def change(y):
                y[index][item] = 1.0

            return change

        none, all_rows = [0, 0, 0, 0], (slice(None), 0)
        cases = [
            (assign((rows, columns), 0), [none, none, [0, 1, 0, 0]]),
            (assign(mask, 0), [[1, 1, 1, 1], none, none]),
            (assign([1, 2], all_rows), [none, [1, 0, 0, 0], [1, 0, 0, 0]]),
            (assign((slice(1, None), columns), 0), [none, [0, 1, 0, 1], none]),
            (assign(Tensor([1, 1], ms.int32), 0), [none, none, none]),  # of equal rows the last one stays
            (of_rows, [[0, 0, 0, 0], [3, 3, 3, 3], [1, 0, 0, 0]]),
            (chained, [[1, 0, 0, 0], none, none]),
            (of_slices, [none, none, [0, 0, 1, 1]]),
        ]
        for change, expected in cases:
            at_once = _zeros()
            change(at_once)
            self.close(at_once, expected)

            def changed(x):
                y = _zeros() * 1.0
                change(y)
                return (y * x).sum(), y

            (_, y), gradient = ms.value_and_grad(changed, 0, None, has_aux=True)(Tensor(np.ones((3, 4), "f4")))
            self.close(y, expected)
            self.close(gradient, expected)

    def test_results_of_ops_that_change_nothing_are_other_tensors(self):
        ops_of = {
            "Identity": ops.Identity(),
            "dropout": lambda x: ops.dropout(x, p=0.0),
            "pad": lambda x: ops.pad(x, (0, 0)),
        }
        for name, op in ops_of.items():

            def kept(x):
                z = x * 1.0
                y = op(z)
                y[..., 0] = z[..., 1] * 2.0
                return (z * z).sum() + y.sum()

            for call in (ms.grad(kept), ms.jit(ms.grad(kept))):
                with self.subTest(name):
                    self.close(call(Tensor([[1.0, 2.0]])), [[2.0, 7.0]])

    def gradient(self, function, given, expected):
        """Compares with the documented system, in steps and in programs."""
        x = Tensor(np.array(given, "f4"))
        for call in (ms.grad(function), ms.jit(ms.grad(function))):
            for _ in range(2):
                self.close(call(x), expected)

    def test_gradients_pass_through(self):
        square = [[1.0, 2.0], [3.0, 4.0]]

        def item(x):
            y = x * 1.0
            y[0] = x[1] * 3.0
            return y.sum()

        def within(x):
            y = x * 1.0
            y[0][1] = x[1, 1] * 3.0
            return (y * y).sum()

        def masked(x):
            y = x * 1.0
            y[y > 2] = 0.0
            return (y * y).sum()

        def viewed(x):
            y = x * 2.0
            z = y[0]
            y[0] = 7.0
            return (z * x).sum()

        def sliced(x):
            y = x * 1.0
            y[:, 1] = x[:, 0] * x[:, 0]
            y[1, ...] = 2.0
            return (y * Tensor(np.array([[1.0, 10.0], [100.0, 1000.0]], "f4"))).sum()

        def chosen(x):
            y = x * 1.0
            y[Tensor([1, 0])] = x * 2.0
            return (y * Tensor(np.array([[1.0, 10.0], [100.0, 1000.0]], "f4"))).sum()

        self.gradient(item, [1.0, 2.0, 3.0], [0, 4, 1])
        self.gradient(within, square, [[2, 0], [6, 80]])
        self.gradient(masked, square, [[2, 4], [0, 0]])
        self.gradient(viewed, square, [[7, 7], [7, 7]])
        self.gradient(sliced, square, [[21, 0], [0, 0]])
        self.gradient(chosen, square, [[200, 2000], [2, 20]])

    def test_views_keep_nothing_alive(self):
        both = ms.value_and_grad(lambda x: ((x * 2.0)[0], x.sum())[0], 0)
        both(_zeros())
        ((tree, _),) = both._trees.values()
        asked = tree.programs[-1][1][0]
        self.assertEqual(len(asked), 2)  # the item and the gradient, not all of what it is an item of

    def test_masks_are_read(self):
        square = [[1.0, 2.0], [3.0, 4.0]]
        self.gradient(lambda x: (x[x > 2] * x[x > 2]).sum(), square, [[0, 0], [6, 8]])
        self.gradient(lambda x: (x[x.sum(1) > 3.5] * 3.0).sum(), square, [[0, 0], [3, 3]])
        self.gradient(lambda x: (x[:, Tensor([False, True])] * 2.0).sum(), square, [[0, 2], [0, 2]])
        self.gradient(lambda x: x[[True, False]].sum(), square, [[1, 1], [0, 0]])
        self.gradient(lambda x: x[x > 9].sum() + x.sum(), square, [[1, 1], [1, 1]])
        with self.refuses(IndexError, "the mask has another shape, got (3,), expected (2,)"):
            Tensor(square)[Tensor([True, False, True])]
        with self.refuses(IndexError, "a mask of several dimensions stands with other indices"):
            Tensor(square)[Tensor([[True, False]]), 0]

    def test_buffers_of_a_step(self):
        kept = _zeros()

        def fill(x):
            for i in range(4):
                kept[1, i] = x[i] * float(i)
            return (kept * kept).sum()

        both = ms.value_and_grad(fill, 0)
        for factor in (1.0, 2.0):
            value, gradient = both(Tensor([factor, 1.0, 1.0, 1.0]))
            self.close(value, 14)
            self.close(gradient, [0, 2, 8, 18])
            self.close(kept[1], [0, 1, 2, 3])

    def test_parameters_in_steps(self):
        weight, count = Parameter(Tensor([1.0, 2.0]), name="w"), Parameter(Tensor([0.0]), name="n", requires_grad=False)
        optimizer = nn.SGD([weight], 0.5)

        def forward(x):
            ops.assign(count, count + 1.0)
            count[0] = count[0] * 2.0
            return (x * weight * count).sum()

        both = ms.value_and_grad(forward, None, [weight])
        expected, n = np.array([1.0, 2.0]), 0.0
        for _ in range(4):
            value, gradients = both(Tensor([1.0, 3.0]))
            n = (n + 1) * 2
            self.close(value, (np.array([1, 3]) * expected * n).sum(), 1e-5)
            self.close(count, [n])
            optimizer(gradients)
            expected = expected - 0.5 * np.array([1, 3]) * n
            self.close(weight, expected, 1e-5)
        for value in (1.0, 3.0):
            ms.jit(lambda x: ops.assign(count, x))(Tensor([value]))
            self.close(count, [value])

    def test_refuse_bad_items(self):
        x = Tensor([1.0, 2.0])

        def assigning(index, value):
            def call(a):
                b = a * 1.0
                b[index] = value
                return b

            return ms.value_and_grad(call, 0)

        with self.refuses(ValueError, "[index] the value has the wrong shape", "(3,)"):
            assigning(slice(None), Tensor([1.0, 2.0, 3.0]))(x)
        with self.refuses(TypeError, "[index] bad value for an element, got str"):
            assigning(0, "one")(x)
        with self.refuses(IndexError, "[index] the mask has another shape"):
            assigning(Tensor([True]), 1.0)(x)
        self.close(ms.jit(lambda a, i: assigned_at(a, i))(x, Tensor(np.array([1], "i4"))), [1, 1])
        with self.refuses(ValueError, "'w' gets", "of the wrong shape"):
            weight = Parameter(Tensor([1.0]), name="w")
            ms.value_and_grad(lambda a: (ops.assign(weight, a), a.sum())[1], 0)(x)


def assigned_at(a, i):
    b = a * 1.0
    b[i] = 1.0
    return b


if __name__ == "__main__":
    unittest.main()
