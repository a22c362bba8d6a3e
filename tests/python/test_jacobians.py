"""`jacrev` and `jacfwd`: with values and errors of MindSpore 2.10, and against differences."""

import unittest

import numpy as np
from support import Case, rng

import partita as ms
from partita import Parameter, Tensor, jacfwd, jacrev, nn, ops

X, Y = (Tensor(np.array(one, "f4")) for one in ([[1, 2], [3, 4]], [[1, 0.5], [3, 2]]))
V = Tensor(np.array([1, 2, 3], "f4"))
WAYS = (jacrev, jacfwd)


def diagonal(values):
    """The Jacobian of a function of elements."""
    values = np.asarray(values, "f4")
    return np.diag(values.reshape(-1)).reshape(values.shape * 2)


def cubes(a):
    return (a**3).sum()


class Documented(Case):
    """Values, structures and errors of MindSpore 2.10."""

    def test_results_and_positions(self):
        x, y = X.asnumpy(), Y.asnumpy()
        for way in WAYS:
            with self.subTest(way.__name__):
                self.close(way(lambda a: a**3)(X), diagonal(3 * x * x))
                self.close(way(lambda a, b: a**2 * b, (1,))(X, Y), diagonal(x * x))
                by_a, by_b = way(lambda a, b: a**2 * b, (0, 1))(X, Y)
                self.close(by_a, diagonal(2 * x * y))
                self.close(by_b, diagonal(x * x))
                first, second = way(lambda a, b: (a * b, a.sum()))(X, Y)
                self.close(first, diagonal(y))
                self.close(second, np.ones((2, 2)))
                (aa, ab), (ba, bb) = way(lambda a, b: (a * b, b.sum(0)), (0, 1))(X, Y)
                self.close(aa, diagonal(y))
                self.close(ab, diagonal(x))
                self.close(ba, np.zeros((2, 2, 2)))
                self.close(bb, [[[1, 0], [1, 0]], [[0, 1], [0, 1]]])
                self.close(way(lambda a: a.sum())(X), np.ones((2, 2)))
                self.close(way(lambda a, b: a * b)(Tensor(2.0), V), [1, 2, 3])
                self.assertEqual(way(lambda a: a * a)(Tensor(2.0)).shape, ())
                self.close(way(lambda a, b: a * 2, 1)(V, V), np.zeros((3, 3)))

    def test_other_results(self):
        for way in WAYS:
            with self.subTest(way.__name__):
                found, (total, same) = way(lambda a, b: (a * b, a.sum(), b), 0, True)(X, Y)
                self.close(found, diagonal(Y.asnumpy()))
                self.close(total, 10)
                self.close(same, Y.asnumpy())
                (_, by_b), total = way(lambda a, b: (a * b, a.sum()), (0, 1), True)(X, Y)
                self.close(by_b, diagonal(X.asnumpy()))
                self.close(total, 10)

    def test_second_derivatives(self):
        for outer in WAYS:
            for inner in WAYS:
                self.close(outer(inner(cubes))(V), np.diag([6, 12, 18]))
            self.close(outer(ms.grad(cubes))(V), np.diag([6, 12, 18]))
            (aa, ab), (ba, bb) = outer(jacrev(lambda a, b: (a**2 * b).sum(), (0, 1)), (0, 1))(V, V)
            for one in (aa, ab, ba):
                self.close(one, np.diag([2, 4, 6]))
            self.close(bb, np.zeros((3, 3)))

    def test_within_steps_and_programs(self):
        for way in WAYS:
            value, gradient = ms.value_and_grad(lambda a, way=way: way(lambda b: b**3)(a).sum())(V)
            self.close(value, 42)
            self.close(gradient, [6, 12, 18])
            self.close(ms.jit(lambda a, way=way: way(lambda b: b**3)(a))(V), np.diag([3, 12, 27]))
            ms.set_context(mode=ms.GRAPH_MODE)
            self.close(way(lambda a: a**3)(V), np.diag([3, 12, 27]))
            self.close(way(way(cubes))(V), np.diag([6, 12, 18]))
            ms.set_context(mode=ms.PYNATIVE_MODE)

    def test_refuse_what_does_not_fit(self):
        same = lambda a: a  # noqa: E731
        integers = Tensor(np.array([1, 2], "i4"))
        for way in WAYS:
            cases = [
                (TypeError, "has_aux is not a bool, got 1", lambda: way(same, 0, 1)),
                (TypeError, "bad grad_position, got 'x'", lambda: way(same, "x")),
                (TypeError, "bad grad_position, got [0]", lambda: way(same, [0])),
                (ValueError, "bad grad_position, got -1, expected integers from 0", lambda: way(same, -1)),
                (ValueError, "bad grad_position, got (0, 0)", lambda: way(same, (0, 0))),
                (ValueError, "no such input, got position 2 of 1", lambda: way(same, 2)(V)),
                (TypeError, "an input has no gradient, got Int32", lambda: way(same)(integers)),
                (TypeError, "a result has no gradient, got Bool", lambda: way(lambda a: a > 1)(V)),
                (TypeError, "a result has no gradient, got list", lambda: way(lambda a: [a, a])(V)),
                (ValueError, "the function returns nothing besides", lambda: way(same, 0, True)(V)),
                (TypeError, "arguments have names, got ['b']", lambda: way(lambda a, b: a * b)(V, b=V)),
                (TypeError, "not a function, got int", lambda: way(3)),
            ]
            for kind, text, call in cases:
                with self.subTest(text), self.refuses(kind, f"[{way.__name__}] {text}"):
                    call()


class Networks(Case):
    """Jacobians of random networks against differences."""

    def check(self, function, *inputs):
        positions = tuple(range(len(inputs)))
        for way in WAYS:
            found = way(function, positions)(*map(Tensor, inputs))
            found = found if isinstance(found, tuple) else (found,)
            for i, (got, x) in enumerate(zip(found, inputs)):
                expected = self.differences(function, inputs, i)
                self.assertEqual(got.shape, expected.shape)
                self.close(got, expected, 1e-6)

    def differences(self, function, inputs, i):
        columns, step = [], 1e-5
        for k in range(inputs[i].size):
            unit = np.zeros(inputs[i].size)
            unit[k] = step
            unit = unit.reshape(inputs[i].shape)
            above, below = (
                function(*[Tensor(x + s * unit if j == i else x) for j, x in enumerate(inputs)]).asnumpy()
                for s in (1, -1)
            )
            columns.append((above - below) / (2 * step))
        return np.stack(columns, -1).reshape(*columns[0].shape, *inputs[i].shape)

    def test_of_functions(self):
        numbers = rng(1)
        a, b, w = numbers.standard_normal((3, 4)), numbers.standard_normal((4,)), numbers.standard_normal((4, 2))
        labels = Tensor(np.array([1, 0, 3], "i4"))
        functions = {
            "perceptron": (lambda x, w: ops.tanh(ops.matmul(x, w)), a, w),
            "attention": (lambda x: ops.matmul(ops.softmax(ops.matmul(x, x.T), -1), x), a),
            "norm": (lambda x, g: ops.layer_norm(x, (4,), g, g), a, b),
            "cross entropy": (lambda x: ops.cross_entropy(x, labels, reduction="none"), a),
            "convolution": (lambda x: ops.conv2d(x.reshape((1, 1, 3, 4)), Tensor(w.reshape(2, 1, 2, 2))), a),
            "rows and sums": (lambda x: x[1:] * x.sum(0) + ops.concat([x, x], 0)[2:4], a),
            "gather": (lambda x: ops.gather(x, labels % 3, 0) * x, a),
        }
        for name, (function, *inputs) in functions.items():
            with self.subTest(name):
                self.check(function, *inputs)

    def test_of_cells(self):
        net = nn.SequentialCell(nn.Dense(4, 5), nn.Tanh(), nn.Dense(5, 3))
        x = rng(2).standard_normal((1, 4)).astype("f4")
        w1, b1, w2 = (net[0].weight.asnumpy(), net[0].bias.asnumpy(), net[2].weight.asnumpy())
        slope = 1 - np.tanh(x @ w1.T + b1)[0] ** 2
        for way in WAYS:
            jacobian = way(net)
            self.close(jacobian(Tensor(x)), (w2 @ (slope[:, None] * w1)).reshape(1, 3, 1, 4), 1e-5)
            self.assertIs(way(net), jacobian)

    def test_are_compiled_once_and_follow_parameters(self):
        weight = Parameter(Tensor(np.array([1, 2, 3], "f4")), "w")
        for way in WAYS:
            jacobian = way(lambda a: a * a * weight)
            for i in range(4):
                weight.set_data(Tensor(np.array([1, 2, 3], "f4") * (i + 1)))
                self.close(jacobian(V + float(i)), np.diag(2 * (V.asnumpy() + i) * weight.asnumpy()))
            ((tree, _),) = jacobian._trees.values()
            self.assertEqual(tree.compiled, 1)

    def test_shapes_are_found_without_values(self):
        """Functions may use what a step has computed, and what is mapped."""
        scale = lambda a: jacrev(lambda b: b * a.sum())(a)  # noqa: E731
        self.close(ms.value_and_grad(lambda a: scale(a).sum())(V)[0], 18)
        self.close(ops.vmap(scale)(X), [np.eye(2) * 3, np.eye(2) * 7])

    def test_refuse_to_read_values(self):
        with self.refuses(TypeError, "[jacrev] a value is read, got one of a tensor of shape ()"):
            jacrev(lambda a: a * float(a.sum() * 2.0))(V)
        with self.refuses(TypeError, "[vmap] a value that differs between slices is read"):
            jacfwd(lambda a: a * float(a.sum() * 2.0))(V)


if __name__ == "__main__":
    unittest.main()
