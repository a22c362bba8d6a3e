"""`vmap` against calls for each slice, and with values and errors of MindSpore 2.10."""

import itertools
import unittest
from unittest import mock

import numpy as np
from support import Case, rng, warned

import partita as ms
from partita import Parameter, Tensor, _core, nn, ops, vmap
from partita._sliced import rules

SIZE = 3


def _floats(*shape):
    return lambda numbers: Tensor(numbers.standard_normal(shape))


def _integers(high, *shape):
    return lambda numbers: Tensor(numbers.integers(0, high, shape).astype("i4"))


def _bools(*shape):
    return lambda numbers: Tensor(numbers.random(shape) > 0.5)


MATRIX, VECTOR, IMAGES = _floats(2, 4), _floats(4), _floats(2, 3, 5, 5)

# (function, what makes each argument of a slice). None of these is computed slice by slice.
AT_ONCE = {
    "broadcast sum": (lambda a, b: a + b, [MATRIX, VECTOR]),
    "broadcast of more dimensions": (lambda a, b: a * b, [VECTOR, _floats(5, 2, 4)]),
    "scalars": (lambda a, b: a / (b * b + 1.0), [_floats(), MATRIX]),
    "numbers": (lambda a: (2.0 - a) ** 3 * 0.5, [MATRIX]),
    "functions of elements": (lambda a: ops.tanh(a) + ops.sigmoid(ops.exp(a * 0.1)), [MATRIX]),
    "gelu": (lambda a: ops.gelu(a), [MATRIX]),
    "leaky relu": (lambda a: ops.leaky_relu(a, 0.3), [MATRIX]),
    "where": (lambda c, a, b: ops.select(c, a, b), [_bools(2, 4), MATRIX, MATRIX]),
    "casts": (lambda a: (a * 3.0).astype(ms.int32).astype(ms.float64) + a, [MATRIX]),
    "softmax": (lambda a: ops.softmax(a, -1), [MATRIX]),
    "softmax of rows": (lambda a: ops.softmax(a, 0), [MATRIX]),
    "sums": (lambda a: a.sum(0) + a.mean(), [MATRIX]),
    "sum of a scalar": (lambda a: a.sum() * 2.0, [_floats()]),
    "largest": (lambda a: ops.max(a, 1)[0], [MATRIX]),
    "largest of all": (lambda a: a.max(), [MATRIX]),
    "arguments of the largest": (lambda a: ops.argmax(a, 0), [MATRIX]),
    "kept dimensions": (lambda a: a - a.mean(1, True), [MATRIX]),
    "cumulative sum": (lambda a: ops.cumsum(a, 0) * ops.cumsum(a, -1), [MATRIX]),
    "top k": (lambda a: ops.topk(a, 2)[0], [MATRIX]),
    "product": (lambda a, b: ops.matmul(a, b), [MATRIX, _floats(4, 3)]),
    "product with a vector": (lambda a, b: ops.matmul(a, b), [MATRIX, VECTOR]),
    "product of batches": (lambda a, b: ops.matmul(a, b), [_floats(5, 2, 4), _floats(5, 4, 3)]),
    "product of a batch": (lambda a, b: ops.matmul(a, b), [_floats(5, 2, 4), _floats(4, 3)]),
    "product with a batch": (lambda a, b: ops.matmul(a, b), [MATRIX, _floats(5, 4, 3)]),
    "dense": (lambda a, w: ops.dense(a, w), [MATRIX, _floats(3, 4)]),
    "reshape": (lambda a: a.reshape(4, -1) * 2.0, [MATRIX]),
    "transpose": (lambda a: a.T, [MATRIX]),
    "flatten": (lambda a: ops.flatten(a), [_floats(2, 3, 2)]),
    "rows": (lambda a: a[0], [MATRIX]),
    "slices": (lambda a: a[:, 1:3], [MATRIX]),
    "steps": (lambda a: a[:, ::2], [MATRIX]),
    "concat": (lambda a, b: ops.concat([a, b], 1), [MATRIX, _floats(2, 1)]),
    "stack": (lambda a, b: ops.stack([a, b], 1), [VECTOR, VECTOR]),
    "split": (lambda a: ops.split(a, 2, 1)[1], [MATRIX]),
    "repeat": (lambda a: ops.repeat_interleave(a, 2, 1), [MATRIX]),
    "tile": (lambda a: ops.tile(a, (2, 3)), [MATRIX]),
    "pad": (lambda a: ops.pad(a, (1, 2)), [MATRIX]),
    "flip": (lambda a: ops.flip(a, (1,)), [MATRIX]),
    "broadcast": (lambda a: ops.broadcast_to(a, (3, 2, 4)), [MATRIX]),
    "one hot": (lambda i: ops.one_hot(i, 5), [_integers(5, 4)]),
    "gather": (lambda a, i: ops.gather(a, i, 0), [_floats(5, 4), _integers(5, 3)]),
    "gather of columns": (lambda a, i: ops.gather(a, i, 1), [_floats(4, 5), _integers(5, 3)]),
    "gather of elements": (lambda a, i: ops.gather_elements(a, 1, i), [_floats(2, 5), _integers(5, 2, 3)]),
    "einsum": (lambda a, b: ops.einsum("ij,kj->ik", a, b), [MATRIX, _floats(3, 4)]),
    "layer norm": (lambda a, g, b: ops.layer_norm(a, (4,), g, b), [MATRIX, VECTOR, VECTOR]),
    "rms norm": (lambda a, g: ops.rms_norm(a, g)[0], [MATRIX, VECTOR]),
    "cross entropy": (lambda a, i: ops.cross_entropy(a, i), [MATRIX, _integers(4, 2)]),
    "cross entropy without some": (lambda a, i: ops.cross_entropy(a, i, ignore_index=1), [MATRIX, _integers(4, 2)]),
    "cross entropy of each": (lambda a, i: ops.cross_entropy(a, i, reduction="none"), [MATRIX, _integers(4, 2)]),
    "binary cross entropy": (
        lambda a, b: ops.binary_cross_entropy_with_logits(a, ops.sigmoid(b), ops.ones_like(a), ops.ones_like(a)),
        [VECTOR, VECTOR],
    ),
    "convolution": (lambda a, w: ops.conv2d(a, w), [IMAGES, _floats(4, 3, 2, 2)]),
    "convolution in groups": (lambda a, w: ops.conv2d(a, w, groups=2), [_floats(2, 4, 5, 5), _floats(6, 2, 2, 2)]),
    "convolution in steps": (
        lambda a, w: ops.conv2d(a, w, stride=2, pad_mode="pad", padding=(1, 0, 2, 1), dilation=2),
        [IMAGES, _floats(4, 3, 2, 2)],
    ),
    "integers": (lambda i, k: i * k + ops.gather(k, i, 0) // 2, [_integers(4, 4), _integers(9, 4)]),
    "bias": (lambda a, b: ops.bias_add(a, b), [_floats(2, 3, 4, 4), _floats(3)]),
    "largest of windows": (lambda a: ops.max_pool2d(a, 2, 2), [IMAGES]),
    "mean of windows": (lambda a: ops.avg_pool2d(a, 2, 1), [IMAGES]),
    "without gradient": (lambda a: ops.stop_gradient(a) * a, [MATRIX]),
    "item assignment": (lambda a: _assigned(a), [MATRIX]),
}
SLICE_BY_SLICE = {
    "transposed product": (lambda a, b: ops.registry.matmul(a, b, transpose_a=True), [MATRIX, _floats(2, 3)]),
    "ops.Custom": (lambda a: _doubled(a), [MATRIX]),
    "batch norm": (lambda a: ops.registry.batch_norm(a, Tensor(np.ones(4)), Tensor(np.ones(4)))[0], [MATRIX]),
}


def _assigned(a):
    b = a * 2.0
    b[0] = a[1]
    return b


_doubled = ops.Custom(lambda x: 2 * x, func_type="pyfunc", bprop=lambda x, out, dout: dout * 2.0)


def looped(function, args, axes):
    """`function` called for each slice."""
    found = []
    for i in range(SIZE):
        part = [one if axis is None else ops.gather(one, Tensor(i), axis) for one, axis in zip(args, axes)]
        found.append(function(*part))
    return ops.stack(found)


def arguments(makers, axes, numbers):
    """One argument for each, with slices along its axis."""
    found = []
    for make, axis in zip(makers, axes):
        parts = [make(numbers).asnumpy() for _ in range(SIZE)]
        found.append(Tensor(parts[0] if axis is None else np.stack(parts, axis)))
    return found


def ways(makers):
    """Axes of arguments: with slices along the first or the last one, or without, at least one with."""
    choices = [(None, 0, -1) if len(makers) < 3 else (None, 0)] * len(makers)
    return [one for one in itertools.product(*choices) if any(axis is not None for axis in one)]


class Slices(Case):
    """Each op computes what calls for each slice compute, with the same gradients."""

    def check(self, function, makers, axes):
        args = arguments(makers, axes, rng(1))
        got = vmap(function, axes)(*args)
        expected = looped(function, args, axes)
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
        self.close(got, expected.asnumpy(), 1e-9)
        places = [i for i, one in enumerate(args) if "Float" in str(one.dtype)]
        if not places or "Float" not in str(got.dtype):
            return
        weight = Tensor(rng(2).standard_normal(got.shape))
        slopes = [
            ms.grad(lambda *xs, way=way: (way(*xs) * weight).sum(), tuple(places))(*args)
            for way in (vmap(function, axes), lambda *xs: looped(function, xs, axes))
        ]
        for one, other in zip(*[s if isinstance(s, tuple) else (s,) for s in slopes]):
            self.close(one, other.asnumpy(), 1e-9)

    def test_are_computed_at_once(self):
        with mock.patch.object(rules, "_slice_by_slice", side_effect=AssertionError("slice by slice")):
            for name, (function, makers) in AT_ONCE.items():
                for axes in ways(makers):
                    with self.subTest(name, axes=axes):
                        self.check(function, makers, axes)

    def test_are_computed_one_by_one(self):
        for name, (function, makers) in SLICE_BY_SLICE.items():
            for axes in ways(makers):
                with self.subTest(name, axes=axes):
                    self.check(function, makers, axes)

    def test_rules_give_what_slices_give(self):
        """Without its rule each op is computed slice by slice."""
        for name, (function, makers) in AT_ONCE.items():
            axes = [0] * len(makers)
            args = arguments(makers, axes, rng(1))
            expected = vmap(function)(*args)
            with self.subTest(name), mock.patch.object(rules.Rules, "_called", lambda *args: None):
                with mock.patch.object(rules.Rules, "_applied", lambda *args: None):
                    self.close(vmap(lambda *xs: function(*xs))(*args), expected.asnumpy(), 1e-9)

    def test_windows_of_the_default_padding(self):
        images = Tensor(rng(3).standard_normal((3, 2, 2, 7, 6)).astype("f4"))
        pools = nn.MaxPool2d(3, 2, pad_mode="same"), nn.AvgPool2d(2, 2, pad_mode="same")
        for layer in (nn.Conv2d(2, 3, 3, stride=2), *pools):
            expected = np.stack([layer(Tensor(one)).asnumpy() for one in images.asnumpy()])
            self.close(vmap(layer)(images), expected)
            self.close(ms.jit(vmap(layer))(images), expected)

    def test_nested(self):
        for name in ("broadcast sum", "product", "gather", "layer norm", "convolution", "sums", "steps", "top k"):
            function, makers = AT_ONCE[name]
            with self.subTest(name):
                numbers = rng(3)
                args = [
                    Tensor(np.stack([np.stack([make(numbers).asnumpy() for _ in range(2)]) for _ in range(SIZE)]))
                    for make in makers
                ]
                got = vmap(vmap(function))(*args)
                rows = [[function(*[one[i][k] for one in args]).asnumpy() for k in range(2)] for i in range(SIZE)]
                self.close(got, np.stack([np.stack(row) for row in rows]), 1e-9)
                got = vmap(vmap(function), 1, 1)(*args)  # along the other dimension first
                self.close(got, np.stack([np.stack(row) for row in rows]), 1e-9)

    def test_of_outer_slices(self):
        """An inner function uses slices of the outer one besides its arguments."""
        numbers = rng(4)
        a, b = numbers.standard_normal((3, 2, 4)), numbers.standard_normal((5, 4, 2))

        def outer(x, ys):
            return vmap(lambda y: ops.tanh(ops.matmul(x, y)) * x.sum() + ops.matmul(y.T, x.T))(ys)

        expected = np.stack([[np.tanh(x @ y) * x.sum() + y.T @ x.T for y in b] for x in a])
        self.close(vmap(outer, (0, None))(Tensor(a), Tensor(b)), expected, 1e-9)
        weight = numbers.standard_normal(expected.shape)
        for place, (x, y) in enumerate([(a, b)] * 2):
            total = lambda p, q: (vmap(outer, (0, None))(p, q) * Tensor(weight)).sum()  # noqa: E731
            of_pair = lambda x, y: ops.tanh(ops.matmul(x, y)) * x.sum() + ops.matmul(y.T, x.T)  # noqa: E731
            plain = lambda p, q: sum(  # noqa: E731
                (of_pair(p[i], q[k]) * Tensor(weight[i, k])).sum() for i in range(3) for k in range(5)
            )
            got, other = (ms.grad(way, place)(Tensor(x), Tensor(y)) for way in (total, plain))
            self.close(got, other.asnumpy(), 1e-9)

    def test_functions_without_a_rule(self):
        """A function of the library without a rule is computed slice by slice. This is the list of these."""
        sets = rules._OF_ELEMENTS, rules._OF_ROWS, rules._OF_AXIS, rules._REDUCTIONS
        names = {one for one in dir(_core.functions) if not one.startswith("_")}
        ruled = {one for one in names if any(one in ones for ones in sets) or hasattr(rules.Rules, f"_{one}")}
        self.assertEqual(names - ruled, {"apply", "host_function", "rounded"})

    def test_in_programs(self):
        for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
            ms.set_context(mode=mode)
            function, makers = AT_ONCE["product"]
            args = arguments(makers, (0, None), rng(1))
            expected = looped(function, args, (0, None)).asnumpy()
            mapped = vmap(function, (0, None))
            self.close(mapped(*args), expected, 1e-9)
            self.close(ms.jit(lambda a, b: vmap(function, (0, None))(a, b))(*args), expected, 1e-9)
            self.close(ms.value_and_grad(lambda a, b: mapped(a, b).sum())(*args)[0], expected.sum(), 1e-9)


X = Tensor(np.arange(6).reshape(3, 2).astype("f4"))
Y = Tensor(np.arange(6).reshape(2, 3).astype("f4"))


class Documented(Case):
    """Values and errors of MindSpore 2.10."""

    def test_axes(self):
        add = lambda a, b: a + b  # noqa: E731
        z = Tensor(np.array([1, 2], "f4"))
        self.close(vmap(lambda a, b, c: a + b + c, (0, 1, None), 1)(X, Y, z), [[1, 4, 7], [6, 9, 12]])
        self.close(ops.vmap(add)(X, X), [[0, 2], [4, 6], [8, 10]])
        self.close(vmap(add, (-1, -1))(X, X), [[0, 4, 8], [2, 6, 10]])
        self.close(vmap(add, [0, 0], -1)(X, X), [[0, 4, 8], [2, 6, 10]])
        self.close(vmap(add, (0, None))(X, 2.0), [[2, 3], [4, 5], [6, 7]])
        self.close(vmap(lambda p, c: p[0] * p[1] + c, ((0, None), 0))((X, z), X), [[0, 3], [4, 9], [8, 15]])

    def test_results(self):
        total, row = vmap(lambda a: (a.sum(), a), 0, (0, 1))(X)
        self.close(total, [1, 5, 9])
        self.close(row, [[0, 2, 4], [1, 3, 5]])
        first, (second, third) = vmap(lambda a: (a, [a * 2, a.sum()]), 0, (1, (1, 0)))(X)
        self.close(first, X.asnumpy().T)
        self.close(second, 2 * X.asnumpy().T)
        self.close(third, [1, 5, 9])
        self.close(vmap(lambda a: Tensor(2.0))(X), [2, 2, 2])
        number = vmap(lambda a: 3.0)(X)
        self.close(number, [3, 3, 3])
        self.assertEqual(number.dtype, ms.float32)
        shared = vmap(lambda a, b: (a * 2, b * 3), (0, None), (0, None))(X, Tensor(np.array([1, 2], "f4")))[1]
        self.close(shared, [3, 6])

    def test_nested(self):
        tens = Tensor(np.array([10, 20, 30], "f4"))
        found = vmap(vmap(lambda a, b: a + b, (0, None)), (None, 0))(Tensor(np.array([1, 2], "f4")), tens)
        self.close(found, [[11, 12], [21, 22], [31, 32]])

    def test_gradients(self):
        cubes = lambda a: (a**3).sum()  # noqa: E731
        expected = [[0, 3], [12, 27], [48, 75]]
        self.close(vmap(ms.grad(cubes))(X), expected)
        value, slopes = vmap(ms.value_and_grad(cubes))(X)
        self.close(value, [1, 35, 189])
        self.close(slopes, expected)
        self.close(ms.grad(lambda a: vmap(cubes)(a).sum())(X), expected)
        self.close(vmap(ms.jacrev(cubes))(X), expected)
        self.close(vmap(ms.jacfwd(cubes))(X), expected)

    def test_refuses_what_does_not_fit(self):
        add = lambda a, b: a + b  # noqa: E731
        cases = [
            ("wrong number of axes in in_axes, got 1, expected 2", lambda: vmap(add, (0,))(X, X)),
            ("too many axes in out_axes, got (0, 0)", lambda: vmap(add, (0, 0), (0, 0))(X, X)),
            ("no axis in in_axes, got (None, None)", lambda: vmap(add, (None, None))),
            ("no axis in out_axes, got None", lambda: vmap(add, 0, None)),
            ("axes have no common size, got sizes [3, 2]", lambda: vmap(add)(X, Y)),
            ("an axis in in_axes is outside the tensor, got 2, expected -2 to 1", lambda: vmap(add, (2, 0))(X, X)),
            ("an axis in out_axes is outside the tensor, got 5, expected -2 to 1", lambda: vmap(add, 0, 5)(X, X)),
            ("bad axis in in_axes, got 'x', expected an integer or None", lambda: vmap(add, "x")),
            ("bad axis in in_axes, got True", lambda: vmap(add, True)),
            ("not a function, got int", lambda: vmap(3)),
            ("a result is not a tensor, got NoneType", lambda: vmap(lambda a: None)(X)),
            ("a result differs between slices, got None in out_axes", lambda: vmap(lambda a: (a, a), 0, (0, None))(X)),
            ("an argument has no slices, got float", lambda: vmap(add)(X, 2.0)),
            ("an argument has no slices, got a tensor of no dimensions", lambda: vmap(add)(X, Tensor(2.0))),
            ("arguments have names, got ['b']", lambda: vmap(add)(X, b=X)),
        ]
        for text, call in cases:
            with self.subTest(text), self.refuses(RuntimeError, "[vmap] " + text):
                call()


class Functions(Case):
    """Draws, reads, parameters and gradients within functions."""

    def test_draws_are_the_same_in_all_slices(self):
        ones = Tensor(np.ones((SIZE, 64)))
        for function in (lambda a: ops.dropout(a, 0.5), lambda a: a + ops.rand(64)):
            found = vmap(function)(ones).asnumpy()
            self.assertTrue((found == found[0]).all())
            self.assertGreater(len(set(found[0])), 1)

    def test_values_are_not_read(self):
        with self.refuses(TypeError, "[vmap] a value that differs between slices is read, got a tensor of shape ()"):
            vmap(lambda a: a if a.sum() > 3 else -a)(X)
        kept = []
        vmap(lambda a: (kept.append(a), a)[1])(X)
        with self.refuses(TypeError, "[vmap] a value that differs between slices is read"):
            print(kept[0] + 1.0)

    def test_values_that_are_the_same_are_read(self):
        scale = Tensor(2.0)
        self.close(vmap(lambda a: a if scale > 3 else a * float(scale))(X), 2 * X.asnumpy())

    def test_gradients_by_parameters_are_those_of_each_slice(self):
        net = nn.SequentialCell(nn.Dense(2, 3), nn.Tanh(), nn.LayerNorm((3,)), nn.Dense(3, 1))
        rows = Tensor(rng(1).standard_normal((5, 1, 2)).astype("f4"))
        parameters = net.trainable_params()
        slopes = ms.grad(lambda a: (net(a) ** 2).sum(), None, parameters)
        both = ms.value_and_grad(lambda a: (net(a) ** 2).sum(), 0, parameters)
        found, (value, (of_rows, of_weights)) = vmap(slopes)(rows), vmap(both)(rows)
        for i in range(5):
            one, (of_row, of_weight) = both(rows[i])
            self.close(value[i], one.asnumpy(), 1e-5)
            self.close(of_rows[i], of_row.asnumpy(), 1e-5)
            for k, expected in enumerate(slopes(rows[i])):
                self.close(found[k][i], expected.asnumpy(), 1e-5)
                self.close(of_weights[k][i], of_weight[k].asnumpy(), 1e-5)

    def test_gradients_of_ones_own(self):
        class Own(nn.Cell):
            def construct(self, x, y):
                return x * y

            def bprop(self, x, y, out, dout):
                return dout * y * 2.0, dout * x * 3.0

        own, shared = Own(), Tensor(np.array([2, 5], "f4"))
        slopes = vmap(ms.grad(lambda a, b: own(a, b).sum(), (0, 1)), (0, None))(X, shared)
        self.close(slopes[0], np.tile([4, 10], (3, 1)))
        self.close(slopes[1], X.asnumpy() * 3)
        slopes = ms.grad(lambda a, b: vmap(own, (0, None))(a, b).sum(), (0, 1))(X, shared)
        self.close(slopes[0], np.tile([4, 10], (3, 1)))
        self.close(slopes[1], X.asnumpy().sum(0) * 3)

    def test_lists_of_cells(self):
        cells = nn.CellList([nn.Dense(2, 1), nn.Dense(2, 1), nn.Dense(2, 1)])
        row, rows = Tensor(rng(1).random((1, 2), "f4")), Tensor(rng(2).random((3, 1, 2), "f4"))
        self.close(vmap(cells, None)(row), np.stack([cell(row).asnumpy() for cell in cells]))
        self.close(vmap(cells, 0, 1)(rows), np.stack([cells[i](rows[i]).asnumpy() for i in range(3)], 1))

    def test_updates_are_refused(self):
        weight = Parameter(Tensor([1.0, 2.0]), "w")
        optimizer = nn.SGD([weight], 0.1)
        with self.refuses(NotImplementedError, "slices share parameters, got a call of an optimizer"):
            vmap(lambda a: (optimizer((a,)), a)[1])(X)
        with self.refuses(NotImplementedError, "[assign] slices share parameters, got a new value of 'w'"):
            vmap(lambda a: (ops.assign(weight, a), a)[1])(X)
        norm = nn.BatchNorm1d(2)
        norm.set_train()
        with self.refuses(NotImplementedError, "[vmap] slices share moving statistics"):
            vmap(norm)(Tensor(np.ones((3, 4, 2), "f4")))

    def test_of_indices_outside(self):
        ids = Tensor(np.array([[0, 1], [2, 5], [0, 0]], "i4"))
        table = Tensor(rng(1).standard_normal((3, 5, 2)))
        for axes in ((0, 0), (None, 0)):
            with self.refuses(IndexError, "outside"):
                vmap(lambda a, i: ops.gather(a, i, 0), axes)(table if axes[0] == 0 else table[0], ids)

    def test_of_scalars(self):
        """The dimension of the slices is none of theirs."""
        for op in ("softmax", "log_softmax", "cumsum", "argmax"):
            with self.assertRaises((ValueError, IndexError)):
                vmap(getattr(ops.registry, op))(Tensor([1.0, 2.0]))
        self.close(vmap(lambda a: a.sum() + ops.reduce_max(a) + a.mean())(Tensor([1.0, 2.0])), [3, 6])

    def test_python_is_called_once_and_compiled_once(self):
        calls = []

        def function(a):
            calls.append(a)
            return a * 2.0

        mapped = vmap(function)
        with warned() as lines:
            for i in range(5):
                self.close(mapped(X + float(i)), 2 * (X.asnumpy() + i))
        self.assertEqual(len(calls), 5)
        ((tree, _),) = mapped._trees.values()
        self.assertEqual(tree.compiled, 1)
        self.assertEqual(lines, [])


if __name__ == "__main__":
    unittest.main()
