"""Functions at the edges of what they take: large and tiny numbers, infinities, numbers outside, nothing."""

import math
import time
import tracemalloc
from unittest import mock

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, ops
from partita.ops import custom
from partita.ops.tables import looked_up


class SpecialFunctions(Case):
    def test_zeta_far_below_zero(self):
        # The same sums, of which the last one begins at a distance: zeta(s, q) - zeta(s, q + n) is a sum of n terms.
        q = -rng(1).integers(100, 200, 20) - rng(2).uniform(0.1, 0.9, 20)
        for s in (2.0, 3.0):
            terms = (q[:, None] + np.arange(220)) ** -s
            rest = ops.zeta(Tensor(np.full(20, s)), Tensor(q + 220)).asnumpy()
            self.close(ops.zeta(Tensor(np.full(20, s)), Tensor(q)), terms.sum(1) + rest, 1e-9)
        near = np.float64([-1e-9, -1e-6])
        self.close(ops.zeta(Tensor([2.0, 2.0], ms.float64), Tensor(near)), near**-2 + np.pi**2 / 6, 1e-12)
        begin = time.perf_counter()
        found = ops.zeta(Tensor([2.0, 3.0, 2.0]), Tensor([-4e6 - 0.5, -math.inf, -3.0])).asnumpy()
        self.assertLess(time.perf_counter() - begin, 2)
        self.assertAlmostEqual(float(found[0]), np.pi**2, places=4)
        self.assertTrue(np.isnan(found[1]) and np.isinf(found[2]))

    def test_bessel_functions_of_many_elements_need_little_memory(self):
        x = rng(3).uniform(0, 20, (250, 400))
        for name in ("j1", "k0", "i0"):
            tracemalloc.start()
            found = getattr(ops, f"bessel_{name}")(Tensor(x)).asnumpy()
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.assertLess(most, 40 * 2**20)
            self.close(getattr(ops, f"bessel_{name}")(Tensor(x[100:101, :3])), found[100:101, :3], 1e-15)

    def test_gamma_shares_of_tiny_and_large_orders(self):
        slope = ms.grad(lambda a, x: ops.igamma(a, x).sum())
        # For a near 0 the slope is -E1(x), the exponential integral; for a large one minus a normal density.
        found = slope(Tensor(np.float64([1e-8])), Tensor(np.float64([1.0])))
        self.assertAlmostEqual(float(found[0]), -0.21938393439552, places=7)
        a = 10.0 ** rng(4).uniform(6, 8, 5)
        shift = rng(5).uniform(-1, 1, 5)
        found = slope(Tensor(a), Tensor(a + shift * np.sqrt(a))).asnumpy()
        self.close(found * np.sqrt(a), -np.exp(-(shift**2) / 2) / np.sqrt(2 * np.pi), 1e-2)

    def test_gamma_shares_of_infinities(self):
        a, x = Tensor(np.float64([2.0, 1e306, 3.0])), Tensor(np.float64([np.inf, 2.0, 0.0]))
        self.close(ops.igamma(a, x), [1.0, 0.0, 0.0])
        self.close(ops.igammac(a, x), [0.0, 1.0, 1.0])


class Draws(Case):
    def test_integers_between_the_ends_of_their_type(self):
        ms.set_seed(3)
        low, high = Tensor(-(2**31), ms.int32), Tensor(2**31 - 1, ms.int32)
        for found in (ops.UniformInt()((4000,), low, high), ops.uniform((4000,), low, high, dtype=ms.int32)):
            self.assertEqual(found.dtype, ms.int32)
            values = found.asnumpy().astype(np.float64) / 2**32
            self.assertLess(abs(values.mean()), 0.03)
            self.assertLess(abs(values.std() - math.sqrt(1 / 12)), 0.02)
            self.assertGreater(len(np.unique(found.asnumpy() % 256)), 200)  # 24 bits of 32 would leave one
        begin = Tensor(2**40, ms.int64)
        found = ops.uniform((500,), begin, begin + 3, dtype=ms.int64).asnumpy() - 2**40
        self.assertEqual(sorted(set(found.tolist())), [0, 1, 2])


class NamesOfNodes(Case):
    def test_what_numpy_computes_is_named_alike_whatever_was_called_before(self):
        # Processes compare their programs, and one of them may print, alone, what is no part of these.
        ids, scores = Tensor([4, 6, 4], ms.int32), Tensor(rng(6).uniform(0, 9, (3, 5)), ms.float32)
        logs, lengths = ops.log_softmax(Tensor(rng(7).normal(size=(4, 1, 3)), ms.float32)), Tensor([2], ms.int32)
        calls = {
            "gcd": lambda: ops.gcd(ids, ids),
            "igamma": lambda: ops.igamma(scores, scores),
            "unique_with_pad_0": lambda: ops.unique_with_pad(ids, 0),
            "unique_with_pad_7": lambda: ops.unique_with_pad(ids, 7),
            "left_bound": lambda: ops.LowerBound()(scores, scores),
            "nms_with_mask_0.25": lambda: ops.NMSWithMask(0.25)(scores),
            "ctc_loss_0_False_True": lambda: ops.ctc_loss(logs, Tensor([[1, 2]], ms.int32), Tensor([4]), lengths),
            "matrix_inverse_0": lambda: ops.inverse(scores[:, :3]),
        }
        kept, names = custom.F.host_function, []

        def named(trace, name, *others):
            names.append(name)
            return kept(trace, name, *others)

        with mock.patch.object(custom.F, "host_function", named):
            for call in calls.values():
                call()
        self.assertEqual(names, list(calls))


class Matrices(Case):
    def test_exponentials_of_a_batch_do_not_depend_on_each_other(self):
        small, large = rng(8).normal(size=(3, 3)), np.diag([40.0, -60.0, 1.0])
        far, none = np.zeros((3, 3)), np.full((3, 3), np.nan)
        far[0, 1] = 1e12
        for other in (far, none):
            found = ops.matrix_exp(Tensor(np.stack([small, large, other]))).asnumpy()
            self.close(found[0], ops.matrix_exp(Tensor(small)), 1e-13)
            self.close(found[1], np.diag(np.exp(np.diag(large))), 1e-12)
        self.assertEqual(ops.matrix_exp(Tensor(np.zeros((0, 3, 3)))).shape, (0, 3, 3))

    def test_matrices_without_a_result(self):
        with self.refuses(ValueError, "[matrix_solve] there is no result", "expected other matrices"):
            ops.matrix_solve(Tensor(np.zeros((2, 2), "f4")), Tensor(np.ones((2, 1), "f4")))
        with self.refuses(ValueError, "[svd] there is no result"):
            ops.svd(Tensor(np.full((2, 2), np.nan, "f4")))

    def test_rows_that_tables_do_not_have(self):
        self.close(looked_up(Tensor(np.float32([[np.nan, np.inf], [2, 3]])), Tensor([7, 1])), [[0, 0], [2, 3]])
        table = Tensor(np.float32([[np.nan, np.inf], [2, 3]]))
        both = ms.value_and_grad(lambda t, ids: ops.EmbeddingLookup()(t, ids, 4).sum())
        found, slope = both(table, Tensor([3, 5, 9]))
        self.close(found, 5.0)
        self.close(slope, [[0, 0], [1, 1]])


class Places(Case):
    def test_axes_and_ranks_outside_are_refused(self):
        x = Tensor(rng(9).normal(size=(3, 4)), ms.float32)
        for axis in (2, -3):
            for op in (ops.CumProd(), ops.CumulativeLogsumexp()):
                with self.refuses(ValueError, "axis is outside", f"got {axis}"):
                    op(x, axis)
        for n in (-1, 4):
            with self.refuses(ValueError, "[NthElement] no such element", f"n={n}"):
                ops.NthElement()(x, n)
        for function in (ops.pdist, lambda a, p: ops.dist(a, a, p)):
            with self.refuses(ValueError, "dist] bad degree") as caught:
                function(x, -1.0)
            self.assertNotIn("cdist", str(caught.exception))

    def test_of_nothing(self):
        none = Tensor(np.zeros((0, 3), "f4"))
        self.close(ops.unsorted_segment_sum(none, Tensor(np.zeros(0, "i4")), 2), np.zeros((2, 3)))
        self.close(ops.unsorted_segment_prod(none, Tensor(np.zeros(0, "i4")), 2), np.ones((2, 3)))
        self.close(ops.Bincount()(Tensor([], ms.int32), 3, Tensor([], ms.float32)), np.zeros(3))
        self.assertEqual(ops.sequence_mask(Tensor(np.zeros(0, "i4"))).shape, (0, 0))
        x = Tensor([1.0, 2.0])
        self.close(x.masked_scatter(Tensor([False, False]), Tensor([], ms.float32)), [1, 2])
        self.close(Tensor(1.0).scatter_add(0, Tensor(-1), Tensor(2.0)), 3)
        self.close(Tensor(1.0).scatter(0, Tensor(0), Tensor(2.0)), 2)

    def test_many_numbers_need_little_memory(self):
        with self.refuses(ValueError, "[range] too many numbers", "maxlen=1000000"):
            ops.range(0, 10**15, 1)
        ids, weights = rng(10).integers(0, 70000, 40000), rng(11).uniform(size=40000)
        found = ops.Bincount()(Tensor(ids, ms.int32), 65536, Tensor(weights))
        self.close(found, np.bincount(ids[ids < 65536], weights[ids < 65536], 65536), 1e-12)
        numbers = rng(12).permutation(20000)
        self.assertEqual(ops.InvertPermutation()(tuple(numbers.tolist())), tuple(np.argsort(numbers).tolist()))

    def test_blocks_of_bad_sizes(self):
        x = Tensor(np.zeros((1, 4, 4, 4), "f4"))
        for function in (ops.pixel_shuffle, ops.pixel_unshuffle, lambda a, n: ops.DepthToSpace(n)(a)):
            for size in (0, True, 2.5):
                with self.refuses(ValueError, "bad size of blocks", repr(size)):
                    function(x, size)

    def test_channels_of_zeros_are_kept(self):
        x = Tensor(np.zeros((2, 3, 2, 2), "f4"))
        self.assertTrue(ops.Dropout2D(1.0)(x)[1].asnumpy().all())
        made, kept = ops.Dropout2D(0.5)(Tensor(np.ones((20, 30, 1, 2), "f4")))
        self.close(made, 2.0 * kept.asnumpy())
        self.assertLess(abs(ops.Dropout2D(0.5)(Tensor(np.zeros((20, 30, 1, 2), "f4")))[1].asnumpy().mean() - 0.5), 0.1)

    def test_no_boxes_are_asked_for(self):
        boxes, scores = Tensor(np.float32([[0, 0, 1, 1], [4, 4, 5, 5]])), Tensor(np.float32([0.5, 0.9]))
        for most, expected in ((-1, []), (0, []), (1, [1])):
            found = ops.NonMaxSuppressionV3()(boxes, scores, Tensor(most, ms.int32), Tensor(0.5), Tensor(0.0))
            self.assertEqual(found.asnumpy().tolist(), expected)
