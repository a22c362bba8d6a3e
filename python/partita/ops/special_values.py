"""Special functions of NumPy arrays, in float64: gamma functions and Bessel functions. Formulas are those of
Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, by their numbers."""

import math

import numpy as np

_EULER = 0.57721566490153286
# B[2k] / (2k)!, of the Bernoulli numbers B[2], B[4], ..
_BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510]
_FACTORS = [one / math.factorial(2 * k + 2) for k, one in enumerate(_BERNOULLI)]
_AT_ONCE = 4096  # elements for each of which there are up to 280 numbers at a time
_FAR = 25.0  # where asymptotic series of Bessel functions have all digits



def _lgamma(x):
    if x > 1e305 or (x <= 0 and (math.isinf(x) or x == math.floor(x))):  # beyond the largest float, and poles
        return math.inf
    return math.lgamma(x)


lgamma = np.vectorize(_lgamma, otypes=["f8"])


def zeta(s, q):
    """The sum of (q + k)^-s from k = 0 on, by Euler and Maclaurin's formula (23.1.30); infinite for s = 1 and, with an
    even s, for q = 0, -1, .. . NaN for s below 1, for these q with other s, and for all q below 0 with an s that is no
    integer."""
    s, q = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(q, np.float64))
    with np.errstate(all="ignore"):
        # The sum over all integers has the period 1 in q: with it, those of q below 0 are some of numbers above 0.
        low, high, turn = q - np.floor(q), np.ceil(q) - q, np.where(s % 2 == 1, -1.0, 1.0)
        both = _zeta_of_positive(s, low) + turn * (_zeta_of_positive(s, high) - _zeta_of_positive(s, 1 - q))
        total = np.where(q > 0, _zeta_of_positive(s, np.where(q > 0, q, 1.0)), both)
        pole = (q <= 0) & (q == np.floor(q))
        total = np.where((q < 0) & ~pole & (s != np.floor(s)), math.nan, total)
        total = np.where(pole & (s % 2 == 1), math.nan, np.where(pole | (s == 1), math.inf, total))
        return np.where((s < 1) | np.isnan(q), math.nan, total)


def _zeta_of_positive(s, q):
    total, at = np.zeros(q.shape), q
    for _ in range(10):
        more = at < 10
        total, at = np.where(more, total + at**-s, total), np.where(more, at + 1, at)
    total = total + at ** (1 - s) / (s - 1) + 0.5 * at**-s
    rising, power = s, at ** (-s - 1)
    for k, factor in enumerate(_FACTORS):
        total = total + factor * rising * power
        rising, power = rising * (s + 2 * k + 1) * (s + 2 * k + 2), power / at**2
    return total


def igamma(a, x):
    """The lower incomplete gamma function over the whole one (6.5.1), NaN for a or x below 0."""
    return _gamma_shares(a, x)[0]


def igammac(a, x):
    """The upper incomplete gamma function over the whole one, NaN for a or x below 0."""
    return _gamma_shares(a, x)[1]


def _gamma_shares(a, x):
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        valid, near = (a > 0) & (x >= 0), x < a + 1
        front = np.exp(a * np.log(x) - x - lgamma(np.where(a > 0, a, 1.0)))
        # Each of both where it converges fast: the others have harmless operands.
        below = front * _lower_series(np.where(valid, a, 1.0), np.where(valid & near, x, 0.0))
        far = valid & ~near & np.isfinite(x)
        above = front * _upper_fraction(np.where(far, a, 1.0), np.where(far, x, 4.0))
        lower = np.where(x == 0, 0.0, np.where(near, below, 1 - above))
        upper = np.where(x == 0, 1.0, np.where(near, 1 - below, above))
        lower, upper = np.where(np.isinf(x), 1.0, lower), np.where(np.isinf(x), 0.0, upper)
        return np.where(valid, lower, math.nan), np.where(valid, upper, math.nan)


def _lower_series(a, x):
    """sum of x^k / (a (a + 1) .. (a + k)) (6.5.29)."""
    total = term = 1 / a
    for k in range(1, 10000):
        term = term * x / (a + k)
        total = total + term
        if (term <= total * 1e-17).all():
            break
    return total


def _upper_fraction(a, x):
    """The continued fraction (6.5.31), by Lentz's method."""
    b = x + 1 - a
    c, d = np.full(b.shape, 1e300), 1 / b
    made = d
    for k in range(1, 10000):
        factor = -k * (k - a)
        b = b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        made = made * c * d
        if (np.abs(c * d - 1) <= 4e-16).all():
            break
    return made


def _hankel(n, x, sign):
    """(sum of even terms, sum of odd terms) of the asymptotic series in 1 / x of Bessel functions (9.2.9, 9.7.1), whose
    signs alternate by `sign` from pair to pair."""
    even, odd, term = np.zeros(x.shape), np.zeros(x.shape), np.ones(x.shape)
    for k in range(50):
        if k % 2:
            odd = odd + sign ** (k // 2) * term
        else:
            even = even + sign ** (k // 2) * term
        term = term * (4 * n * n - (2 * k + 1) ** 2) / ((k + 1) * 8 * x)
    return even, odd


def _halves(near, far):
    """A function of magnitudes from one for those up to _FAR and one for those above."""

    def part(n, x):
        small = np.where(x <= _FAR, x, 1.0)
        return np.where(x <= _FAR, near(n, small), far(n, np.where(x > _FAR, x, _FAR)))

    def call(n, x):
        pieces = np.array_split(x.reshape(-1), -(-x.size // _AT_ONCE) or 1)
        with np.errstate(all="ignore"):
            return np.concatenate([part(n, one) for one in pieces]).reshape(x.shape)

    return call


def _angles(count):
    return (np.arange(count) + 0.5) * math.pi / count


def _near_i(n, x):
    t = _angles(64)  # the rule of midpoints is exact to all digits for periodic functions (9.6.19)
    return (np.exp(x[..., None] * (np.cos(t) - 1)) * np.cos(n * t)).mean(-1)


def _far_i(n, x):
    even, odd = _hankel(n, x, 1)
    return np.where(np.isinf(x), 0.0, (even - odd) / np.sqrt(2 * math.pi * x))


def _near_k(n, x):
    """The integral of exp(-x (cosh(t) - 1)) cosh(n t) (9.6.24), by trapezoids; below 1e-8 the first term."""
    safe = np.maximum(x, 1e-8)
    t = np.arange(280) * 0.1
    weight = np.where(t == 0, 0.05, 0.1)
    found = (weight * np.exp(-safe[..., None] * (np.cosh(t) - 1)) * np.cosh(n * t)).sum(-1)
    tiny = 1 / x if n else -np.log(x / 2) - _EULER
    return np.where(x < 1e-8, tiny, found)


def _far_k(n, x):
    even, odd = _hankel(n, x, 1)
    return np.where(np.isinf(x), 0.0, (even + odd) * np.sqrt(math.pi / (2 * x)))


def _orders(x):
    """J[k](x) for k from 0 to 63, as Fourier coefficients of exp(i x sin(t)) (9.1.42)."""
    t = np.arange(128) * 2 * math.pi / 128
    return np.fft.fft(np.exp(1j * x[..., None] * np.sin(t)), axis=-1).real[..., :64] / 128


def _near_j(n, x):
    return _orders(x)[..., n]


def _near_y(n, x):
    """Neumann's expansion of Y[0] in the others (9.1.89), and its derivative, -Y[1]."""
    all_of, k = _orders(x), np.arange(1, 31)
    log = np.log(x / 2) + _EULER
    if n == 0:
        rest = ((-1.0) ** k / k * all_of[..., 2 * k]).sum(-1)
        return 2 / math.pi * log * all_of[..., 0] - 4 / math.pi * rest
    rest = ((-1.0) ** k / k * (all_of[..., 2 * k - 1] - all_of[..., 2 * k + 1])).sum(-1)
    return 2 / math.pi * (log * all_of[..., 1] - all_of[..., 0] / x + rest)


def _far_jy(turn):
    def call(n, x):
        even, odd = _hankel(n, x, -1)
        angle = x - (n / 2 + 0.25) * math.pi
        first, second = (np.cos(angle), -np.sin(angle)) if turn == "j" else (np.sin(angle), np.cos(angle))
        return np.where(np.isinf(x), math.nan, np.sqrt(2 / (math.pi * x)) * (even * first + odd * second))

    return call


_OF_MAGNITUDES = {
    "i": _halves(_near_i, _far_i),
    "j": _halves(_near_j, _far_jy("j")),
    "k": _halves(_near_k, _far_k),
    "y": _halves(_near_y, _far_jy("y")),
}


def bessel(kind, n, scaled, x):
    """The Bessel function `kind`, of i, j, k and y, of degree n, 0 or 1; `scaled` times exp(-|x|) for i and exp(x) for
    k. Those of k and y are infinite for x up to 0."""
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    with np.errstate(all="ignore"):
        found = _OF_MAGNITUDES[kind](n, size)
        if kind in "ij":
            found = found * np.sign(x) if n else found
            found = found * np.exp(size) if kind == "i" and not scaled else found
            return np.where(np.isnan(x), math.nan, found)
        found = found if scaled or kind == "y" else found * np.exp(-x)
        found = np.where(x <= 0, math.inf if kind == "k" else -math.inf, found)
        return np.where(np.isnan(x), math.nan, found)
