"""Scatters, segments, orders, diagonals and boxes: against formulas of NumPy, compiled, and by central differences."""

import numpy as np
from support import Case, Losses, labelled, rng, warned

import partita as ms
from partita import Tensor, mint, nn, ops


def draw(*shape, seed=1):
    return rng(seed).normal(size=shape)


def ids(high, *shape, seed=2):
    return rng(seed).integers(0, high, shape)


def tensors(*arrays):
    return [Tensor(one) for one in arrays]


X = draw(5, 4)
ROWS = draw(6, 4, seed=3)
SIX = np.array([[3], [0], [3], [4], [0], [3]])
DIAGONALS = np.array([-1, 1], np.int32)
BOXES = np.array([[0.11, 0.23, 0.71, 0.87], [0.83, 0.12, 0.34, 0.57]])
REGIONS = np.array([[0, 0.6, 1.2, 4.3, 3.9], [1, 2.1, 0.2, 4.8, 4.4]])
CASES = {  # (function of tensors, arrays that are differentiated, other arrays)
    "scatter_nd": (lambda u, i: ops.scatter_nd(i, u, (5, 4)), [ROWS], [SIX]),
    "scatter_nd of elements": (lambda u, i: ops.scatter_nd(i, u, (5, 4)), [draw(6)], [ids(4, 6, 2)]),
    "segment sum": (lambda x, i: ops.unsorted_segment_sum(x, i, 4), [ROWS], [np.array([2, 0, -1, 2, 2, 0])]),
    "segment max": (lambda x, i: ops.unsorted_segment_max(x, i, 3), [ROWS], [np.array([2, 0, 1, 2, 2, 0])]),
    "segment min": (lambda x, i: ops.unsorted_segment_min(x, i, 3), [ROWS], [np.array([2, 0, 1, 2, 2, 0])]),
    "segment product": (lambda x, i: ops.unsorted_segment_prod(x, i, 4), [ROWS], [np.array([2, 0, 1, 2, 2, 0])]),
    "scatter": (lambda x, u, i: x.scatter(1, i, u), [X, draw(5, 3)], [np.array([[2, 0, 3]] * 5)]),
    "fewer places": (lambda x, u, i: mint.scatter_add(x, 1, i, u), [X, draw(4, 6)], [ids(4, 3, 5)]),
    "masked_scatter": (lambda x, s, m: x.masked_scatter(m, s), [X, draw(30)], [draw(5, 4) > 0]),
    "index_put": (lambda x, v, i, k: x.index_put((i, k), v, True), [X, draw(6)], [ids(5, 6), ids(4, 6, seed=5)]),
    "index_fill": (lambda x, v, i: ops.index_fill(x, 1, i, v), [X, np.array(0.7)], [np.array([-1, 1])]),
    "slice_scatter": (lambda x, s: ops.slice_scatter(x, s, 0, 1, 5, 2), [X, draw(2, 4)], []),
    "select_scatter": (lambda x, s: ops.select_scatter(x, s, 1, -2), [X, draw(5)], []),
    "diagonal_scatter": (lambda x, s: ops.diagonal_scatter(x, s, -1), [X, draw(4)], []),
    "reverse_sequence": (lambda x, n: ops.reverse_sequence(x, n, 1), [X], [np.array([0, 4, 2, 3, 1])]),
    "cummax": (lambda x: ops.cummax(x, 0)[0], [draw(7, 3)], []),
    "cummin": (lambda x: mint.cummin(x, 1)[0], [draw(3, 7)], []),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, 1), [draw(3, 7)], []),
    "median": (lambda x: ops.median(x, 0)[0], [draw(6, 3)], []),
    "nanmedian": (lambda x: ops.nanmedian(x, 1, True)[0], [draw(3, 5)], []),
    "median of all": (lambda x: mint.median(x), [draw(6, 3)], []),
    "kthvalue": (lambda x: mint.kthvalue(x, 2, 0, True)[0], [draw(5, 3)], []),
    "quantile": (lambda x: ops.quantile(x, Tensor([0.2, 0.55], ms.float64), 0), [draw(6, 3)], []),
    "nanquantile": (lambda x: ops.nanquantile(x, 0.3), [draw(6, 3)], []),
    "nanmean": (lambda x: ops.nanmean(x, 0), [draw(6, 3)], []),
    "diff": (lambda x: mint.diff(x, 2, 0), [draw(6, 3)], []),
    "diag_embed": (lambda x: ops.diag_embed(x, 1, 2, 0), [draw(2, 3)], []),
    "matrix_diag": (lambda x: ops.matrix_diag(x, DIAGONALS, 4, 5, 2.0, "LEFT_RIGHT"), [draw(2, 3, 4)], []),
    "matrix_diag_part": (lambda x: ops.matrix_diag_part(x, DIAGONALS, 2.0), [draw(2, 4, 3)], []),
    "matrix_set_diag": (lambda x, d: ops.matrix_set_diag(x, d, DIAGONALS), [draw(2, 4, 3), draw(2, 3, 3)], []),
    "combinations": (lambda x: ops.combinations(x, 3), [draw(5)], []),
    "rot90": (lambda x: ops.rot90(x, 3, (1, 0)), [X], []),
    "space_to_batch": (lambda x: ops.space_to_batch_nd(x, [2, 3], [[1, 0], [0, 1]]), [draw(2, 3, 3, 5)], []),
    "batch_to_space": (lambda x: ops.batch_to_space_nd(x, [2, 2], [[1, 0], [0, 1]]), [draw(8, 3, 3, 2)], []),
    "DepthToSpace": (lambda x: ops.DepthToSpace(2)(x), [draw(1, 8, 2, 3)], []),
    "mirror_pad": (lambda x: ops.MirrorPad("SYMMETRIC")(x, Tensor([[1, 2], [0, 3]])), [X], []),
    "bounding_box_encode": (lambda a, b: ops.bounding_box_encode(a, b), [np.abs(draw(3, 4)).cumsum(1)] * 2, []),
    "iou": (lambda a, b: ops.iou(a, b), [np.abs(draw(3, 4)).cumsum(1), np.abs(draw(2, 4, seed=4)).cumsum(1)], []),
    "ROIAlign": (lambda x, r: ops.ROIAlign(2, 3, 0.8, 2)(x, r), [draw(2, 3, 5, 6)], [REGIONS]),
    "EmbeddingLookup": (lambda t, i: ops.EmbeddingLookup()(t, i, 3), [X], [np.array([[3, 9], [5, 2]])]),
    "CumProd": (lambda x: ops.CumProd(True, True)(x, 1), [X], []),
    "ReduceStd": (lambda x: ops.ReduceStd(1)(x)[0], [X], []),
    "choose": (lambda a, b, i: i.choose([a, b]), [draw(4), draw(3, 4)], [ids(2, 3, 4)]),
}
for _kind in ("add", "sub", "mul", "div", "max", "min"):
    CASES[f"tensor_scatter_{_kind}"] = (
        lambda x, u, i, name=f"tensor_scatter_{_kind}": getattr(ops, name)(x, i, u),
        [X, ROWS + np.sign(ROWS)],
        [SIX],
    )
CASES["tensor_scatter_update"] = (lambda x, u, i: ops.tensor_scatter_update(x, i, u), [X, ROWS[:3]], [SIX[[0, 1, 3]]])


class Gradients(Case):
    def test_are_derivatives_and_compiled_results_the_same(self):
        for name, (function, own, others) in CASES.items():
            with self.subTest(name):
                self._check(function, own, others)

    def _check(self, function, own, others):
        given = tensors(*own)
        rest = tensors(*others)
        weights = draw(*function(*given, *rest).shape, seed=9)

        def loss(*args):
            return (function(*args) * Tensor(weights)).sum()

        found = ms.grad(loss, tuple(range(len(own))))(*given, *rest)
        found = [found] if len(own) == 1 else found
        self.close(ms.jit(function)(*given, *rest), function(*given, *rest).asnumpy(), 1e-12)
        for number, got in enumerate(found):
            expected = np.zeros(own[number].shape)
            for place in np.ndindex(*expected.shape):
                ends = []
                for step in (1e-6, -1e-6):
                    moved = [one.copy() for one in own]
                    moved[number][place] += step
                    ends.append(float(loss(*tensors(*moved), *rest)))
                expected[place] = (ends[0] - ends[1]) / 2e-6
            self.close(got, expected, 1e-5)


class Again(Case):
    FUNCTIONS = {
        "added": lambda x: ops.tensor_scatter_add(x, Tensor([[1], [0], [1]]), x[:3] * 2),
        "multiplied": lambda x: ops.tensor_scatter_mul(x, Tensor([[1], [0], [1]]), x[:3]),
        "along": lambda x: mint.scatter_add(x, 0, Tensor([[1, 0, 2]]), x[:1]),
        "masked": lambda x: x.masked_scatter(x > 0, x * x),
        "cummax": lambda x: ops.cummax(x, 0)[0],
        "quantile": lambda x: ops.quantile(x, 0.3, 0),
    }

    def test_second_derivatives_and_slices(self):
        x, step = draw(2, 5, 3), np.zeros((5, 3))
        step[1, 1] = 1e-5
        for name, function in self.FUNCTIONS.items():
            with self.subTest(name):
                slices = np.stack([function(Tensor(one)).asnumpy() for one in x])
                self.close(ops.vmap(function)(Tensor(x)), slices, 1e-12)

                def slope(y, function=function):
                    return ms.grad(lambda z: (function(z) ** 3).sum())(y).sum()

                got = ms.grad(slope)(Tensor(x[0])).asnumpy()[1, 1]
                ends = [float(slope(Tensor(x[0] + sign * step))) for sign in (1, -1)]
                self.close(got, (ends[0] - ends[1]) / 2e-5, 1e-5)


class Orders(Case):
    def test_quantiles_are_those_of_numpy(self):
        x = draw(4, 5, 3)
        q = np.array([0.0, 0.31, 0.5, 0.97, 1.0])
        for axis in (None, 0, 1, -1):
            for keepdims in (False, True):
                got = ops.quantile(Tensor(x), Tensor(q), axis, keepdims)
                self.close(got, np.quantile(x, q, axis, keepdims=keepdims), 1e-12)
                one = Tensor(x).quantile(0.37, axis, keepdims)
                self.close(one, np.quantile(x, 0.37, axis, keepdims=keepdims), 1e-12)
        x[x > 0.8] = np.nan
        for axis in (None, 0, 2):
            self.close(ops.nanquantile(Tensor(x), Tensor(q), axis), np.nanquantile(x, q, axis), 1e-12)
            self.close(ops.quantile(Tensor(x), 0.4, axis), np.quantile(x, 0.4, axis), 1e-12)

    def test_medians_without_nan(self):
        x = draw(6, 7)
        x[x > 0.5] = np.nan
        x[2] = np.nan
        lower = [np.sort(row[~np.isnan(row)])[(n - 1) // 2] if (n := (~np.isnan(row)).sum()) else np.nan for row in x]
        values, places = ops.nanmedian(Tensor(x), 1)
        self.close(values, lower)
        for row, value, place in zip(x, values.asnumpy(), places.asnumpy()):
            self.assertTrue(np.isnan(value) or row[place] == value)
        values, places = ops.median(Tensor(x), 1)
        self.assertTrue(np.isnan(values.asnumpy()).all())
        self.assertTrue(np.isnan(np.take_along_axis(x, places.asnumpy()[:, None], 1)).all())

    def test_kth_values(self):
        x = draw(5, 6)
        for k in (1, 3, 5):
            values, places = Tensor(x).kthvalue(k, 0)
            self.close(values, np.sort(x, 0)[k - 1])
            self.close(np.take_along_axis(x, places.asnumpy()[None], 0)[0], values.asnumpy())
        with self.refuses(ValueError, "[kthvalue]", "got 7", "expected 1 to 6"):
            mint.kthvalue(Tensor(x), 7)

    def test_largest_so_far_with_nan(self):
        x = np.array([1.0, 3.0, 3.0, np.nan, 2.0, np.nan])
        values, places = mint.cummax(Tensor(x), 0)
        self.close(values, [1, 3, 3, np.nan, np.nan, np.nan])
        self.assertEqual(places.asnumpy().tolist(), [0, 1, 2, 3, 3, 5])
        self.assertEqual(mint.cummin(Tensor(x), 0)[1].dtype, ms.int64)

    def test_sums_without_nan(self):
        self.assertEqual(mint.nansum(Tensor([[1, 2]], ms.int32), 0).dtype, ms.int64)
        self.close(mint.nansum(Tensor([1.0, np.nan, 2.0])), 3.0)

    def test_log_of_sums_of_large_and_infinite_numbers(self):
        x = np.array([-np.inf, 800.0, 801.0, -900.0])
        self.close(ops.logcumsumexp(Tensor(x), 0), [-np.inf, 800.0, *[801.0 + np.log1p(np.exp(-1.0))] * 2], 1e-12)

    def test_gradients_of_log_of_sums_with_infinite_numbers(self):
        no, inf = -np.inf, np.inf
        for values, weights, expected in (  # those of PyTorch where they are numbers there
            ([0.0, no, no, 1.0], [1, 1, 1, 1], [3.2689414, 0, 0, 0.7310586]),
            ([0.0, no, no, no, no, 1.0, 2.0], range(1, 8), [17.24386, 0, 0, 0, 0, 6.09945, 4.65669]),
            ([no, 0.0, no, no, 1.0], [0, 1, 2, 3, 4], [0, 7.0757656, 0, 0, 2.9242344]),
            ([no, no, 0.0, 1.0], [0, 0, 0, 1], [0, 0, 0.2689414, 0.7310586]),
            ([0.0, inf, 1.0], [1, 2, 3], [1, 5, 0]),
            ([no, no], [0, 0], [0, 0]),
        ):
            gradient = ops.GradOperation(sens_param=True)(lambda x: ops.logcumsumexp(x, 0))
            found = gradient(Tensor(values, ms.float32), Tensor(np.array(weights, "f4")))
            self.close(found, expected, 1e-5)

    def test_rolled_elements(self):
        x = np.arange(12).reshape(3, 4)
        for shifts, dims, axes in ((1, 0, 0), ((1, 2), (0, 1), (0, 1)), (5, None, None), ((-1,), (-1,), -1)):
            self.close(ops.Roll(shifts, dims)(Tensor(x)), np.roll(x, shifts, axes))


class Segments(Case):
    def test_extremes_and_their_gradients(self):
        draws = np.random.default_rng(5)
        for kind, dtype in (("max", "f4"), ("min", "f8"), ("max", "i4"), ("min", "f2")):
            x = draws.integers(-3, 4, (60, 3)).astype(dtype)  # so that many are equal
            ids = draws.integers(-1, 7, 60).astype("i4")
            largest = np.finfo(dtype).max if dtype[0] == "f" else np.iinfo(dtype).max
            expected = np.full((7, 3), np.iinfo(dtype).min if dtype == "i4" else -largest, dtype)
            expected = expected if kind == "max" else np.full((7, 3), largest, dtype)
            with self.subTest(kind=kind, dtype=dtype):
                join = np.maximum if kind == "max" else np.minimum
                join.at(expected, ids[ids >= 0], x[ids >= 0])
                found = getattr(ops, f"unsorted_segment_{kind}")
                for call in (found, ms.jit(found)):
                    self.close(call(Tensor(x), Tensor(ids), 7), expected, 0)
                if dtype[0] == "f":
                    picked = (ids >= 0)[:, None] & (x == expected[ids])
                    shares = np.zeros((7, 3))
                    np.add.at(shares, ids[ids >= 0], picked[ids >= 0])
                    gradient = ms.grad(lambda a, i, found=found: found(a, i, 7).sum())(Tensor(x), Tensor(ids))
                    self.close(gradient, picked / np.maximum(shares, 1)[ids], 1e-3)

    def test_ids_outside_are_refused(self):
        largest = ms.jit(lambda x, ids: ops.unsorted_segment_max(x, ids, 2))
        with self.refuses(IndexError, "an id is outside, got 4, expected 0 to below 3"):
            largest(Tensor(np.ones((3, 2), "f4")), Tensor([0, 1, 4], ms.int32)).asnumpy()


class Places(Case):
    def test_scatters_with_random_places(self):
        for seed in range(5):
            x, new = draw(6, 3, seed=seed), draw(8, 3, seed=seed + 50)
            at = ids(6, 8, seed=seed)
            for kind, join in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("max", np.maximum)):
                expected = x.copy()
                join.at(expected, at, new)
                got = getattr(ops, f"tensor_scatter_{kind}")(*tensors(x, at[:, None], new))
                self.close(got, expected, 1e-12)
            expected = x.copy()
            for place, row in zip(at, new):
                expected[place] = row
            self.close(ops.tensor_scatter_update(*tensors(x, at[:, None], new)), expected)

    def test_scatters_of_integers(self):
        x, at, new = ids(50, 7), ids(7, 9, seed=8), ids(9, 9, seed=9) + 1
        for dtype in (np.int8, np.uint8, np.int32, np.int64):
            expected = x.astype(dtype)
            np.add.at(expected, at, new.astype(dtype))
            got = ops.tensor_scatter_add(*tensors(x.astype(dtype), at[:, None], new.astype(dtype)))
            self.assertEqual(got.asnumpy().dtype, dtype)
            self.close(got, expected)

    def test_empty_segments_have_the_ends_of_the_type(self):
        for dtype in (np.int32, np.int64, np.float32, np.float64, np.float16):
            limits = (np.iinfo if np.dtype(dtype).kind == "i" else np.finfo)(dtype)
            given = Tensor(np.array([4, 7], dtype)), Tensor([0, 0]), 2
            self.assertEqual(ops.unsorted_segment_max(*given).asnumpy().tolist(), [7, limits.min])
            self.assertEqual(ops.unsorted_segment_min(*given).asnumpy().tolist(), [4, limits.max])
            self.assertEqual(ops.unsorted_segment_prod(*given).asnumpy().tolist(), [28, 1])

    def test_sums_along_fewer_places(self):
        x, src = draw(5, 6), draw(4, 7, seed=4)
        at = ids(6, 3, 5, seed=6)
        expected = x.copy()
        for i, k in np.ndindex(3, 5):
            expected[i, at[i, k]] += src[i, k]
        self.close(mint.scatter_add(Tensor(x), 1, Tensor(at), Tensor(src)), expected, 1e-12)
        got = Tensor(x)
        self.assertIs(got.scatter_add_(1, Tensor(at), Tensor(src)), got)
        self.close(got, expected, 1e-12)

    def test_changes_in_place(self):
        x, row = draw(4, 3), draw(2, 3, seed=7)
        at = Tensor([2, 0])
        for name, args, expected in (
            ("index_add_", (0, at, Tensor(row)), lambda y: np.add.at(y, [2, 0], row)),
            ("index_copy_", (0, at, Tensor(row)), lambda y: y.__setitem__([2, 0], row)),
            ("index_fill_", (1, at, 7.0), lambda y: y.__setitem__((slice(None), [2, 0]), 7.0)),
            ("index_put_", ((at, at), Tensor(row[:, 0])), lambda y: y.__setitem__(([2, 0], [2, 0]), row[:, 0])),
            ("put_", (Tensor([0, -1]), Tensor(row[0, :2])), lambda y: y.reshape(-1).__setitem__([0, -1], row[0, :2])),
            ("masked_scatter_", (Tensor(x > 0), Tensor(x)), lambda y: np.place(y, x > 0, x.reshape(-1))),
            ("fill_diagonal_", (5.0,), lambda y: np.fill_diagonal(y, 5.0)),
            ("scatter_", (1, Tensor([[1], [0]]), 3.0), lambda y: y.__setitem__(([0, 1], [1, 0]), 3.0)),
        ):
            wanted, got = x.copy(), Tensor(x)
            expected(wanted)
            self.assertIs(getattr(got, name)(*args), got, name)
            self.close(got, wanted, 1e-12)

    def test_parameters_change_within_steps(self):
        class Counts(nn.Cell):
            def __init__(self):
                super().__init__()
                self.table = ms.Parameter(Tensor(np.zeros((4, 2), np.float32)), "table", requires_grad=False)

            def construct(self, at, new):
                ops.scatter_add(self.table, at, new)
                return self.table.sum()

        cell = Counts()
        for step in range(3):
            self.close(cell(Tensor([1, 1, 3]), ops.ones((3, 2), ms.float32)), 6.0 * (step + 1))
        self.close(cell.table, [[0, 0], [6, 6], [0, 0], [3, 3]])

    def test_parameters_change_in_compiled_functions(self):
        table = ms.Parameter(Tensor(np.zeros((3, 2), np.float32)), "table")
        with warned():  # that it runs in parts
            double = ms.jit(lambda row: ops.scatter_nd_update(table, Tensor([[2]]), row) * 2)
            made = double(ops.ones((1, 2), ms.float32))
        self.close(table, [[0, 0], [0, 0], [1, 1]])
        self.close(made, [[0, 0], [0, 0], [2, 2]])

    def test_refuses_places_outside(self):
        x = Tensor(draw(3, 2))
        with self.refuses(IndexError, "[tensor_scatter_add]", "got 3", "expected 0"):
            ops.tensor_scatter_add(x, Tensor([[3]]), x[:1])
        with self.refuses(TypeError, "[tensor_scatter_add]", "got Float32 for Float64"):
            ops.tensor_scatter_add(x, Tensor([[1]]), x[:1].astype(ms.float32))
        with self.refuses(ValueError, "[scatter_nd]", "expected (1, 4)"):
            ops.scatter_nd(Tensor([[1]]), Tensor(draw(1, 3)), (2, 4))
        with self.assertRaises(Exception):
            ms.jit(lambda a, i: ops.tensor_scatter_add(a, i, a[:1]))(x, Tensor([[3]])).asnumpy()
        with self.refuses(ValueError, "[masked_scatter]", "got 1"):
            x.masked_scatter(x == x, Tensor([1.0], ms.float64))

    def test_refuses_by_name(self):
        with self.refuses(NotImplementedError, "[EditDistance]", "expected a function of NumPy"):
            ops.EditDistance()(Tensor([1]))
        with self.refuses(NotImplementedError, "[ROIAlign]", "got sample_num=-1"):
            ops.ROIAlign(2, 2, 1.0, -1)(Tensor(draw(1, 1, 3, 3)), Tensor(REGIONS[:1]))
        with self.refuses(NotImplementedError, "[crop_and_resize]", "got 'bilinear_v2'"):
            ops.crop_and_resize(Tensor(draw(1, 3, 3, 1)), Tensor(BOXES), Tensor([0, 0]), (2, 2), "bilinear_v2")


class Boxes(Case):
    def test_keeps_boxes_apart(self):
        corners = rng(3).uniform(0, 6, (20, 2))
        boxes = np.concatenate([corners, corners + rng(4).uniform(1, 5, (20, 2)), rng(5).uniform(size=(20, 1))], 1)
        boxes = boxes.astype(np.float32)
        got, numbers, stays = ops.NMSWithMask(0.3)(Tensor(boxes))
        rows = boxes[np.argsort(-boxes[:, 4])]
        kept = []
        for i, one in enumerate(rows):
            if all(self._shared(one, rows[k]) <= 0.3 for k in kept):
                kept.append(i)
        self.close(got, rows)
        self.assertEqual(numbers.asnumpy().tolist(), list(range(20)))
        self.assertEqual(np.flatnonzero(stays.asnumpy()).tolist(), kept)
        self.assertTrue(2 < len(kept) < 20)
        compiled = ms.jit(lambda x: ops.NMSWithMask(0.3)(x)[2])(Tensor(boxes))
        self.assertEqual(compiled.asnumpy().tolist(), stays.asnumpy().tolist())

    def _shared(self, a, b):
        low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:4], b[2:4])
        shared = np.maximum(high - low, 0).prod()
        return shared / ((a[2:4] - a[:2]).prod() + (b[2:4] - b[:2]).prod() - shared)

    def test_finds_the_best_boxes(self):
        corners = rng(3).uniform(0, 6, (20, 2))
        boxes = np.concatenate([corners, corners + rng(4).uniform(1, 5, (20, 2))], 1)
        boxes[::3] = boxes[::3][:, [2, 3, 0, 1]]  # the other corner first
        scores = rng(5).uniform(size=20)
        ordered = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1)
        kept = []
        for i in np.argsort(-scores):
            if scores[i] > 0.2 and all(self._shared(ordered[i], ordered[k]) <= 0.4 for k in kept):
                kept.append(i)
        given = *tensors(boxes.astype(np.float32), scores.astype(np.float32)), Tensor(5)
        got = ops.NonMaxSuppressionV3()(*given, Tensor(0.4), Tensor(0.2))
        self.assertEqual(got.asnumpy().tolist(), kept[:5])
        self.assertTrue(len(kept) > 5)

    def test_crops_have_gradients_of_boxes(self):
        image, weights = draw(1, 5, 6, 2).astype(np.float32), draw(2, 3, 4, 2, seed=8).astype(np.float32)

        def loss(boxes):
            made = ops.crop_and_resize(Tensor(image), boxes, Tensor([0, 0]), (3, 4))
            return (made * Tensor(weights)).sum()

        boxes = BOXES.astype(np.float32)
        got, expected = ms.grad(loss)(Tensor(boxes)), np.zeros(boxes.shape)
        for place in np.ndindex(*boxes.shape):
            ends = []
            for step in (2e-3, -2e-3):
                moved = boxes.copy()
                moved[place] += step
                ends.append(float(loss(Tensor(moved))))
            expected[place] = (ends[0] - ends[1]) / 4e-3
        self.close(got, expected, 2e-2)

    def test_finds_padded_sets_when_compiled(self):
        x = ids(4, 9).astype(np.int32)
        values, which = ms.jit(lambda a: ops.unique_with_pad(a, -7))(Tensor(x))
        count = len(np.unique(x))
        self.assertEqual(values.asnumpy()[count:].tolist(), [-7] * (9 - count))
        self.assertEqual(values.asnumpy()[which.asnumpy()].tolist(), x.tolist())


class Through(nn.Cell):
    """Two layers with a function between them."""

    def __init__(self, function):
        super().__init__()
        self.first, self.last, self.function = nn.Dense(6, 8), nn.Dense(8, 3), function

    def construct(self, x):
        return self.last(self.function(self.first(x)))


def turned(function):
    return lambda h: ops.transpose(function(ops.transpose(h, (1, 0))), (1, 0))


class Ranks(Case):
    def test_losses_are_those_of_one_rank(self):
        for name, function in {
            "slices": turned(lambda h: ops.tensor_scatter_mul(h, Tensor([[1], [3], [1]]), h[:3])),
            "along": lambda h: h.scatter(1, ops.argmax(h, 1, True), 0.5),
            "added": lambda h: mint.scatter_add(h, 1, ops.topk(h, 2)[1], h[:, :2]),
            "segments": turned(lambda h: ops.unsorted_segment_max(h, Tensor([0, 0, 1, 2, 3, 4, 5, 7]), 8).clip(-9, 9)),
            "masked": lambda h: h.masked_scatter(h > 0, ops.arange(128.0) / 64),
            "across rows": lambda h: ops.cummax(h, 0)[0],
            "log": lambda h: ops.logcumsumexp(h, 1),
            "median": lambda h: h - ops.median(h, 1, True)[0],
            "quantile": lambda h: h - ops.quantile(h, 0.3, 1, True),
        }.items():
            with self.subTest(name):
                np.testing.assert_allclose(self._losses(function, 2), self._losses(function, 1), rtol=1e-5)

    def _losses(self, function, ranks):
        ms.reset_auto_parallel_context()
        ms.set_context(mode=ms.GRAPH_MODE, ranks=ranks)
        ms.set_auto_parallel_context(parallel_mode="data_parallel" if ranks > 1 else "stand_alone", gradients_mean=True)
        ms.set_seed(3)
        net, losses = Through(function), Losses()
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        model = ms.Model(net, loss, nn.SGD(net.trainable_params(), 0.1))
        rows = ms.dataset.NumpySlicesDataset(labelled(), ["x", "y"], shuffle=False).batch(16)
        model.train(1, rows, callbacks=[losses], dataset_sink_mode=False)
        return [float(one.asnumpy()) if isinstance(one, Tensor) else float(one) for one in losses.values]


if __name__ == "__main__":
    import unittest

    unittest.main()
