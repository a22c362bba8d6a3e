"""Functions of tensors in programs and over ranks, as at once, and what they refuse."""

import numpy as np
from support import Case, labelled

import partita as ms
from partita import Tensor, nn, ops
from partita import dataset as ds

X = Tensor(np.array([[1.5, -2.0, 0.5, 0.5], [-0.5, 2.0, 2.0, 1.0]], "f4"))
Y = Tensor(np.array([[1.0, -2.0, 3.0, 0.5], [-0.5, 1.0, 2.0, -1.0]], "f4"))
IDS = Tensor(np.array([2, 0], "i4"))

CALLS = (
    lambda x, y, i: ops.maximum(x, y),
    lambda x, y, i: ops.minimum(x, 0.5),
    lambda x, y, i: ops.clip(x, -1.0, 1.0),
    lambda x, y, i: ops.clip_by_value(x.astype(ms.int32), -0.5, 1.5),
    lambda x, y, i: (x > y).sum(),
    lambda x, y, i: (x > y).sum(0),
    lambda x, y, i: ops.mean(x.astype(ms.int32)),
    lambda x, y, i: ops.max(x, 1),
    lambda x, y, i: x.max(0),
    lambda x, y, i: ops.min(x),
    lambda x, y, i: x.min(axis=1, keepdims=True),
    lambda x, y, i: ops.topk(x, 2, 0, False),
    lambda x, y, i: ops.one_hot(i, 3),
    lambda x, y, i: ops.one_hot(i, 3, 2.0, -1.0, 0),
    lambda x, y, i: x[:, i],
    lambda x, y, i: x[0, ::2],
    lambda x, y, i: x.astype(ms.int32)[1, i],
    lambda x, y, i: ops.matmul(x, y[0]),
    lambda x, y, i: ops.where(x > 0, x, 1),
    lambda x, y, i: ops.RealDiv()(x.astype(ms.int32), 2),
    lambda x, y, i: ops.tile(x, (2, 1)),
    lambda x, y, i: ops.unstack(x, 1)[1],
    lambda x, y, i: ops.isinf(x / (x - 0.5)),
    lambda x, y, i: ops.std(x[:1], 0, 1),
    lambda x, y, i: -x.astype(ms.int32) * ops.abs(x.astype(ms.int32)),
)


def arrays(made):
    return [array for one in made for array in arrays(one)] if isinstance(made, tuple) else [made.asnumpy()]


class Programs(Case):
    def test_give_what_calls_at_once_give(self):
        for number, call in enumerate(CALLS):
            with self.subTest(number):
                expected, got = arrays(call(X, Y, IDS)), arrays(ms.jit(call)(X, Y, IDS))
                self.assertEqual([one.dtype for one in got], [one.dtype for one in expected])
                for one, other in zip(got, expected):
                    self.close(one, other)

    def test_count_over_ranks(self):
        x, y = labelled(24)
        counted = ms.jit(lambda a, b: ((ops.argmax(a, 1) == b).sum(), ops.mean(b), ops.sum(b, 0)))
        expected = [one.asnumpy() for one in counted(Tensor(x), Tensor(y))]
        ms.set_context(ranks=3)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        got = counted(Tensor(x), Tensor(y))
        self.assertEqual([(one.dtype.numpy, float(one)) for one in got], [(a.dtype, float(a)) for a in expected])


class Losses(Case):
    def losses(self, loss_fn, ranks):
        """The losses and the weights of a training, all of whose labels of the second step are ignored."""
        x, y = labelled(48)
        y[24:] = 1
        ms.reset_auto_parallel_context()
        ms.set_context(ranks=ranks)
        mode = "data_parallel" if ranks > 1 else "stand_alone"
        ms.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True)
        ms.set_seed(5)
        net = nn.Dense(6, 3)
        step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), nn.Momentum(net.trainable_params(), 0.1, 0.9))
        found = [float(step(Tensor(x[i : i + 24]), Tensor(y[i : i + 24]))) for i in (0, 24)]
        return found, net.weight.asnumpy().copy()

    def test_cross_entropy_of_sigmoids(self):
        rows = np.random.default_rng(4)
        x, z = rows.standard_normal((3, 4)) * 4, rows.random((3, 4))
        loss = ops.SigmoidCrossEntropyWithLogits()
        share = 1 / (1 + np.exp(-x))
        expected = -(z * np.log(share) + (1 - z) * np.log(1 - share))
        logits, labels = Tensor(x, ms.float32), Tensor(z, ms.float32)
        np.testing.assert_allclose(loss(logits, labels).asnumpy(), expected, rtol=1e-5, atol=1e-6)
        of_logits, of_labels = ms.grad(loss, (0, 1))(logits, labels)
        np.testing.assert_allclose(of_logits.asnumpy(), share - z, rtol=1e-5, atol=1e-6)
        self.assertEqual(float(ops.abs(of_labels).sum()), 0)

    def test_of_ignored_labels_alone_is_nan_without_a_gradient(self):
        weights = Tensor(np.array([0.5, 1.0, 2.0], "f4"))
        for options in ({}, {"label_smoothing": 0.1}, {"weight": weights}):
            loss_fn = nn.CrossEntropyLoss(ignore_index=1, **options)
            (first, second), expected = self.losses(loss_fn, 1)
            self.assertTrue(np.isfinite(first) and np.isnan(second), (first, second))
            self.assertTrue(np.isfinite(expected).all())
            for ranks in (2, 3):
                found, got = self.losses(loss_fn, ranks)
                self.close(found[0], first, 1e-5)
                self.assertTrue(np.isnan(found[1]))
                self.close(got, expected, 1e-5)

    def test_do_not_change_labels(self):
        logits, labels = X[:, :3], ops.softmax(Y[:, :3])
        loss = nn.SoftmaxCrossEntropyWithLogits(reduction="mean")
        _, of_labels = ms.grad(lambda a, b: loss(a, b), (0, 1))(logits, labels)
        self.close(of_labels, np.zeros((2, 3)))
        self.close(ms.grad(lambda a: (ops.stop_gradient(a) * a).sum())(X), X.asnumpy())


class Likes(Case):
    def test_zeros_and_ones_have_the_shape_and_type_of_numbers_and_lists(self):
        for value, zeros in ((3, Tensor(0)), (1.5, Tensor(0.0)), ([1, 2], Tensor([0, 0])), ([True], Tensor([False]))):
            with self.subTest(value=value):
                like, ones = ops.zeros_like(value), ops.ones_like(value)
                self.assertEqual((like.dtype, like.asnumpy().tolist()), (zeros.dtype, zeros.asnumpy().tolist()))
                self.assertEqual((ones.dtype, ones.shape), (zeros.dtype, zeros.shape))


class Images(Case):
    def test_keep_their_proportions(self):
        rows = np.arange(2 * 8 * 6 * 3, dtype="u1").reshape(2, 8, 6, 3)
        resized = lambda size, images: ds.NumpySlicesDataset(images, ["image"], shuffle=False).map(  # noqa: E731
            ds.vision.Resize(size), "image"
        )
        shapes = [resized(5, rows), resized(5, rows.transpose(0, 2, 1, 3)), resized((5, 5), rows), resized(12, rows)]
        self.assertEqual([tuple(one.output_shapes()[0]) for one in shapes],
                         [(6, 5, 3), (5, 6, 3), (5, 5, 3), (16, 12, 3)])  # fmt: skip
        by_side, by_both = (next(iter(resized(size, rows)))[0].asnumpy() for size in (5, (6, 5)))
        np.testing.assert_array_equal(by_side, by_both)
        with self.refuses(ValueError, "[Resize] bad size, got 0"):
            ds.vision.Resize(0)


class BelowZero(Case):
    """Numbers of slices below zero: refused by `gather`, as documented; in an index they count from the end."""

    NUMBERS = np.arange(12).reshape(4, 3)
    DTYPES = ("f2", "f4", "f8", "u1", "u2", "i1", "i2", "i4", "i8", "?")

    def test_count_from_the_end_in_gather_for_every_element_type(self):
        ids = np.array([1, -1, -4], "i4")
        for dtype in self.DTYPES:
            values = self.NUMBERS.astype(dtype)
            with self.subTest(dtype):
                self.close(ops.gather(Tensor(values), Tensor(ids), 0), values[ids])
                with self.refuses(IndexError, "[gather] outside", "got -5 of axis 0, expected -4 to 3"):
                    ops.gather(Tensor(values), Tensor(np.array([1, -5], "i4")), 0)
        values, twice = self.NUMBERS.astype("f4"), Tensor(ids[:2])
        self.close(ms.jit(lambda x, i: ops.gather(x, i, 1))(Tensor(values), twice), values[:, ids[:2]])
        found = ms.grad(lambda x: (ops.gather(x, Tensor(ids), 0) * ops.gather(x, Tensor(ids), 0)).sum())(Tensor(values))
        expected = 2 * values * (np.array([1, 1, 0, 1])[:, None])
        self.close(found, expected)

    def test_classes_count_from_the_end(self):
        loss = ops.nll_loss(X, Tensor(np.array([-1, 1], "i4")), reduction="none")
        self.assertEqual(loss.asnumpy().tolist(), [-0.5, -2.0])

    def test_large_integers_are_picked_as_they_are(self):
        values = np.random.default_rng(1).integers(2**62, 2**63 - 1, (5, 4))
        places = np.array([[3, 0], [1, 1], [2, 3], [0, 0], [1, 2]])
        for wrap in (lambda function: function, ms.jit):
            picked = wrap(lambda x, i: ops.gather(x, i, 0))(Tensor(values), Tensor([4, 0]))
            np.testing.assert_array_equal(picked.asnumpy(), values[[4, 0]])
            picked = wrap(lambda x, i: ops.gather_elements(x, 1, i))(Tensor(values), Tensor(places))
            np.testing.assert_array_equal(picked.asnumpy(), np.take_along_axis(values, places, 1))
            picked = wrap(lambda x: ops.flip(x, (0, 1)))(Tensor(values))
            np.testing.assert_array_equal(picked.asnumpy(), values[::-1, ::-1])

    def test_count_from_the_end_in_an_index(self):
        numbers = np.array([-1, 0, -4, 3], "i4")
        for dtype in self.DTYPES:
            values = self.NUMBERS.astype(dtype)
            with self.subTest(dtype):
                self.close(Tensor(values)[Tensor(numbers)], values[numbers])
                self.close(Tensor(values)[:, Tensor(numbers[:2])], values[:, numbers[:2]])
        values = self.NUMBERS.astype("f4")
        self.close(ms.jit(lambda x, i: x[i])(Tensor(values), Tensor(numbers)), values[numbers])
        self.close(ms.jit(lambda x: x[Tensor(numbers)])(Tensor(values)), values[numbers])
        for dtype in ("f4", "i8"):
            with self.refuses(IndexError, "outside", "got -5 of axis 0, expected -4 to 3"):
                Tensor(self.NUMBERS.astype(dtype))[Tensor(np.array([-5, 1], "i4"))]


class Refusals(Case):
    def test_name_what_is_not_there(self):
        images, loss = Tensor(np.zeros((1, 1, 6, 6), "f4")), nn.CrossEntropyLoss
        for text, call in (
            ("[relu] tensors cannot be changed in place", lambda: ops.relu(X, True)),
            ("[clip] no bound", lambda: ops.clip(X)),
            ("[clip_by_value] bools cannot be clipped, got Bool", lambda: ops.clip_by_value(X > 0, 0)),
            ("[masked_fill] the value has the wrong type, got 1.5", lambda: ops.masked_fill(IDS, IDS > 0, 1.5)),
            ("[div] unknown rounding, got 'up', expected", lambda: ops.div(X, Y, rounding_mode="up")),
            ("[flatten] unknown order, got 'A', expected 'C' or 'F'", lambda: ops.flatten(X, "A")),
            ("[matmul] bools have no products of matrices", lambda: ops.matmul(X > 0, X > 0)),
            ("[mv] the second operand is no vector, got shape", lambda: ops.mv(X, X)),
            ("[gather] dimensions of batches do not fit, got shapes", lambda: ops.gather(X, IDS, 0, 1)),
            ("[repeat_interleave] bad numbers of copies, got [1, -1]", lambda: ops.repeat_interleave(X, [1, -1], 0)),
            ("[index] the indices do not fit together, got shapes (3,), (2,)", lambda: X[[0, 1, 0], [0, 1]]),
            ("[index] outside the tensor, got 9 of axis 1, expected", lambda: X[[0, 1], [0, 9]]),
            ("[index] indices are not integers, got a tensor of Float32", lambda: X[X]),
            ("[gather] outside the tensor, got 7 of axis 0, expected -2 to 1", lambda: ops.gather(X, Tensor([7]), 0)),
            ("[gather] the ids are of another type, got UInt8", lambda: ops.gather(X, Tensor(np.array([1], "u1")), 0)),
            ("[tile] dims is not a tuple, got 2", lambda: ops.tile(X, 2)),
            ("[tile] dims is not a tuple, got 2", lambda: ops.Tile()(X, 2)),
            ("[tile] a number of copies is not an integer, got 1.5", lambda: ops.tile(X, (2, 1.5))),
            ("[tile] a number of copies is not an integer, got True", lambda: ops.tile(X, (2, True))),
            ("[tile] bad number of copies, got -1", lambda: ops.tile(X, (2, -1))),
            ("[max] initial and where are not supported", lambda: ops.max(X, 0, initial=1.0)),
            ("[Tensor.min] initial and where are not supported", lambda: X.min(initial=1.0)),
            ("[max_pool2d] no window is within the elements, got (3, 3)", lambda: ops.max_pool2d(images, 3, 2, 0, 9)),
            ("[one_hot] the values differ in element type", lambda: ops.one_hot(IDS, 3, 1, 0.0)),
            ("[outer] operands are not vectors, got shapes (2, 4)", lambda: ops.outer(X, X)),
            ("[CrossEntropyLoss] the weights are not a tensor, got list", lambda: loss([1.0])),
            ("wrong number of weights, got (2,)", lambda: loss(Tensor([1.0, 2.0]))(X, IDS)),
            ("[value_and_grad] factors of gradients", lambda: ms.value_and_grad(lambda a: a, sens_param=True)),
        ):
            with self.subTest(text), self.refuses(Exception, text):
                call()

    def test_gradients_with_positions_and_names(self):
        net = nn.Dense(4, 1, weight_init="ones", bias_init="zeros")
        weights = ms.ParameterTuple(net.trainable_params())

        def total(x):
            return net(x).sum()

        (position, by_input), named = ms.grad(total, 0, weights, return_ids=True)(X)
        self.assertEqual((position, [name for name, _ in named]), (0, ["weight", "bias"]))
        self.assertEqual(by_input.asnumpy().tolist(), [[1] * 4] * 2)
        value, (name, one) = ms.value_and_grad(total, None, weights[1], return_ids=True)(X)
        self.assertEqual((name, one.asnumpy().tolist()), ("bias", [2]))
        self.close(value, X.asnumpy().sum())
        both, others = ms.grad(lambda a, b: (a * b, a), (0, 1), has_aux=True, return_ids=True)(X, Y)
        self.assertEqual([position for position, _ in both], [0, 1])
        self.close(others[0], X)
        self.close(ms.get_grad(both, 1), X)
        found = ms.grad(total, 0, weights, return_ids=True)(X)
        self.assertEqual(ops.get_grad(found, weights[1]).asnumpy().tolist(), [2])
        self.close(ops.get_grad(found, 0), np.ones((2, 4)))
        for kind, text, call in (
            (RuntimeError, "[get_grad] no gradient of it, got 2, expected one of [0, 1]", lambda: ms.get_grad(both, 2)),
            (TypeError, "[get_grad] not an identifier, got str", lambda: ms.get_grad(both, "bias")),
            (TypeError, "[get_grad] gradients without identifiers, got Tensor", lambda: ms.get_grad(X, 0)),
        ):
            with self.refuses(kind, text):
                call()
