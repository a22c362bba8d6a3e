"""Tensors and ops against NumPy."""

import copy
import inspect
import pickle
import typing

import numpy as np
from support import Case, parameters_text, rng

import partita as ms
from partita import Parameter, Tensor, nn, ops


class Tensors(Case):
    def test_hold_what_numpy_gives(self):
        for dtype in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "?"):
            values = rng().integers(0, 2, (3, 4)).astype(dtype)
            tensor = Tensor(values)
            self.assertEqual(tensor.asnumpy().dtype, values.dtype)
            np.testing.assert_array_equal(tensor.asnumpy(), values)
        self.assertEqual(Tensor([1.0, 2.0]).dtype, ms.float32)
        self.assertEqual(Tensor([1, 2]).dtype, ms.int64)
        self.assertEqual(Tensor(2.5).shape, ())
        self.assertEqual(str(Tensor(1, ms.int32).dtype), "Int32")

    def test_share_memory_with_numpy(self):
        tensor = Tensor(np.zeros((2, 3), "f4"))
        tensor.asnumpy()[1, 2] = 5
        self.assertEqual(tensor.asnumpy()[1, 2], 5)
        self.assertEqual(np.from_dlpack(tensor)[1, 2], 5)

    def test_are_indexed_as_arrays(self):
        values = rng().random((4, 5, 6)).astype("f4")
        tensor = Tensor(values)
        for index in (
            1,
            -1,
            slice(1, 3),
            (slice(None), 2),
            (1, 2, 3),
            (Ellipsis, 0),
            (None, 1),
            (slice(0, 2), None, -1),
        ):
            np.testing.assert_array_equal(tensor[index].asnumpy(), values[index])
        np.testing.assert_array_equal(tensor[Tensor([2, 0])].asnumpy(), values[[2, 0]])
        with self.refuses(IndexError, "outside the tensor, got 4"):
            tensor[4]
        with self.refuses(IndexError, "too many indices, got 4"):
            tensor[0, 0, 0, 0]

    def test_are_copied(self):
        for dtype in (ms.float32, ms.bfloat16, ms.int64):
            given = Tensor([1, 2], dtype)
            for made in (copy.deepcopy(given), pickle.loads(pickle.dumps(given)), given.copy()):
                self.assertEqual(made.dtype, dtype)
                self.close(made.astype(ms.float32), [1, 2])
                self.assertIsNot(made, given)
        parameter = ms.Parameter(Tensor([1.0, 2.0], ms.bfloat16), name="w", requires_grad=False)
        for made in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter)), parameter.clone()):
            self.assertEqual((made.name, made.dtype, made.requires_grad), ("w", ms.bfloat16, False))
        given = Tensor([1.0, 2.0])
        parameter = ms.Parameter(given)
        given[0] = 9
        self.close(parameter, [1, 2])
        parameter.set_data(given)
        given[0] = 5
        self.close(parameter, [9, 2])

    def test_have_the_documented_methods(self):
        x = Tensor(np.arange(6, dtype="f4").reshape(2, 3))
        self.close(x.max(axis=1), [2, 5])
        self.close(x.min(axis=0), [0, 1, 2])
        self.close(x.max(), 5)
        values, places = x.max(axis=1, return_indices=True)
        self.close(values, [2, 5])
        self.close(places, [2, 2])
        for one in (x, -x, x * 0.7, x.astype(ms.int32), (-x).astype(ms.int32)):
            values = one.asnumpy()
            self.close(one // 2, values // 2)
            self.close(one % 2, values % 2)
            self.close(one // -2.0, values // -2.0)
            self.close(one % Tensor([1.0, 2.0, -3.0]), values % np.array([1, 2, -3], "f4"), 1e-5)
        self.assertEqual((x.astype(ms.int32) // 2).dtype, ms.int32)
        self.close(ms.ops.floor(Tensor([-1.5, 2.0, 1e30])), np.array([-2, 2, 1e30], "f4"))
        with self.refuses(AttributeError, "[Tensor] unknown attribute, got 'reshap'", "did you mean 'reshape'?"):
            x.reshap(2)
        self.close(x[x > 2], [3, 4, 5])

    def test_refuse_bad_input(self):
        with self.refuses(TypeError, "element type", "complex128"):
            Tensor(np.zeros(2, "c16"))
        with self.refuses(ValueError, "the wrong shape, got (2,), expected (3,)"):
            Parameter(Tensor([1.0, 2, 3]), name="w").set_data(Tensor([1.0, 2]))
        with self.refuses(ValueError, "broadcast"):
            Tensor(np.zeros((2, 3), "f4")) + Tensor(np.zeros((4, 3), "f4"))
        with self.refuses(TypeError, "not a tensor, got str"):
            ops.relu("x")
        with self.refuses(ValueError, "several values"):
            bool(Tensor([1, 2]))


class Methods(Case):
    def test_show_their_parameters(self):
        for name, expected in {
            "add": "(self, other)",
            "softmax": "(self, axis=-1, *, dtype=None)",
            "sum": "(self, axis=None, dtype=None, keepdims=False, initial=None, *, dim=None, keepdim=None)",
            "moveaxis": "(self, source, destination)",
            "max": "(self, axis=None, keepdims=False, *, initial=None, where=True, return_indices=False)",
            "gather": "(self, input_indices, axis, batch_dims=0)",
        }.items():
            self.assertEqual(parameters_text(getattr(Tensor, name)), expected)

    def test_are_annotated_as_functions_are(self):
        for name in ("add", "softmax", "moveaxis", "topk"):
            function, method = getattr(ops, name), getattr(Tensor, name)
            expected = list(inspect.signature(function).parameters.values())[1:]
            self.assertEqual(list(inspect.signature(method).parameters.values())[1:], expected)
            self.assertEqual(typing.get_type_hints(method)["return"], typing.get_type_hints(function)["return"])

    def test_none_hides_its_parameters(self):
        hidden = [
            name
            for name, method in inspect.getmembers(Tensor, callable)
            if not name.startswith("_") and "*args" in str(inspect.signature(method))
        ]
        self.assertEqual(hidden, ["itemset"])  # numbers of an index, then a value

    def test_are_those_of_functions(self):
        self.assertEqual(Tensor.sqrt.__qualname__, "Tensor.sqrt")
        self.assertEqual(ops.sqrt.__qualname__, "sqrt")
        self.assertIn("`x` has any shape", ops.sqrt.__doc__)
        self.assertEqual(Tensor.sqrt.__doc__, ops.sqrt.__doc__.replace("`x`", "`self`"))
        x = rng().random((2, 3, 4)).astype("f4")
        self.assertEqual(Tensor(x).moveaxis(source=0, destination=-1).shape, (3, 4, 2))  # whose operand is in a closure
        with self.assertRaisesRegex(TypeError, "other"):
            Tensor(x).add()


class Ops(Case):
    def test_are_those_of_numpy(self):
        a, b = rng(1).random((3, 4)).astype("f4") + 0.5, rng(2).random((3, 4)).astype("f4") + 0.5
        x, y = Tensor(a), Tensor(b)
        pairs = [
            (x + y, a + b),
            (x - y, a - b),
            (x * y, a * b),
            (x / y, a / b),
            (x @ y.T, a @ b.T),
            (2 - x, 2 - a),
            (1 / x, 1 / a),
            (x**2, a**2),
            (-x, -a),
            (ops.exp(x), np.exp(a)),
            (ops.log(x), np.log(a)),
            (ops.sqrt(x), np.sqrt(a)),
            (ops.rsqrt(x), 1 / np.sqrt(a)),
            (x.sum(), a.sum()),
            (x.mean(1), a.mean(1)),
            (x.max(), a.max()),
            (ops.reduce_min(x, 0, True), a.min(0, keepdims=True)),
            (x.var(0), a.var(0)),
            (ops.maximum(x, 0.9), np.maximum(a, np.float32(0.9))),
            (x > y, a > b),
            (ops.abs(x - y), abs(a - b)),
            (ops.softmax(x, 0), np.exp(a) / np.exp(a).sum(0)),
            (ops.tanh(x), np.tanh(a)),
            (x.T, a.T),
            (x.reshape(2, -1), a.reshape(2, -1)),
            (ops.concat((x, y), 1), np.concatenate((a, b), 1)),
            (ops.stack((x, y)), np.stack((a, b))),
            (x.argmax(1), a.argmax(1)),
            (ops.cumsum(x, 1), a.cumsum(1)),
            (ops.clip(x, 0.7, 1.1), a.clip(np.float32(0.7), np.float32(1.1))),
            (x.squeeze(), a),
            (x[None], a[None]),
            (ops.one_hot(Tensor([0, 2], ms.int32), 3), np.eye(3)[[0, 2]]),
            (x.astype(ms.int32), a.astype("i4")),
            (ops.where(x > y, x, y), np.maximum(a, b)),
            (ops.gather(x, Tensor([1, 1]), 1), a[:, [1, 1]]),
            (ops.transpose(x.reshape(3, 2, 2), (2, 0, 1)), a.reshape(3, 2, 2).transpose(2, 0, 1)),
        ]
        for number, (got, expected) in enumerate(pairs):
            with self.subTest(number):
                self.close(got, expected, 2e-6)
        self.close(ops.split(x, 3, 1)[1], a[:, 3:])
        self.close(ops.topk(x, 2)[0], -np.sort(-a, 1)[:, :2])

    def test_powers_of_tensors(self):
        power = ops.pow(Tensor([-2.0, -2.0, 0.0, 0.0, 9.0]), Tensor([2.0, 3.0, 0.0, 2.0, 0.5]))
        self.close(power, [4, -8, 1, 0, 3], 0)
        self.close(2.0 ** Tensor([-1.0, 3.0]), [0.5, 8], 0)
        for name in ("int64", "int32", "uint8"):
            numbers = rng(7)
            base = numbers.integers(0 if name == "uint8" else -9, 9, (4, 5)).astype(name)
            exponent = numbers.integers(0, 20, (4, 5)).astype(name)
            x, y = Tensor(base), Tensor(exponent)
            for got, expected in (
                (x**y, base**exponent),
                (ops.pow(x, y[0]), base ** exponent[0]),
                (x**3, base ** np.array(3, name)),
                (3**y, np.array(3, name) ** exponent),
                (x**0, base**0),
            ):
                self.assertEqual(str(got.asnumpy().dtype), name)
                np.testing.assert_array_equal(got.asnumpy(), expected)
        self.assertEqual(int(Tensor(3, ms.int32) ** 3), 27)
        self.assertEqual((Tensor([3], ms.int32) ** 0.5).dtype, ms.float32)
        self.assertEqual(int((Tensor([3], ms.int64) ** 39).asnumpy()[0]), 3**39)
        d_base, d_exponent = ms.grad(ops.pow, (0, 1))(Tensor([-2.0, 0.0, 2.0]), Tensor([3.0, 2.0, 0.0]))
        self.close(d_base, [12, 0, 0], 0)
        self.close(d_exponent, [np.nan, 0, np.log(2)], 1e-6)
        with self.refuses(TypeError, "[power] operands are not numbers, got bool"):
            Tensor([True]) ** Tensor([False])

    def test_divide_downwards(self):
        numbers = rng(8)
        for name in ("int64", "int32", "uint8", "float32", "float64"):
            low = 0 if name == "uint8" else -90
            a, b = numbers.integers(low, 90, (2, 60)).astype(name)
            b[b == 0] = 7
            if name.startswith("float"):
                a, b = a / 8, b / 5
                a[:6], b[:6] = [1, -1, 3, 0.3, -0.3, 6], 0.1
            x, y = Tensor(a.astype(name)), Tensor(b.astype(name))
            a, b = x.asnumpy(), y.asnumpy()
            for got, expected in (
                (x // y, a // b),
                (x % y, a % b),
                (ops.remainder(x, y), a % b),
                (x // 7, a // np.array(7, name)),
                ((0 - x) % 7, (np.array(0, name) - a) % np.array(7, name)),
            ):
                self.assertEqual(str(got.asnumpy().dtype), name)
                np.testing.assert_array_equal(got.asnumpy(), expected)
        large = 2**60 + 1
        x = Tensor([large, -large], ms.int64)
        self.assertEqual((x // 3).asnumpy().tolist(), [large // 3, -large // 3])
        self.assertEqual((x % (large - 1)).asnumpy().tolist(), [1, large - 2])
        self.assertEqual((x - large).asnumpy().tolist(), [0, -2 * large])
        self.assertEqual((large - x).asnumpy().tolist(), [0, 2 * large])
        self.close(ms.grad(ops.floor_mod, 1)(Tensor([7.0, -7.0]), Tensor([2.0, 2.0])), [-3, 4], 0)

    def test_convolve_and_pool(self):
        x = rng().random((2, 3, 6, 5)).astype("f4")
        w = rng(2).random((4, 3, 3, 3)).astype("f4")
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        expected = np.einsum("nchwij,ocij->nohw", windows, w)
        self.close(ops.conv2d(Tensor(x), Tensor(w), pad_mode="same"), expected, 1e-5)
        self.close(
            ops.conv2d(Tensor(x), Tensor(w), padding=1, pad_mode="pad", stride=2), expected[:, :, ::2, ::2], 1e-5
        )
        blocks = x[:, :, :, :4].reshape(2, 3, 3, 2, 2, 2)
        self.close(nn.MaxPool2d(2, 2)(Tensor(x)), blocks.max((3, 5)))
        self.close(nn.AvgPool2d(2, 2)(Tensor(x)), blocks.mean((3, 5)))

    def test_have_the_registry_behind_them(self):
        x = Tensor(np.array([-2.0, 3.0], "f4"))
        self.close(ops.registry.leaky_relu(x, slope=0.5), [-1, 3])
        self.assertGreater(len(ops.registry.names()), 80)
        with self.refuses(TypeError, "unknown attribute, got 'slop'", "did you mean 'slope'"):
            ops.registry.leaky_relu(x, slop=1)
        with self.refuses(AttributeError, "got 'leaky_rel'", "did you mean 'leaky_relu'"):
            ops.registry.leaky_rel

    def test_are_objects_too(self):
        a = rng().random((3, 4)).astype("f4")
        self.close(ops.MatMul(transpose_b=True)(Tensor(a), Tensor(a)), a @ a.T, 1e-5)
        self.close(ops.ReduceSum(keep_dims=True)(Tensor(a), 1), a.sum(1, keepdims=True), 1e-5)
        self.close(ops.Softmax()(Tensor(a)).sum(-1), np.ones(3), 1e-6)
        with self.refuses(TypeError, "[MatMul.shard]", "got list"):
            ops.MatMul().shard([(1, 2), (2, 1)])
        with self.refuses(ValueError, "[MatMul.shard] bad number of parts, got 0"):
            ops.MatMul().shard(((0, 1), (1, 1)))


class Losses(Case):
    def test_are_their_formulas(self):
        logits, labels = rng().random((5, 4)).astype("f4"), np.array([0, 3, 1, 1, 2], "i4")
        log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        each = -log_p[np.arange(5), labels]
        x, y = Tensor(logits), Tensor(labels)
        self.close(nn.CrossEntropyLoss()(x, y), each.mean(), 1e-6)
        self.close(nn.CrossEntropyLoss(reduction="none")(x, y), each, 1e-6)
        self.close(nn.CrossEntropyLoss(ignore_index=1)(x, y), each[labels != 1].mean(), 1e-6)
        smooth = np.eye(4)[labels] * 0.9 + 0.1 / 4
        self.close(nn.CrossEntropyLoss(label_smoothing=0.1)(x, y), -(smooth * log_p).sum(1).mean(), 1e-6)
        self.close(nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, y), each, 1e-6)
        self.close(
            nn.SoftmaxCrossEntropyWithLogits(reduction="sum")(x, Tensor(np.eye(4, dtype="f4")[labels])), each.sum()
        )
        self.close(nn.MSELoss()(x, Tensor(smooth.astype("f4"))), ((logits - smooth) ** 2).mean(), 1e-6)
        self.close(nn.MAELoss("sum")(x, Tensor(smooth.astype("f4"))), abs(logits - smooth).sum(), 1e-5)
        p = 1 / (1 + np.exp(-logits))
        binary = -(smooth * np.log(p) + (1 - smooth) * np.log(1 - p)).mean()
        self.close(nn.BCEWithLogitsLoss()(x, Tensor(smooth.astype("f4"))), binary, 1e-6)
        with self.refuses(ValueError, "unknown reduction, got 'average'"):
            nn.MSELoss("average")
