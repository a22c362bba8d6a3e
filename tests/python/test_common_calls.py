"""Calls whose results were other than those of MindSpore, compared with NumPy's, of random operands."""

import math

import numpy as np
from support import Case

import partita as ms
import partita.numpy as mnp
from partita import Tensor, mint, nn, ops

RANDOM = np.random.default_rng(11)


def floats(*shape, low=-3.0, high=3.0):
    return RANDOM.uniform(low, high, shape).astype("f4")


def integers(*shape, kind="i4"):
    return RANDOM.integers(0 if kind == "u1" else -6, 7, shape).astype(kind)


def windows(x, kernel, step, pad):
    """[rows][columns] of the parts of images[n, c, h, w] that windows have, and of the numbers of elements with
    padding, for windows that begin within the image or its padding before it."""
    made = []
    for top in range(-pad, x.shape[2] + pad, step):
        if top >= x.shape[2] or (top + kernel > x.shape[2] + pad and top + kernel - step >= x.shape[2] + pad):
            continue
        row = []
        for left in range(-pad, x.shape[3] + pad, step):
            if left >= x.shape[3] or (left + kernel > x.shape[3] + pad and left + kernel - step >= x.shape[3] + pad):
                continue
            part = x[:, :, max(top, 0) : top + kernel, max(left, 0) : left + kernel]
            size = min(top + kernel, x.shape[2] + pad) - top, min(left + kernel, x.shape[3] + pad) - left
            row.append((part, size[0] * size[1]))
        made.append(row)
    return made


def _of_degree_3(x):
    """The gradient of the sums of |x|^3 to the power of 1/3."""
    return np.sign(x) * x**2 / (np.abs(x) ** 3).sum(1, keepdims=True) ** (2 / 3)


def pooled(x, kernel, step, pad, function):
    rows = [[function(part, count) for part, count in row] for row in windows(x, kernel, step, pad)]
    return np.moveaxis(np.array(rows), (0, 1), (2, 3))


class Numpy(Case):
    def test_types_are_the_documented_ones(self):
        x, half, wide = floats(2, 3), floats(2, 3).astype("f2"), floats(2, 3).astype("f8")
        whole, small = integers(2, 3), integers(2, 3, kind="u1")
        with np.errstate(divide="ignore", invalid="ignore"):
            for name, made, expected in (
                ("ceil", mnp.ceil(Tensor(half)), np.ceil(half).astype("f4")),
                ("ceil of integers", mnp.ceil(Tensor(whole)), whole.astype("f4")),
                ("fix", mnp.fix(Tensor(wide)), np.fix(wide).astype("f4")),
                ("trunc", mnp.trunc(Tensor(whole)), whole.astype("f4")),
                ("sign", mnp.sign(Tensor(whole)), np.sign(whole).astype("f4")),
                ("sin", mnp.sin(Tensor(small)), np.sin(small.astype("f4")).astype("f2")),
                ("divide", mnp.divide(Tensor(wide), Tensor(whole + 9)), (wide / (whole + 9)).astype("f4")),
                ("add", mnp.add(Tensor(half), 0.5), half.astype("f4") + np.float32(0.5)),
                ("maximum", mnp.maximum(Tensor(whole), 1.5), np.maximum(whole, 1.5).astype("i4")),
                ("clip", mnp.clip(Tensor(whole), 0, 2.5), np.clip(whole, 0, 2.5).astype("i4")),
                ("clip below", mnp.clip(Tensor(x), None, 1), np.minimum(x, 1)),
                ("mean", mnp.mean(Tensor(whole), 0), np.trunc(whole.mean(0)).astype("i4")),
                ("norm", mnp.norm(Tensor(half)), np.linalg.norm(half.astype("f4"))),
                ("norm of a matrix", mnp.norm(Tensor(half), 1), np.linalg.norm(half, 1).astype("f2")),
                ("trace", mnp.trace(Tensor(whole), 1), np.trace(whole, 1).astype("i8")),
                ("trace beyond", mnp.trace(Tensor(whole), 5), np.int64(0)),
                ("asfarray", mnp.asfarray([1, 2], ms.int32), np.array([1, 2], "f4")),
                ("reciprocal", mnp.reciprocal(Tensor(whole + 9)), np.trunc(1 / (whole + 9)).astype("i4")),
                ("cumsum", mnp.cumsum(Tensor(x > 0)), np.cumsum(x > 0).astype("i4")),
                ("repeat", mnp.repeat(Tensor(x), [1, 0, 2], 1), np.repeat(x, [1, 0, 2], 1)),
                ("argmin", mnp.argmin(Tensor(np.float32(2))), np.int64(0)),
            ):
                with self.subTest(name):
                    self.assertEqual(made.asnumpy().dtype, expected.dtype)
                    self.close(made, expected, 4e-3 if expected.dtype == np.float16 else 1e-6)
        self.assertIsInstance(mnp.array_split(Tensor(x), [1]), list)
        self.assertIsInstance(mnp.array_split(Tensor(x), 2), tuple)

    def test_average_takes_weights(self):
        x, weights, each = floats(3, 4), floats(4, low=0.1), floats(3, 4, low=0.1)
        self.close(mnp.average(Tensor(x), 1, Tensor(weights)), np.average(x, 1, weights), 1e-5)
        made, total = mnp.average(Tensor(x), weights=Tensor(each), returned=True)
        self.close(made, np.average(x, weights=each), 1e-5)
        self.close(total, each.sum(), 1e-5)
        made, total = mnp.average(Tensor(x), 0, returned=True)
        self.close(made, x.mean(0), 1e-5)
        self.close(total, [3] * 4)


class Windows(Case):
    def test_ceil_mode_adds_the_last_windows(self):
        for size, kernel, step, pad in (((5, 6), 2, 2, 0), ((6, 7), 3, 2, 1), ((7, 5), 3, 3, 0), ((4, 6), 1, 3, 0)):
            x = floats(2, 3, *size)
            inside = pooled(x, kernel, step, pad, lambda part, count: part.mean((2, 3)))
            around = pooled(x, kernel, step, pad, lambda part, count: part.sum((2, 3)) / count)
            largest = pooled(x, kernel, step, pad, lambda part, count: part.max((2, 3)))
            padded = {"pad_mode": "pad", "padding": pad, "ceil_mode": True}
            with self.subTest(size=size, kernel=kernel):
                self.close(ops.max_pool2d(Tensor(x), kernel, step, pad, ceil_mode=True), largest)
                self.close(nn.MaxPool2d(kernel, step, **padded)(Tensor(x)), largest)
                self.close(ops.avg_pool2d(Tensor(x), kernel, step, pad, True, False), inside, 1e-5)
                self.close(nn.AvgPool2d(kernel, step, **padded)(Tensor(x)), around, 1e-5)
                made = ops.avg_pool2d(Tensor(x), kernel, step, pad, True, True, 3)
                self.close(made, pooled(x, kernel, step, pad, lambda part, count: part.sum((2, 3)) / 3), 1e-5)

    def test_parts_of_adaptive_pools_overlap(self):
        x = floats(2, 3, 5, 7)
        made = nn.AdaptiveAvgPool2d((2, 3))(Tensor(x))
        rows, columns = ([(i * n // k, -(-(i + 1) * n // k)) for i in range(k)] for n, k in ((5, 2), (7, 3)))
        expected = [[x[..., a:b, c:d].mean((-2, -1)) for c, d in columns] for a, b in rows]
        self.close(made, np.moveaxis(np.array(expected), (0, 1), (2, 3)), 1e-5)
        self.close(nn.AdaptiveAvgPool2d((2, 3))(Tensor(x[0])), made.asnumpy()[0], 1e-6)

    def test_transposed_convolutions_keep_the_rest_of_a_stride(self):
        x, weight = floats(1, 2, 4), floats(2, 3, 1, 1)
        net = nn.Conv1dTranspose(2, 3, 1, 2, "valid", weight_init=Tensor(weight))
        expected = np.zeros((1, 3, 8), "f4")
        expected[..., ::2] = np.einsum("ncw,co->now", x, weight[:, :, 0, 0])
        self.close(net(Tensor(x)), expected, 1e-5)

    def test_edges(self):
        x = floats(3, 4)
        around = ((2, 3), (4, 1))
        self.close(nn.Pad(around, "SYMMETRIC")(Tensor(x)), np.pad(x, around, "symmetric"))
        self.close(nn.ConstantPad2d((1, 2), 0.5)(Tensor(x)), np.pad(x, ((0, 0), (1, 2)), constant_values=0.5))
        images = floats(1, 2, 3, 4)
        made = ops.ResizeNearestNeighbor((5, 7), align_corners=True)(Tensor(images))
        rows, columns = (np.floor(np.arange(k) * (n - 1) / (k - 1) + 0.5).astype(int) for n, k in ((3, 5), (4, 7)))
        self.close(made, images[:, :, rows][..., columns])


class Functions(Case):
    def test_products_of_matrices(self):
        a, b = integers(2, 3), integers(3, 4)
        made = ops.matmul(Tensor(a), Tensor(b))
        self.assertEqual(made.dtype, ms.int32)
        self.close(made, a @ b)
        for first, second in (((3, 1, 4, 2), (5, 2, 3)), ((2, 3, 2), (4, 1, 2, 2))):
            x, y = floats(*first), floats(*second)
            self.close(ops.matmul(Tensor(x), Tensor(y)), x @ y, 1e-5)
        x, y = floats(3, 1, 4, 2), floats(5, 2, 3)
        gradient = ms.grad(lambda p, q: ops.matmul(p, q).sum(), 1)(Tensor(x), Tensor(y))
        self.close(gradient, np.broadcast_to(x.sum((0, 1, 2))[:, None], (2, 3))[None].repeat(5, 0), 1e-4)
        self.close(ops.mv(Tensor(x[0, 0]), Tensor(floats(2, 1) * 0 + 1)), x[0, 0].sum(1), 1e-5)

    def test_gather_in_batches(self):
        x, ids = floats(2, 3, 4, 5), RANDOM.integers(0, 4, (2, 6))
        expected = np.stack([x[i][:, ids[i]] for i in range(2)])
        self.close(ops.gather(Tensor(x), Tensor(ids.astype("i4")), 2, 1), expected)
        self.close(ops.Gather(1)(Tensor(x), Tensor(ids.astype("i4")), 2), expected)

    def test_masks_of_strided_slices(self):
        x = floats(4, 5, 6)
        for masks, expected in (
            ({"begin_mask": 1, "end_mask": 2}, x[:3, 1:, 2:4]),
            ({"shrink_axis_mask": 2}, x[1:3, 1, 2:4]),
            ({"ellipsis_mask": 1}, x[..., 1:4, 2:4]),
        ):
            self.close(ops.StridedSlice(**masks)(Tensor(x), (1, 1, 2), (3, 4, 4), (1, 1, 1)), expected)
        self.close(ops.StridedSlice(new_axis_mask=1)(Tensor(x), (0, 1), (1, 3), (1, 1)), x[None, 1:3])

    def test_orders_and_repeats(self):
        x = floats(2, 3, 4)
        self.close(Tensor(x).flatten("F"), x.flatten("F"))
        self.close(ops.flatten(Tensor(x), "F"), x.transpose().reshape(4, -1))
        self.close(ops.repeat_interleave(Tensor(x), [0, 2, 1], 1), np.repeat(x, [0, 2, 1], 1))
        self.close(Tensor(x).repeat_interleave(2), np.repeat(x, 2))
        gradient = ms.grad(lambda a: (ops.repeat_interleave(a, Tensor([0, 2, 1]), 1) ** 2).sum())(Tensor(x))
        self.close(gradient, 2 * x * np.array([0, 2, 1], "f4")[:, None], 1e-5)
        self.close(Tensor(x).cumsum(), np.cumsum(x), 1e-5)
        self.assertEqual(Tensor(integers(3, kind="u1")).cumsum(0).dtype, ms.int32)
        self.close(Tensor(x).tile((2, 1, 1)), np.tile(x, (2, 1, 1)))
        self.close(Tensor(x[0]).trace(1), np.trace(x[0], 1), 1e-5)
        self.assertEqual(ops.trace(Tensor(integers(3, 3))).dtype, ms.int32)
        self.assertEqual(ops.diagonal(Tensor(x[0]), 9).shape, (0,))

    def test_elements(self):
        x, y = floats(3, 4), floats(3, 4, low=0.5)
        whole = integers(3, 4)
        self.close(ops.div(Tensor(x), Tensor(y), rounding_mode="trunc"), np.trunc(x / y))
        self.close(ops.div(Tensor(whole), 4, rounding_mode="trunc"), np.trunc(whole / 4))
        made = ops.cumprod(Tensor(whole), 0)
        self.assertEqual(made.dtype, ms.int64)
        self.close(made, np.cumprod(whole, 0))
        self.close(mint.cumprod(Tensor(x), 1), np.cumprod(x, 1), 1e-5)
        soft = np.where(2 * x > 1, x, np.log1p(np.exp(2 * x)) / 2)
        self.close(ops.softplus(Tensor(x), 2, 1), soft, 1e-5)
        self.close(Tensor(whole).masked_fill(Tensor(x > 0), 1.5), np.where(x > 0, 1, whole))
        self.assertEqual(ops.hardswish(Tensor(whole)).dtype, ms.int32)
        self.close(ops.full((2,), 3, dtype=ms.bool_), [True, True])
        with self.refuses(TypeError, "[selu] the operand has no fractions, got Int32"):
            ops.selu(Tensor(whole))
        self.close(nn.get_activation("relu6")(Tensor(x * 3)), np.clip(x * 3, 0, 6))
        self.close(mint.nn.Sigmoid()(Tensor(x)), 1 / (1 + np.exp(-x)), 1e-5)

    def test_logarithms_of_less_than_nothing_have_gradients(self):
        x = np.array([-2.5, -1.5, -0.5, 0.0, 1e-6, 2.0], "f4")
        made = ops.log1p(Tensor(x)).asnumpy()
        self.assertTrue(np.isnan(made[:2]).all())
        self.close(Tensor(made[2:]), np.log1p(x[2:]), 1e-6)
        self.close(ms.grad(lambda a: ops.log1p(a).sum())(Tensor(x)), 1 / (1 + x), 1e-5)

        x = Tensor(np.array([np.inf, 3, -0.5], "f4"))
        self.close(ops.log1p(x), np.log1p(x.asnumpy()))
        self.close(ms.grad(lambda a: ops.log1p(a).sum())(x), [0, 0.25, 2])

    def test_slices_are_added_in_their_places(self):
        chance = np.random.default_rng(2)
        for dtype in ("f4", "i8"):
            x, new = (chance.integers(-(2**20), 2**20, shape).astype(dtype) for shape in ((2, 5, 3), (2, 4, 3)))
            x, new = (x + 2**60, new + 2**60) if dtype == "i8" else (x, np.where(new > 2**19, np.inf, new))
            expected = x.copy()
            np.add.at(expected, (slice(None), [0, 4, 4, 1]), new)
            made = ops.index_add(Tensor(x), Tensor([0, 4, 4, 1]), Tensor(new.astype(dtype)), 1)
            np.testing.assert_allclose(made.asnumpy(), expected, 1e-6)

    def test_products_of_integers_wrap_around(self):
        chance = np.random.default_rng(4)
        for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4"):
            ends = np.iinfo(dtype)
            for left, right in (((5, 7), (7, 3)), ((2, 5, 7), (7, 3)), ((7,), (7,))):
                a, b = (chance.integers(ends.min, ends.max, shape, dtype, endpoint=True) for shape in (left, right))
                for wrap in (lambda function: function, ms.jit):
                    made = wrap(lambda x, y: ops.matmul(x, y))(Tensor(a), Tensor(b)).asnumpy()
                    self.assertEqual(made.dtype, a.dtype)
                    np.testing.assert_array_equal(made, np.matmul(a, b), f"{dtype} {left} {right}")

    def test_quotients_of_integers_are_exact(self):
        chance = np.random.default_rng(3)
        for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4"):
            range_of = np.iinfo(dtype)
            a = chance.integers(range_of.min // 2, range_of.max, 200, dtype)
            b = chance.integers(max(range_of.min, -9), 9, 200, dtype)
            b[b == 0] = 1
            expected = [abs(int(m)) // abs(int(n)) * (1 if (m < 0) == (n < 0) else -1) for m, n in zip(a, b)]
            made = ops.div(Tensor(a), Tensor(b), rounding_mode="trunc")
            self.assertEqual(([int(one) for one in made.asnumpy()], made.asnumpy().dtype), (expected, a.dtype))

    def test_vectors_of_zeros_have_gradients(self):
        zeros, x = Tensor(np.zeros((2, 3), "f4")), floats(2, 3)
        for ord, dim in ((None, None), (None, 1), (2, 1), (3, 1), (1, 1), ("fro", (0, 1))):
            gradient = ms.grad(lambda a, ord=ord, dim=dim: ops.norm(a, ord, dim).sum())(zeros)
            self.close(gradient, np.zeros((2, 3)))
        self.close(ms.grad(lambda a: ops.norm(a, 3, 1).sum())(Tensor(x)), _of_degree_3(x), 1e-4)
        self.close(ms.grad(lambda a: (ops.clip_by_norm(a, 1.0) * Tensor(x)).sum())(zeros), x)
        for norm in (np.inf, np.nan):
            self.assertTrue(np.isnan(ops.clip_by_norm(Tensor(np.float32(norm)), 1.0).asnumpy()))
            with self.refuses(RuntimeError, f"[clip_by_norm] the norm is not finite, got {norm}, expected a number"):
                ops.clip_by_norm([Tensor(np.float32(norm)), Tensor(x)], 1.0, error_if_nonfinite=True)
        self.close(ops.clip_by_norm(zeros, 1.0, error_if_nonfinite=True), np.zeros((2, 3)))
        gradient = ms.grad(lambda a: ops.cosine_similarity(a, Tensor(x), eps=0.1).sum())(zeros)
        self.close(gradient, x / 0.1, 1e-5)
        short, other = floats(4, 1) * 0.05, floats(4, 1)
        expected = short * other / np.maximum(np.abs(short * other), 0.1)
        self.close(ops.cosine_similarity(Tensor(short), Tensor(other), 1, 0.1), expected[:, 0], 1e-5)

    def test_masked_select_has_gradients(self):
        x = floats(3, 4)
        gradient = ms.grad(lambda a: (ops.masked_select(a, a > 0) ** 2).sum())(Tensor(x))
        self.close(gradient, np.where(x > 0, 2 * x, 0), 1e-5)
        mask = np.array([True, False, True, False])
        self.close(Tensor(x).masked_select(Tensor(mask)), x[:, mask].reshape(-1))

    def test_labels_are_smoothed(self):
        x, classes, weight = floats(5, 3), np.array([0, 2, 1, 1, 2], "i4"), floats(3, low=0.1)
        share, counts = weight[classes] * (classes != 1), classes != 1
        each = 0.9 * -x[np.arange(5), classes] * share - 0.1 / 3 * (x * weight).sum(1) * counts
        options = {"weight": Tensor(weight), "ignore_index": 1, "label_smoothing": 0.1}
        self.close(ops.nll_loss(Tensor(x), Tensor(classes), **options), each.sum() / share.sum(), 1e-5)
        self.close(ops.nll_loss(Tensor(x), Tensor(classes), reduction="none", **options), each, 1e-5)
        self.assertFalse(math.isnan(float(ops.nll_loss(Tensor(x), Tensor(classes), label_smoothing=0.1))))

    def test_labels_that_are_all_ignored_have_no_gradients(self):
        x, classes = Tensor(floats(2, 3)), Tensor([0, 0], ms.int32)
        for function in (ops.nll_loss, ops.cross_entropy):
            for weight in (None, Tensor([0.5, 1.0, 2.0])):

                def loss(a, function=function, weight=weight):
                    return function(a, classes, weight, ignore_index=0)

                self.assertTrue(math.isnan(float(loss(x))))
                self.close(ms.grad(loss)(x), np.zeros((2, 3)))

    def test_a_row_for_padding_begins_as_zeros(self):
        table = nn.Embedding(5, 3, padding_idx=1).embedding_table.asnumpy()
        self.assertEqual([bool(row.any()) for row in table], [True, False, True, True, True])
        with self.refuses(ValueError, "[Embedding] bad padding_idx, got 5, expected an integer from 0 to 4"):
            nn.Embedding(5, 3, padding_idx=5)
        table = mint.nn.Embedding(5, 3, padding_idx=1).weight.asnumpy()
        self.assertEqual([bool(row.any()) for row in table], [True, False, True, True, True])
        with self.refuses(ValueError, "[Embedding] bad padding_idx, got 5, expected one of 5 rows"):
            mint.nn.Embedding(5, 3, padding_idx=5)

    def test_what_is_cut_off_leaves_what_is_added(self):
        self.close(ops.pad(Tensor(floats(1)), (-1, 2), value=1.5), [1.5, 1.5])
        with self.refuses(ValueError, "[pad] nothing is left"):
            ops.pad(Tensor(floats(1)), (-1, 0))
