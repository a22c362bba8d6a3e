"""Primitives and layers with strategies as the documented system has them: for each how it is made, how it is called
with its inputs, the shapes of these, and strategies for two and for four ranks."""

import numpy as np

from partita import Tensor, nn, ops
from partita import dtype as mstype

INTEGERS = "integers"  # an input of integers from 0 to 3


PRIMITIVES = {
    "Add of a number": (ops.Add, lambda op, x: op(x, 1e-5), [(4, 8)], [((2, 1), ()), ((2, 2), ())]),
    "Sub from a number": (ops.Sub, lambda op, x: op(2.5, x), [(4, 8)], [((), (1, 2)), ((), (4, 1))]),
    "Mul": (ops.Mul, lambda op, x, y: op(x, y), [(4, 8), (8,)], [((2, 1), (1,)), ((2, 2), (2,))]),
    "RealDiv": (ops.RealDiv, lambda op, x, y: op(x, y), [(4, 8), (4, 1)], [((2, 1), (2, 1)), ((2, 2), (2, 1))]),
    "Pow": (ops.Pow, lambda op, x: op(x, 2), [(4, 8)], [((2, 1), ()), ((1, 4), ())]),
    "Maximum": (ops.Maximum, lambda op, x, y: op(x, y), [(4, 8), (4, 8)], [((2, 1), (2, 1)), ((2, 2), (2, 2))]),
    "Maximum of a number": (ops.Maximum, lambda op, x: op(x, 1.5), [(4, 8)], [((2, 1), ()), ((4, 1), ())]),
    "Minimum": (ops.Minimum, lambda op, x, y: op(x, y), [(4, 8), (8,)], [((2, 1), (1,)), ((2, 2), (2,))]),
    "Exp": (ops.Exp, lambda op, x: op(x), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Square of one input twice": (ops.Mul, lambda op, x: op(x, x), [(4, 8)], [((2, 1), (2, 1)), ((2, 2), (2, 2))]),
    "GeLU": (ops.GeLU, lambda op, x: op(x), [(4, 8)], [((1, 2),), ((2, 2),)]),
    "Softmax": (ops.Softmax, lambda op, x: op(x), [(4, 8)], [((2, 1),), ((4, 1),)]),
    "Softmax of rows": (lambda: ops.Softmax(0), lambda op, x: op(x), [(4, 8)], [((1, 2),), ((1, 4),)]),
    "LogSoftmax": (ops.LogSoftmax, lambda op, x: op(x), [(4, 8)], [((2, 1),), ((4, 1),)]),
    "LayerNorm": (
        lambda: ops.LayerNorm(-1, -1),
        lambda op, x, g, b: op(x, g, b)[0],
        [(4, 8), (8,), (8,)],
        [((2, 1), (1,), (1,)), ((4, 1), (1,), (1,))],
    ),
    "RmsNorm": (ops.RmsNorm, lambda op, x, g: op(x, g)[0], [(4, 8), (8,)], [((2, 1), (1,)), ((4, 1), (1,))]),
    "MatMul": (ops.MatMul, lambda op, x, y: op(x, y), [(4, 8), (8, 4)], [((1, 2), (2, 1)), ((2, 2), (2, 1))]),
    "BatchMatMul": (
        lambda: ops.BatchMatMul(transpose_b=True),
        lambda op, x, y: op(x, y),
        [(2, 4, 8), (2, 4, 8)],
        [((2, 1, 1), (2, 1, 1)), ((2, 2, 1), (2, 1, 1))],
    ),
    "BiasAdd": (ops.BiasAdd, lambda op, x, b: op(x, b), [(4, 8), (8,)], [((2, 1), (1,)), ((2, 2), (2,))]),
    "Cast to another type": (ops.Cast, lambda op, x: op(x, mstype.float64), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Cast to the same type": (ops.Cast, lambda op, x: op(x, mstype.float32), [(4, 8)], [((1, 2),), ((2, 2),)]),
    "Transpose": (ops.Transpose, lambda op, x: op(x, (1, 0)), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Reshape": (ops.Reshape, lambda op, x: op(x, (4, 2, 4)), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "ExpandDims": (ops.ExpandDims, lambda op, x: op(x, 1), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Squeeze": (lambda: ops.Squeeze(1), lambda op, x: op(x), [(4, 1, 8)], [((2, 1, 1),), ((2, 1, 2),)]),
    "ReduceMean": (ops.ReduceMean, lambda op, x: op(x, -1), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "ReduceSum": (lambda: ops.ReduceSum(True), lambda op, x: op(x, 0), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "ReduceMax": (ops.ReduceMax, lambda op, x: op(x, 1), [(4, 8)], [((1, 2),), ((2, 2),)]),
    "Split": (lambda: ops.Split(1, 2), lambda op, x: sum(op(x)), [(4, 8)], [((2, 1),), ((4, 1),)]),
    "Concat": (
        lambda: ops.Concat(1),
        lambda op, x, y: op((x, y)),
        [(4, 8), (4, 8)],
        [((2, 1), (2, 1)), ((4, 1), (4, 1))],
    ),
    "Stack": (
        lambda: ops.Stack(1),
        lambda op, x, y: op((x, y)),
        [(4, 8), (4, 8)],
        [((2, 1), (2, 1)), ((2, 2), (2, 2))],
    ),
    "StridedSlice": (ops.StridedSlice, lambda op, x: op(x, (0, 2), (4, 6), (1, 1)), [(4, 8)], [((2, 1),), ((4, 1),)]),
    "StridedSlice of everything": (
        ops.StridedSlice,
        lambda op, x: op(x, (0, 0), (4, 8), (1, 1)),
        [(4, 8)],
        [((1, 2),), ((2, 2),)],
    ),
    "Gather": (ops.Gather, lambda op, x, i: op(x, i, 0), [(4, 8), INTEGERS], [((1, 2), (1,)), ((1, 2), (2,))]),
    "Gather of cut rows": (
        ops.Gather,
        lambda op, x, i: op(x, i, 0),
        [(4, 8), INTEGERS],
        [((2, 1), (1,)), ((4, 1), (1,))],
    ),
    "Gather of columns": (
        ops.Gather,
        lambda op, x, i: op(x, i, 1),
        [(4, 8), INTEGERS],
        [((2, 1), (1,)), ((2, 1), (2,))],
    ),
    "OneHot": (
        ops.OneHot,
        lambda op, x, i: x * op(i, 8, Tensor(1.0), Tensor(0.5)),
        [(4, 8), INTEGERS],
        [((1, 2), (), ()), ((2, 2), (), ())],
    ),
    "OneHot of cut indices": (
        ops.OneHot,
        lambda op, x, i: x * op(i, 8, Tensor(1.0), 0.0),
        [(4, 8), INTEGERS],
        [((2,), (), ()), ((4,), ())],
    ),
    "Tile": (ops.Tile, lambda op, x: op(x, (1, 2)), [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Tile to more dimensions": (ops.Tile, lambda op, x: op(x, (4, 1, 1)), [(4, 8)], [((2, 1, 1),), ((2, 2, 1),)]),
    "BroadcastTo": (lambda: ops.BroadcastTo((4, 8)), lambda op, x: op(x), [(4, 1)], [((2, 1),), ((4, 1),)]),
    "Dropout": (lambda: ops.Dropout(0.5), lambda op, x: op(x)[0], [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Dropout of nothing": (lambda: ops.Dropout(1.0), lambda op, x: op(x)[0], [(4, 8)], [((2, 1),), ((2, 2),)]),
    "Select": (ops.Select, lambda op, x, y: op(x > y, x, y), [(4, 8), (4, 8)], [((2, 1),) * 3, ((2, 2),) * 3]),
    "AddN": (ops.AddN, lambda op, x, y: op([x, y]), [(4, 8), (4, 8)], [((2, 1),) * 2, ((2, 2),) * 2]),
    "CumSum": (ops.CumSum, lambda op, x: op(x, 1), [(4, 8)], [((2, 1),), ((4, 1),)]),
    "TopK": (ops.TopK, lambda op, x: op(x, 3)[0], [(4, 8)], [((2, 1),), ((4, 1),)]),
    "Flatten": (ops.Flatten, lambda op, x: op(x), [(4, 2, 4)], [((2, 1, 1),), ((4, 1, 1),)]),
    "Conv2D": (
        lambda: ops.Conv2D(4, 3, pad_mode="same"),
        lambda op, x, w: op(x, w),
        [(4, 2, 6, 6), (4, 2, 3, 3)],
        [((2, 1, 1, 1), (1, 1, 1, 1)), ((2, 1, 1, 1), (2, 1, 1, 1))],
    ),
    "MaxPool": (lambda: ops.MaxPool(2, 2), lambda op, x: op(x), [(4, 2, 4, 4)], [((2, 1, 1, 1),), ((2, 2, 1, 1),)]),
    "SoftmaxCrossEntropyWithLogits": (
        ops.SoftmaxCrossEntropyWithLogits,
        lambda op, x, y: op(x, y)[0],
        [(4, 8), (4, 8)],
        [((2, 1), (2, 1)), ((4, 1), (4, 1))],
    ),
    "SparseSoftmaxCrossEntropyWithLogits": (
        ops.SparseSoftmaxCrossEntropyWithLogits,
        lambda op, x, i: op(x, i),
        [(4, 8), INTEGERS],
        [((2, 1), (2,)), ((4, 1), (4,))],
    ),
}


def _with(layer, **strategies):
    for name, strategy in strategies.items():
        getattr(layer, name).shard(strategy)
    return layer


# By the names of the primitives of layers: how a layer is made whose primitives have strategies for two ranks.
LAYERS = {
    "Dense": (lambda: _with(nn.Dense(8, 4), matmul=((1, 2), (1, 2)), bias_add=((2, 1), (1,))), (4, 8)),
    "Dense of three dimensions": (
        lambda: _with(nn.Dense(8, 4), matmul=((2, 1), (1, 1)), bias_add=((1, 2), (2,))),
        (2, 3, 8),
    ),
    "Dropout": (lambda: _with(nn.Dropout(p=0.5), dropout=((2, 1),)), (4, 8)),
    "LayerNorm": (lambda: _with(nn.LayerNorm((8,)), layer_norm=((2, 1), (1,), (1,))), (4, 8)),
    "Softmax": (lambda: _with(nn.Softmax(), softmax=((2, 1),)), (4, 8)),
    "LogSoftmax": (lambda: _with(nn.LogSoftmax(), log_softmax=((2, 1),)), (4, 8)),
    "ReLU": (lambda: _with(nn.ReLU(), relu=((1, 2),)), (4, 8)),
    "Tanh": (lambda: _with(nn.Tanh(), tanh=((1, 2),)), (4, 8)),
    "Sigmoid": (lambda: _with(nn.Sigmoid(), sigmoid=((1, 2),)), (4, 8)),
    "Conv2d": (
        lambda: _with(
            nn.Conv2d(2, 4, 3, has_bias=True), conv2d=((1, 1, 1, 1), (2, 1, 1, 1)), bias_add=((1, 2, 1, 1), (2,))
        ),
        (4, 2, 6, 6),
    ),
    "MaxPool2d": (lambda: _with(nn.MaxPool2d(2, 2), max_pool=((1, 2, 1, 1),)), (4, 2, 4, 4)),
    "AvgPool2d": (lambda: _with(nn.AvgPool2d(2, 2), avg_pool=((1, 2, 1, 1),)), (4, 2, 4, 4)),
    "BatchNorm2d": (lambda: _with(nn.BatchNorm2d(2), bn_train=((1, 2, 1, 1), (2,), (2,), (2,), (2,))), (4, 2, 4, 4)),
}


def arrays(shapes, seed=1):
    """The inputs of a case."""
    numbers = np.random.default_rng(seed)
    return [
        numbers.integers(0, 4, 4).astype("i4") if shape == INTEGERS else (numbers.random(shape) + 1).astype("f4")
        for shape in shapes
    ]
