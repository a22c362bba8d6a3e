"""Functions and layers of operands of different floats, and the type of each result, in either system. The kept
ones are in mixed_types.txt, written by tests/soak/mindspore/make_mixed.py."""

import itertools

import numpy as np

FLOATS = ("float16", "bfloat16", "float32")
_numbers = np.random.default_rng(1)
MATRIX, ROW, OTHER = _numbers.random((2, 3)) + 0.5, _numbers.random(3) + 0.5, _numbers.random((3, 2)) + 0.5
IMAGE, KERNEL = _numbers.random((1, 2, 4, 4)), _numbers.random((2, 2, 3, 3))


def cases(system):
    """{name: (function of tensors, arrays)}."""
    ops, nn = system.ops, system.nn
    mask = system.Tensor(MATRIX > 1)
    return {
        "ops.matmul": (ops.matmul, (MATRIX, OTHER)),
        "ops.MatMul": (ops.MatMul(), (MATRIX, OTHER)),
        "ops.BatchMatMul": (ops.BatchMatMul(), (MATRIX[None], OTHER[None])),
        "ops.dense": (ops.dense, (MATRIX, MATRIX)),
        "ops.bias_add": (ops.bias_add, (MATRIX, ROW)),
        "ops.BiasAdd": (ops.BiasAdd(), (MATRIX, ROW)),
        "ops.concat": (lambda a, b: ops.concat((a, b)), (MATRIX, MATRIX)),
        "ops.stack": (lambda a, b: ops.stack((a, b)), (MATRIX, MATRIX)),
        "ops.select": (lambda a, b: ops.select(mask, a, b), (MATRIX, MATRIX)),
        "ops.Select": (lambda a, b: ops.Select()(mask, a, b), (MATRIX, MATRIX)),
        "ops.where": (lambda a, b: ops.where(mask, a, b), (MATRIX, MATRIX)),
        "ops.AddN": (lambda a, b: ops.AddN()([a, b]), (MATRIX, MATRIX)),
        "ops.Mul": (ops.Mul(), (MATRIX, ROW)),
        "ops.Sub": (ops.Sub(), (MATRIX, ROW)),
        "ops.RealDiv": (ops.RealDiv(), (MATRIX, ROW)),
        "ops.Pow": (ops.Pow(), (MATRIX, ROW)),
        "ops.Maximum": (ops.Maximum(), (MATRIX, ROW)),
        "ops.Minimum": (ops.Minimum(), (MATRIX, ROW)),
        "ops.layer_norm": (lambda a, b, c: ops.layer_norm(a, (3,), b, c), (MATRIX, ROW, ROW)),
        "ops.LayerNorm": (lambda a, b, c: ops.LayerNorm(1, 1)(a, b, c)[0], (MATRIX, ROW, ROW)),
        "ops.conv2d": (ops.conv2d, (IMAGE, KERNEL)),
        "ops.clip": (lambda a, b: ops.clip(a, b, None), (MATRIX, ROW)),
        "ops.clip_by_value": (lambda a, b: ops.clip_by_value(a, b, None), (MATRIX, ROW)),
        "ops.outer": (ops.outer, (ROW, ROW)),
        "ops.mse_loss": (ops.mse_loss, (MATRIX, MATRIX)),
        "ops.l1_loss": (ops.l1_loss, (MATRIX, MATRIX)),
        "ops.floor_div": (ops.floor_div, (MATRIX, ROW)),
        "ops.floor_mod": (ops.floor_mod, (MATRIX, ROW)),
        "ops.not_equal": (ops.not_equal, (MATRIX, ROW)),
        "ops.softmax": (ops.softmax, (MATRIX,)),
        "ops.log_softmax": (ops.log_softmax, (MATRIX,)),
        "ops.gelu": (ops.gelu, (MATRIX,)),
        "ops.cumsum": (lambda a: ops.cumsum(a, 0), (MATRIX,)),
        "nn.MSELoss": (nn.MSELoss(), (MATRIX, MATRIX)),
        "nn.Dense": (nn.Dense(3, 2), (MATRIX,)),
        "nn.LayerNorm": (nn.LayerNorm((3,)), (MATRIX,)),
        "nn.BatchNorm2d": (nn.BatchNorm2d(2), (IMAGE,)),
        "nn.BatchNorm2d of batches": (nn.BatchNorm2d(2).set_train(), (IMAGE,)),
        "nn.Conv2d": (nn.Conv2d(2, 2, 3), (IMAGE,)),
        "Tensor.clip": (lambda a, b: a.clip(b, None), (MATRIX, ROW)),
        "Tensor.sum": (lambda a: a.sum(), (MATRIX,)),
        "Tensor.mean": (lambda a: a.mean(), (MATRIX,)),
    }


def results(system, name):
    """{types of the operands: name of the type of the result, "-" for what is refused} of a case."""
    function, arrays = cases(system)[name]
    found = {}
    for types in itertools.product(FLOATS, repeat=len(arrays)):
        tensors = [system.Tensor(one.astype("f4")).astype(getattr(system, kind)) for one, kind in zip(arrays, types)]
        try:
            made = function(*tensors)
            made.astype(system.float32).asnumpy()  # errors of kernels come late
            found[" ".join(types)] = str(made.dtype)
        except Exception:  # of either system
            found[" ".join(types)] = "-"
    return found
