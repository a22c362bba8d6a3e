"""Operations on operands of two element types, and the type of each result, in either system. The kept ones are in
promoted_types.txt, written by tests/soak/mindspore/make_promotion.py."""

import operator

import numpy as np

TYPES = tuple("bool_ uint8 uint16 uint32 int8 int16 int32 int64 float16 bfloat16 float32 float64".split())
NUMBERS = {"True": True, "2": 2, "2.5": 2.5}
OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "**": "pow", "<": "lt", "==": "eq"}
FUNCTIONS = ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "less", "equal", "matmul")
# What the right operand is: a tensor, one without dimensions, a number; "reversed": the left one is the number.
KINDS = {"tensor": TYPES, "scalar": TYPES, "number": NUMBERS, "reversed": NUMBERS}
CRASHING = {(name, "scalar", "float16", "bfloat16") for name in ("*", "/", "mul", "div")}  # there, the process ends


def rows():
    """(operation, kind, type of the tensor) of each row of the table; a row has a result for each of KINDS[kind]."""
    for name in (*OPERATORS, *FUNCTIONS):
        for kind in ("tensor",) if name == "matmul" else KINDS:
            for dtype in TYPES:
                yield name, kind, dtype


def function_of(system, name):
    """Returns the operation, a function of two operands."""
    return getattr(operator, OPERATORS[name]) if name in OPERATORS else getattr(system.ops, name)


def operands(system, name, kind, dtype, other):
    """Returns the two operands of a case."""

    def tensor(value, of, shape):
        return system.Tensor(np.full(shape, value, "f4")).astype(getattr(system, of))

    shape = (2, 2) if name == "matmul" else (2,)
    left = tensor(1, dtype, shape)
    right = tensor(2, other, () if kind == "scalar" else shape) if kind in ("tensor", "scalar") else NUMBERS[other]
    return (right, left) if kind == "reversed" else (left, right)


def results(system, name, kind, dtype, call=None):
    """Returns the names of the result types of a row, "-" for what is refused."""
    found = []
    for other in KINDS[kind]:
        if system.__name__ == "mindspore" and (name, kind, dtype, other) in CRASHING:
            found.append("-")
            continue
        try:
            made = (call or function_of(system, name))(*operands(system, name, kind, dtype, other))
            made.astype(system.float32).asnumpy()  # errors of kernels come late
            found.append(str(made.dtype))
        except Exception:  # of either system
            found.append("-")
    return found
