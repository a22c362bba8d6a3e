"""Functions of two floats: computed at once and in programs they give NumPy's numbers, bit for bit, on the CPU and on a
plugin that PARTITA_PJRT_PLUGIN names."""

import inspect

import numpy as np
from test_devices import PLUGIN, DeviceCase

import partita as ms
from partita import ops

FUNCTIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "floor_div": np.floor_divide,
    "floor_mod": np.remainder,
    "remainder": np.remainder,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "copysign": np.copysign,
    "divide": np.divide,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "truncate_mod": np.fmod,
    "subtract": np.subtract,
}
# Functions of two tensors that are not of each pair of elements.
OTHERS = {"matmul", "bmm", "cross", "dot", "gather", "inner", "cosine_similarity", "isclose"}
OTHERS |= {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"}  # of integers
OTHERS |= {"gcd", "lcm", "bool_and", "bool_eq", "bool_or"}  # of integers and bools
OTHERS |= {f"scalar_{one}" for one in "add div eq floordiv ge gt le lt max min mod mul ne pow sub".split()}  # of Python
# Compositions of several roundings, which test_elements.py compares.
OTHERS |= {"logaddexp", "logaddexp2", "ldexp", "hypot", "xlogy", "xdivy", "truncate_div", "float_power", "nextafter"}
OTHERS |= {"float_power_ext", "squared_difference", "square_sum_all", "mul_no_nan", "div_no_nan", "tensor_div"}
OTHERS |= {"heaviside"}  # of NaN 0, as in the documented system
OTHERS |= {"atan2", "arctan2"}  # which the laws compare with the C library
OTHERS |= {"approximate_equal", "allclose", "igamma", "igammac", "zeta"}
OTHERS |= {"expand_as", "view_as"}  # of a shape
OTHERS |= {"batch_dot", "cdist", "dist", "kron", "vecdot"}
# Of zeros of unlike signs either is the larger one: NumPy's choice depends on the type and the processor.
EXTREMES = {"maximum", "minimum", "fmax", "fmin"}
# Their last digit is that of the library that computes them.
INEXACT = {"pow": 2}


def finite_halves():
    """All numbers of float16 but NaN and the infinities."""
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    return numbers[np.isfinite(numbers)]


def ends(dtype):
    """Ends of a type, numbers next to them and plain ones; float32 has none below the smallest normal one, which a
    program rounds to 0."""
    limits, one = np.finfo(dtype), dtype(1)
    found = [0, limits.tiny, 2 * limits.tiny, limits.max, limits.max / 2, np.nextafter(one, dtype(2)), 1, 0.1, 3, 7.5]
    if dtype == np.float16:
        found += [limits.smallest_subnormal, limits.tiny / 2]
    found = np.array(found, dtype)
    return np.concatenate([found, -found, np.array([np.inf, -np.inf, np.nan], dtype)])


def pairs(dtype):
    """Operands: of float16 all numbers with each of its ends, of others all pairs of ends."""
    other = ends(dtype)
    all_of_one = finite_halves() if dtype == np.float16 else other
    a, b = np.repeat(all_of_one, len(other)), np.tile(other, len(all_of_one))
    return np.concatenate([a, b]), np.concatenate([b, a])


def is_equal(got, expected, units):
    """Where two arrays have the same bits, both NaN, or numbers at most that many units apart."""
    if expected.dtype == np.bool_:
        return got == expected
    both_nan = np.isnan(got) & np.isnan(expected)
    same = (got == expected) & (np.signbit(got) == np.signbit(expected))
    tiny = np.finfo(expected.dtype).tiny
    # Programs round what is below the smallest normal float32 to 0, plugins float64, too (docs/decisions/014).
    below = (expected != 0) & (np.abs(expected) < tiny)
    flushed = (expected.dtype != np.float16) & below & (np.abs(got) <= tiny)
    near = np.abs(got - expected) <= units * np.spacing(np.abs(expected)) if units else False
    return same | both_nan | flushed | near


class TwoFloats(DeviceCase):
    def check(self, name, dtype, wrap):
        a, b = pairs(dtype)
        with np.errstate(all="ignore"):
            expected = FUNCTIONS[name](a, b)
            got = wrap(getattr(ops, name))(ms.Tensor(a), ms.Tensor(b)).asnumpy()
            self.assertEqual(got.dtype, expected.dtype, name)
            equal = is_equal(got, expected, INEXACT.get(name, 0))
            if name in EXTREMES:
                equal |= (got == 0) & (expected == 0) & (np.signbit(a) != np.signbit(b))
            wrong = np.flatnonzero(~equal)
        texts = [f"{name}({a[i]!r}, {b[i]!r}) is {got[i]!r}, expected {expected[i]!r}" for i in wrong[:3]]
        self.assertEqual(texts, [], f"{len(wrong)} of {len(a)} pairs of {np.dtype(dtype)}")

    def check_all(self, wrap):
        for name in FUNCTIONS:
            for dtype in (np.float16, np.float32, np.float64):
                with self.subTest(name=name, dtype=np.dtype(dtype).name):
                    self.check(name, dtype, wrap)

    def test_all_of_them_are_compared(self):
        compared, found = [getattr(ops, name) for name in FUNCTIONS], set()
        for name in ops.__all__ if hasattr(ops, "__all__") else dir(ops):
            function = getattr(ops, name)
            if not inspect.isfunction(function) or function in compared:
                continue
            parameters = list(inspect.signature(function).parameters.values())
            names = [one.name for one in parameters if one.default is inspect.Parameter.empty]
            if names[1:] in (["other"], ["exponent"]) or names in (["x", "y"], ["x1", "x2"]):
                found.add(name)
        self.assertEqual(found - OTHERS, set())

    def test_at_once(self):
        self.check_all(lambda function: function)

    def test_in_programs(self):
        self.check_all(ms.jit)

    def test_in_programs_of_a_plugin(self):
        if not PLUGIN:
            self.skipTest("no PARTITA_PJRT_PLUGIN: tools/xla/get_plugin.sh")
        with self.environment(PARTITA_GPU="xla:cpu"):
            ms.set_context(device_target="GPU")
            self.check_all(ms.jit)

    def test_numbers_are_of_the_type_of_the_tensor(self):
        halves = finite_halves()
        with np.errstate(all="ignore"):
            for function in (lambda x: x * 0.1, lambda x: x + 0.1, lambda x: 0.3 - x, lambda x: x / 3, lambda x: 7 / x):
                expected = function(halves)
                for wrap in (lambda one: one, ms.jit):
                    got = wrap(function)(ms.Tensor(halves)).asnumpy()
                    self.assertEqual(np.flatnonzero(~is_equal(got, expected, 0)).size, 0)

    def test_equal_operands_share_the_gradient(self):
        a, b = ms.Tensor([2.0, 3.0, 1.0]), ms.Tensor([2.0, 1.0, 3.0])
        for function, second in ((ops.maximum, [0, 1]), (ops.minimum, [1, 0])):
            gradients = ms.grad(lambda x, y, function=function: function(x, y).sum(), (0, 1))(a, b)
            self.close(gradients[0], [0.5, second[1], second[0]])
            self.close(gradients[1], [0.5, second[0], second[1]])
