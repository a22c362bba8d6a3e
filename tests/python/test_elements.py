"""Functions of elements, windows and random draws, against formulas of NumPy with random operands."""

import math

import numpy as np
from support import Case, rng

import partita as ms
from partita import Tensor, mint, nn, ops
from partita.common.parameter import Parameter


def _hard(x):
    return np.where(np.abs(x) > 0.5, x, 0.0)


# (function, formula, least operand, largest operand), of one operand.
OF_ONE = {
    "log2": (ops.log2, np.log2, 0.1, 9.0),
    "log10": (ops.log10, np.log10, 0.1, 9.0),
    "exp2": (ops.exp2, np.exp2, -3.0, 3.0),
    "deg2rad": (ops.deg2rad, np.deg2rad, -200.0, 200.0),
    "rad2deg": (ops.rad2deg, np.rad2deg, -4.0, 4.0),
    "frac": (ops.frac, lambda x: x - np.trunc(x), -3.0, 3.0),
    "inv": (ops.inv, lambda x: 1 / x, 0.5, 3.0),
    "logit": (ops.logit, lambda x: np.log(x / (1 - x)), 0.05, 0.95),
    "logit_eps": (lambda x: ops.logit(x, 0.2), lambda x: _logit(np.clip(x, 0.2, 0.8)), 0.05, 0.95),
    "sinc": (ops.sinc, np.sinc, -3.0, 3.0),
    "hardshrink": (ops.hardshrink, _hard, -2.0, 2.0),
    "softshrink": (ops.softshrink, lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), -2.0, 2.0),
    "threshold": (lambda x: ops.threshold(x, 0.3, 2.5), lambda x: np.where(x > 0.3, x, 2.5), -2.0, 2.0),
    "rrelu": (lambda x: ops.rrelu(x, 0.25, 0.25), lambda x: np.where(x < 0, 0.25 * x, x), -2.0, 2.0),
    "swiglu": (ops.swiglu, lambda x: x[:, :2] / (1 + np.exp(-x[:, :2])) * x[:, 2:], -2.0, 2.0),
    "nan_to_num": (ops.nan_to_num, lambda x: x, -2.0, 2.0),
    "celu": (lambda x: ops.celu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(x / 0.7)), -2.0, 2.0),
    "floor": (ops.floor, np.floor, -5.0, 5.0),
    "bessel_i0": (ops.bessel_i0, np.i0, -6.0, 6.0),
    "vander": (lambda x: ops.vander(x[:, 0]), lambda x: np.vander(x[:, 0]), -2.0, 2.0),
    "mvlgamma": (lambda x: ops.mvlgamma(x, 2), lambda x: _mvlgamma(x), 1.0, 9.0),
}


def _logit(x):
    return np.log(x / (1 - x))


def _lgamma(x):
    return np.vectorize(math.lgamma)(x)


def _mvlgamma(x):
    return 0.5 * math.log(math.pi) + _lgamma(x) + _lgamma(x - 0.5)


def _truncated(x, y):
    return np.trunc(x / y)


# (function, formula, whether both operands are positive), of two operands.
OF_TWO = {
    "logaddexp": (ops.logaddexp, np.logaddexp, False),
    "logaddexp2": (ops.logaddexp2, np.logaddexp2, False),
    "fmod": (ops.fmod, np.fmod, False),
    "fmax": (ops.fmax, np.fmax, False),
    "fmin": (ops.fmin, np.fmin, False),
    "hypot": (ops.hypot, np.hypot, False),
    "copysign": (ops.copysign, np.copysign, False),
    "heaviside": (ops.heaviside, np.heaviside, False),
    "ldexp": (ops.ldexp, lambda x, y: x * 2**y, False),
    "float_power": (ops.float_power, np.power, True),
    "xlogy": (ops.xlogy, lambda x, y: x * np.log(y), True),
    "xdivy": (ops.xdivy, np.divide, True),
    "subtract": (lambda x, y: ops.subtract(x, y, alpha=3), lambda x, y: x - 3 * y, False),
    "divide": (lambda x, y: ops.divide(x, y, rounding_mode="floor"), np.floor_divide, False),
    "truncate_div": (ops.truncate_div, _truncated, False),
    "truncate_mod": (ops.truncate_mod, np.fmod, False),
    "squared_difference": (ops.SquaredDifference(), lambda x, y: (x - y) ** 2, False),
    "div_no_nan": (ops.DivNoNan(), np.divide, True),
    "mul_no_nan": (ops.MulNoNan(), np.multiply, False),
    "nextafter": (ops.nextafter, np.nextafter, False),
}


class Formulas(Case):
    def _check(self, name, function, formula, arrays):
        tensors = [Tensor(one) for one in arrays]
        expected = np.asarray(formula(*arrays))
        self.close(function(*tensors), expected, 1e-9)
        self.close(ms.jit(lambda *given: function(*given))(*tensors), expected, 1e-9)
        weights = rng(7).uniform(0.5, 1.5, expected.shape)
        found = ms.grad(lambda *given: (function(*given) * Tensor(weights)).sum(), tuple(range(len(arrays))))(*tensors)
        for k, got in enumerate(found if isinstance(found, tuple) else (found,)):
            self.close(got, self._slopes(formula, arrays, k, weights), 2e-5)

    @staticmethod
    def _slopes(formula, arrays, k, weights):
        """Central differences by each element of an operand."""
        made, step = np.zeros(arrays[k].shape), 1e-5
        for at in np.ndindex(made.shape):
            sums = []
            for way in (step, -step):
                given = [one.copy() for one in arrays]
                given[k][at] += way
                sums.append((formula(*given) * weights).sum())
            made[at] = (sums[0] - sums[1]) / (2 * step)
        return made

    def test_of_one_operand(self):
        for name, (function, formula, low, high) in OF_ONE.items():
            with self.subTest(name):
                self._check(name, function, formula, [rng(3).uniform(low, high, (3, 4))])

    def test_of_two_operands_broadcast(self):
        for name, (function, formula, positive) in OF_TWO.items():
            with self.subTest(name):
                x, y = rng(5).uniform(0.3, 3.0, (2, 3)), rng(6).uniform(0.3, 3.0, (3,))
                signs = [rng(k).choice([-1, 1], one.shape) for k, one in ((8, x), (9, y))]
                arrays = [x, y] if positive else [x * signs[0], y * signs[1]]
                self._check(name, function, formula, arrays)

    def test_special_functions_have_their_slopes(self):
        x = rng(11).uniform(0.4, 40.0, (4, 5))
        for name in "i0e i1e j0 j1 k0e k1e y0 y1 i0 i1 k0 k1".split():
            function = getattr(ops, f"bessel_{name}")
            small = x / 8 if name in ("i0", "i1", "k0", "k1") else x
            self._check(name, function, lambda a, f=function: f(Tensor(a)).asnumpy(), [small])
        for name in ("igamma", "igammac"):
            function = getattr(ops, name)
            self._check(name, function, lambda a, b, f=function: f(Tensor(a), Tensor(b)).asnumpy(), [x, x[::-1] + 1])
        for n in range(3):
            of_arrays = lambda a: ops.polygamma(n, Tensor(a)).asnumpy()  # noqa: E731
            self._check("polygamma", lambda a: ops.polygamma(n, a), of_arrays, [x])

    def test_special_functions_have_known_values_and_relations(self):
        x = rng(12).uniform(0.01, 60.0, 50)
        names = "j0 j1 y0 y1 i0e i1e k0e k1e".split()
        of = {name: getattr(ops, f"bessel_{name}")(Tensor(x)).asnumpy() for name in names}
        self.close((of["j1"] * of["y0"] - of["j0"] * of["y1"]) * np.pi * x / 2, np.ones(50), 1e-10)
        self.close((of["i0e"] * of["k1e"] + of["i1e"] * of["k0e"]) * x, np.ones(50), 1e-10)
        self.close(ops.zeta(Tensor([2.0, 4.0]), Tensor([1.0, 1.0])), [np.pi**2 / 6, np.pi**4 / 90])
        self.close(ops.polygamma(0, Tensor([1.0, 0.5])), [-0.5772156649, -0.5772156649 - 2 * np.log(2)])
        a = Tensor(x)
        self.close(ops.add(ops.igamma(a, a), ops.igammac(a, a)), np.ones(50), 1e-12)
        self.close(ops.igamma(Tensor([1.0, 0.5]), Tensor([0.7, 0.49])), [1 - np.exp(-0.7), math.erf(0.7)])

    def test_over_ranks(self):
        x, y = rng(3).uniform(0.1, 0.9, (6, 4)), rng(4).uniform(0.1, 0.9, (6, 4))
        i, j = rng(5).integers(-9, 9, (6, 4)), rng(6).integers(1, 5, (6, 4))
        ones = [one for name, (one, *_) in OF_ONE.items() if name not in ("vander", "mvlgamma")]
        pairs = [one for one, *_ in OF_TWO.values()]
        whole = [ops.gcd, ops.lcm, ops.bitwise_left_shift, ops.bitwise_xor]

        def all_of(a, b, p, q):
            found = [function(a).sum() for function in ones] + [function(a, b).sum() for function in pairs]
            return (*found, *(function(p, q).sum() for function in whole), ops.igamma(a, b).sum())

        given = [Tensor(one) for one in (x, y, i, j)]
        expected = [float(one) for one in ms.jit(all_of)(*given)]
        ms.set_context(ranks=3)
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
        for k, (got, wanted) in enumerate(zip(ms.jit(all_of)(*given), expected)):
            self.assertAlmostEqual(float(got), wanted, delta=1e-9 * max(1, abs(wanted)), msg=str(k))

    def test_of_integers(self):
        a, b = rng(1).integers(-50, 50, (3, 4)), rng(2).integers(1, 9, (4,))
        x, y = Tensor(a), Tensor(b)
        for function, formula in (
            (ops.gcd, np.gcd),
            (ops.lcm, np.lcm),
            (ops.bitwise_left_shift, np.left_shift),
            (ops.bitwise_right_shift, np.right_shift),
        ):
            expected = formula(a, b)
            for got in (function(x, y), ms.jit(lambda p, q, f=function: f(p, q))(x, y)):
                self.assertEqual(got.dtype, ms.int64)
                np.testing.assert_array_equal(got.asnumpy(), expected)
        np.testing.assert_array_equal(ms.jit(lambda p, q: (p & q) ^ (p | 5))(x, y).asnumpy(), (a & b) ^ (a | 5))
        np.testing.assert_array_equal(ops.invert(x).asnumpy(), ~a)
        counts = [bin(int(one) & (2**64 - 1)).count("1") for one in a.reshape(-1)]
        np.testing.assert_array_equal(ops.population_count(x).asnumpy().reshape(-1), counts)

    def test_of_nan_and_infinity(self):
        x = Tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 2.5], ms.float32)
        for function, expected in (
            (ops.floor, [math.nan, math.inf, -math.inf, 0, 0, 2]),
            (ops.trunc, [math.nan, math.inf, -math.inf, 0, 0, 2]),
            (ops.round, [math.nan, math.inf, -math.inf, 0, 0, 2]),
            (ops.nan_to_num, [0, np.finfo("f4").max, np.finfo("f4").min, 0, 0, 2.5]),
            (lambda a: ops.fmax(a, 1.0), [1, math.inf, 1, 1, 1, 2.5]),
            (lambda a: ops.fmin(a, 1.0), [1, 1, -math.inf, 0, 0, 1]),
            (lambda a: ops.logaddexp(a, a), [math.nan, math.inf, -math.inf, *[math.log(2)] * 2, 2.5 + math.log(2)]),
            (lambda a: ops.hypot(a, 1e30), [math.nan, math.inf, math.inf, 1e30, 1e30, 1e30]),
            (lambda a: ops.fmod(a, math.inf), [math.nan, math.nan, math.nan, 0, 0, 2.5]),
            (lambda a: ops.copysign(Tensor([1.0]), a)[1:], [1, -1, 1, -1, 1]),
        ):
            np.testing.assert_allclose(function(x).asnumpy(), np.array(expected, "f4"), rtol=1e-6)
        zeros = Tensor([0.0, 0.0, 0.0])
        self.close(ops.xlogy(zeros, Tensor([0.0, -1.0, math.inf])), [0, 0, 0])
        self.close(ops.MulNoNan()(Tensor([math.inf, math.nan, 2.0]), Tensor([0.0, 0.0, 3.0])), [0, 0, 6])
        self.close(ops.FloatStatus()(x), [1.0])
        self.close(ms.jit(lambda a: ops.FloatStatus()(a))(zeros), [0.0])


class Made(Case):
    def test_windows(self):
        for size in (2, 5, 8):
            for name, formula in (("bartlett", np.bartlett), ("blackman", np.blackman), ("hann", np.hanning)):
                made = getattr(ops, f"{name}_window")
                self.close(made(size, False, dtype=ms.float64), formula(size), 1e-12)
                self.close(made(size, dtype=ms.float64), formula(size + 1)[:-1], 1e-12)
            self.close(ops.kaiser_window(size, False, 9.0), np.kaiser(size, 9.0), 1e-12)
            self.close(ops.HammingWindow(False)(Tensor(size)), np.hamming(size), 1e-6)

    def test_refusals(self):
        x = Tensor([1.0, 2.0])
        for kind, call, text in (
            (ValueError, lambda: ops.bartlett_window(-1), "integer from 0"),
            (TypeError, lambda: ops.hann_window(3, dtype=ms.int32), "type of floats"),
            (ValueError, lambda: ops.range(0, 10, 1, 5), "at most maxlen=5"),
            (ValueError, lambda: ops.vander(Tensor([[1.0]])), "one dimension"),
            (TypeError, lambda: ops.gcd(x, x), "integer type"),
            (ValueError, lambda: ops.rrelu(x, 0.5, 0.1), "lower <= upper"),
            (ValueError, lambda: ops.softshrink(x, -1.0), "from 0"),
            (ValueError, lambda: ops.gumbel_softmax(x, tau=0.0), "positive"),
            (ValueError, lambda: ops.is_nonzero(x), "expected one"),
            (ValueError, lambda: ops.bernoulli(x, 1.5), "from 0 to 1"),
            (ValueError, lambda: ops.inplace_add(x, x, 0), "do not fit"),
            (NotImplementedError, lambda: ops.polar(x, x), "complex numbers are not supported"),
            (NotImplementedError, lambda: ops.view_as_real(x), "of real and of imaginary parts"),
            (NotImplementedError, lambda: ops.NPUGetFloatStatus()(x), "FloatStatus"),
            (NotImplementedError, lambda: ms.jit(lambda a: ops.poisson((2,), a))(x), "outside"),
        ):
            with self.refuses(kind, text):
                call()


class Drawn(Case):
    COUNT = 40000

    def _moments(self, x, mean, variance):
        values = x.asnumpy().astype("f8")
        self.assertLess(abs(values.mean() - mean), 5 * math.sqrt(variance / values.size))
        self.assertLess(abs(values.var() / variance - 1), 0.08)

    def test_have_the_moments_of_their_distributions(self):
        shape, n = (200, 200), ops.ones((200, 200))
        for x, mean, variance in (
            (ops.poisson(shape, Tensor(3.5)), 3.5, 3.5),
            (ops.random_poisson(shape, Tensor(0.7)), 0.7, 0.7),
            (ops.gamma(shape, Tensor(2.0), Tensor(4.0)), 0.5, 0.125),
            (ops.random_gamma(shape, Tensor(3.0)), 3.0, 3.0),
            (ops.laplace(shape, Tensor(1.0), Tensor(2.0)), 1.0, 8.0),
            (ops.normal(shape, -1.0, 2.0), -1.0, 4.0),
            (ops.bernoulli(n, 0.3), 0.3, 0.21),
            (ops.uniform(shape, Tensor(2), Tensor(6), dtype=ms.int32), 3.5, 1.25),
            (ops.TruncatedNormal()(shape), 0.0, 0.774),
            (ops.randint_like(n, 1, 4), 2.0, 2 / 3),
            ((n * 1).exponential_(2.0), 0.5, 0.25),
            ((n * 1).uniform_(1.0, 3.0), 2.0, 1 / 3),
            ((n * 1).random_(10), 4.5, 8.25),
            (ops.random_categorical(Tensor([[0.0, math.log(3.0)]]), 40000), 0.75, 0.1875),
            (mint.normal(n, 0.5), 1.0, 0.25),
            (ops.rrelu(-n, 0.2, 0.4), -0.3, 0.04 / 12),
        ):
            self._moments(x, mean, variance)

    def test_large_integers_have_all_their_bits(self):
        found = ops.randint(0, 2**40, (2000,)).asnumpy()
        for bit in (0, 8, 20, 39):
            self.assertLess(abs(((found >> bit) & 1).mean() - 0.5), 0.06)
        self.assertEqual(int(ops.randint_like(Tensor([1]), 2**31, 2**31 + 1)[0]), 2**31)

    def test_broadcast_draws_are_independent(self):
        means = Tensor(np.zeros((3,), "f4"))
        found = ops.normal((4, 1), means, 1.0).asnumpy()
        self.assertEqual(found.shape, (4, 3))
        self.assertEqual(len(np.unique(found)), 12)

    def test_follow_the_seed(self):
        def draws():
            x = Tensor([0.5, 0.5])
            mask = Tensor(rng(1).random(20) > 0.5)
            return [
                one.asnumpy()
                for one in (ops.poisson((5,), x[0]), ops.gamma((5,), x[0], x[0]), ops.choice_with_mask(mask, 4)[0],
                            ops.shuffle(Tensor(np.arange(9))), ops.bernoulli(ops.ones((9,)), 0.5))
            ]  # fmt: skip

        ms.set_seed(3)
        first = draws()
        second = draws()
        ms.set_seed(3)
        for a, b in zip(first, draws()):
            np.testing.assert_array_equal(a, b)
        self.assertTrue(any((a != b).any() for a, b in zip(first, second)))

    def test_differ_between_steps_of_a_program(self):
        program = ms.jit(lambda a: (ops.bernoulli(a, 0.5), ops.laplace((50,), 0.0, 1.0), ops.TruncatedNormal()((50,))))
        x = ops.ones((50,))
        for a, b in zip(program(x), program(x)):
            self.assertTrue((a.asnumpy() != b.asnumpy()).any())

    def test_choices(self):
        mask = rng(4).random((5, 6)) > 0.6
        places, valid = ops.choice_with_mask(Tensor(mask), 8)
        chosen = [tuple(one) for one, is_one in zip(places.asnumpy(), valid.asnumpy()) if is_one]
        self.assertEqual(len(set(chosen)), min(8, mask.sum()))
        self.assertTrue(all(mask[one] for one in chosen))
        rows = rng(5).random((7, 2)).astype("f4")
        moved = ops.shuffle(Tensor(rows)).asnumpy()
        np.testing.assert_array_equal(np.sort(moved[:, 0]), np.sort(rows[:, 0]))
        self.assertTrue((moved.sum(1)[:, None] == rows.sum(1)).any(1).all())

    def test_gumbel_softmax_chooses_in_proportion(self):
        logits = ops.log(Tensor(np.tile(np.array([[0.2, 0.3, 0.5]], "f4"), (self.COUNT, 1))))
        hard = ops.gumbel_softmax(logits, 0.7, True)
        self.close(hard.sum(-1), np.ones(self.COUNT), 1e-5)
        self.close(hard.mean(0), [0.2, 0.3, 0.5], 0.012)
        slopes = ms.grad(lambda a: (ops.gumbel_softmax(a, 0.7, True) * Tensor([1.0, 2.0, 3.0])).sum())(logits[:4])
        self.assertTrue((np.abs(slopes.asnumpy()) > 0).any())
        self.close(slopes.sum(-1), np.zeros(4), 1e-5)


class InPlace(Case):
    def test_methods_change_the_tensor(self):
        start = rng(2).uniform(0.2, 2.0, (2, 3)).astype("f4")
        for change, formula in (
            (lambda x: x.exp_(), np.exp),
            (lambda x: x.log_(), np.log),
            (lambda x: x.floor_(), np.floor),
            (lambda x: x.tanh_(), np.tanh),
            (lambda x: ops.tanh_(x), np.tanh),
            (lambda x: x.sigmoid_(), lambda a: 1 / (1 + np.exp(-a))),
            (lambda x: x.clamp_(0.5, 1.0), lambda a: np.clip(a, 0.5, 1.0)),
            (lambda x: x.add_(x, alpha=2), lambda a: 3 * a),
            (lambda x: x.div_(0.3, rounding_mode="floor"), lambda a: np.floor(a / np.float32(0.3))),
            (lambda x: x.remainder_(0.5), lambda a: a % 0.5),
            (lambda x: ops.zero_(x), np.zeros_like),
            (lambda x: x.bernoulli_(1.0), np.ones_like),
        ):
            x = Tensor(start.copy())
            self.assertIs(change(x), x)
            self.close(x, formula(start), 1e-6)

    def test_gradients_pass_through(self):
        def loss(a):
            b = a * 2
            b.exp_()
            return b.sum()

        x = Tensor([0.5, -1.0])
        self.close(ms.grad(loss)(x), 2 * np.exp([1.0, -2.0]), 1e-6)

    def test_updates_of_rows_have_gradients(self):
        x, v = Tensor(rng(1).random((3, 2)).astype("f4")), Tensor(rng(2).random((2, 2)).astype("f4"))
        for function, first, second in ((ops.inplace_add, 1, 1), (ops.inplace_sub, 1, -1), (ops.inplace_update, 0, 1)):
            dx, dv = ms.grad(lambda a, b, f=function: f(a, b, (0, 2)).sum(), (0, 1))(x, v)
            self.close(dx, [[first] * 2, [1] * 2, [first] * 2])
            self.close(dv, np.full((2, 2), second))

    def test_assignments_to_parameters(self):
        class Counter(nn.Cell):
            def __init__(self):
                super().__init__()
                self.total = Parameter(Tensor([1.0, 2.0]), name="total")
                self.add, self.sub = ops.AssignAdd(), ops.AssignSub()

            def construct(self, x):
                self.add(self.total, x)
                return self.total * 1

        cell = Counter()
        self.close(cell(Tensor([1.0, 1.0])), [2.0, 3.0])
        cell.sub(cell.total, Tensor([0.5, 0.5]))
        self.close(cell.total, [1.5, 2.5])


# What the documented system cannot run on a CPU: (function, formula, types of the operands).
ELSEWHERE = (
    (ops.fmin, np.fmin, "ff"),
    (ops.Fmin(), np.fmin, "ff"),
    (lambda x: ops.fills(x, 1.5), lambda a: np.full_like(a, 1.5), "f"),
    (lambda x: ops.Fills()(x, Tensor(2.0)), lambda a: np.full_like(a, 2), "f"),
    (lambda x: x.fills(3), lambda a: np.full_like(a, 3), "i"),
    (lambda x: ops.bernoulli_ext(ops.clip(x, 0, 1)), lambda a: np.clip(a, 0, 1), "i"),
    (lambda x, y: ops.accumulate_n([x, y, x]), lambda a, b: 2 * a + b, "ff"),
    (lambda x, y: ops.AccumulateNV2()((x, y)), lambda a, b: a + b, "ff"),
    (lambda x, y: ops.LerpScalar()(x, y, 0.3), lambda a, b: a + 0.3 * (b - a), "ff"),
    (mint.clone, lambda a: a, "f"),
    (mint.bitwise_and, np.bitwise_and, "ii"),
    (mint.bitwise_or, np.bitwise_or, "ii"),
    (mint.bitwise_xor, np.bitwise_xor, "ii"),
    (mint.bitwise_not, np.invert, "i"),
    (mint.gcd, np.gcd, "ii"),
    (mint.floor_divide, np.floor_divide, "ff"),
    (lambda x, y: mint.addcmul(x, y, y, value=0.5), lambda a, b: a + 0.5 * b * b, "ff"),
    (lambda x, y: mint.addcdiv(x, y, x * x + 1), lambda a, b: a + b / (a * a + 1), "ff"),
    (lambda x: ops.FloatStatus()(x / 0.0), lambda a: [1.0], "f"),
    (lambda x: ops.Randperm(8, -1)(Tensor([6])).sum(), lambda a: 13, "f"),
    (lambda x: ops.RandpermV2()(7).max(), lambda a: 6, "f"),
    (lambda x: ops.PReLU()(x, Tensor([0.25])), lambda a: np.where(a > 0, a, 0.25 * a), "f"),
)


class OnlyHere(Case):
    def test_values_are_those_of_formulas(self):
        for k, (function, formula, kinds) in enumerate(ELSEWHERE):
            for turn in range(5):
                draw = rng(100 * k + turn)
                shape = tuple(draw.integers(1, 5, draw.integers(1, 4)))
                made = {"f": draw.normal(size=shape).astype("f4"), "i": draw.integers(-20, 20, shape)}
                arrays = [np.roll(made[one], i) for i, one in enumerate(kinds)]
                with self.subTest(number=k, turn=turn):
                    self.close(function(*[Tensor(one) for one in arrays]), formula(*arrays), 1e-5)

    def test_functions_of_python_values(self):
        for x, y in ((1, 2), (2.5, 2.5), (-3, 4), (True, False), (0, 0)):
            self.assertEqual(ops.scalar_ne(x, y), x != y)
            self.assertEqual(ops.bool_and(x, y), bool(x and y))
            self.assertEqual(ops.bool_or(x, y), bool(x or y))
            self.assertEqual(ops.bool_eq(x, y), bool(x) == bool(y))
        self.assertEqual(ops.functional.string_concat("a", "b"), "ab")
        self.assertTrue(ops.functional.string_eq("a", "a"))
        self.assertIs(ops.bool_not(0), True)


class Torch(Case):
    """Functions of mint, whose parameters are those of PyTorch."""

    def test_values(self):
        a = rng(3).uniform(-2, 2, (2, 3)).astype("f4")
        x = Tensor(a)
        self.close(mint.addcdiv(x, x, x + 5, value=2), a + 2 * a / (a + 5), 1e-6)
        self.close(mint.linspace(0, 3, 4, dtype=ms.int32), [0, 1, 2, 3])
        self.close(mint.clone(x), a)
        self.close(mint.bitwise_not(Tensor([1, -3])), [-2, 2])
        self.close(mint.bernoulli(ops.zeros((3,))), [0, 0, 0])
        self.assertTrue(mint.allclose(x, x + 1e-9))
        self.assertEqual(mint.randn_like(x.astype(ms.float16)).dtype, ms.float16)
        self.assertEqual(mint.empty(2, 3).shape, (2, 3))

    def test_draws_take_their_parameters_in_both_ways(self):
        x = ops.zeros((50, 2), ms.int32)
        for found, low, high in (
            (mint.randint(3, (100,)), 0, 2),
            (mint.randint(1, 3, (100,)), 1, 2),
            (mint.randint(low=1, high=3, size=(100,)), 1, 2),
            (mint.randint_like(x, 4), 0, 3),
            (mint.randint_like(x, 2, 4), 2, 3),
        ):
            self.assertEqual((int(found.min()), int(found.max())), (low, high))
