"""The ops that are objects, by the names and the defaults of the documented system."""

from __future__ import annotations

from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.ops import functional as F
from partita.ops.primitive import Primitive


def plain(name, function, takes_numbers, module=__name__):
    """The class of an op that calls a function. `takes_numbers`: whether its inputs may be numbers."""

    def init(self):
        Primitive.__init__(self)

    def compute(self, *args):
        return function(*args)

    members = {"__init__": init, "compute": compute, "__doc__": function.__doc__, "__module__": module}
    return type(name, (Primitive,), members | {"_numbers": takes_numbers})


_PLAIN = {
    "Add": F.add,
    "Sub": F.sub,
    "Mul": F.mul,
    "RealDiv": F.real_div,
    "Div": F.div,
    "Neg": F.neg,
    "Exp": F.exp,
    "Log": F.log,
    "Sqrt": F.sqrt,
    "Rsqrt": F.rsqrt,
    "Square": F.square,
    "Abs": F.abs,
    "Tanh": F.tanh,
    "Sigmoid": F.sigmoid,
    "Erf": F.erf,
    "Softplus": F.softplus,
    "Maximum": F.maximum,
    "Minimum": F.minimum,
    "Pow": F.pow,
    "ReLU": F.relu,
    "SiLU": F.silu,
    "Equal": F.equal,
    "NotEqual": F.not_equal,
    "Less": F.less,
    "LessEqual": F.less_equal,
    "Greater": F.greater,
    "GreaterEqual": F.greater_equal,
    "LogicalNot": F.logical_not,
    "LogicalAnd": F.logical_and,
    "LogicalOr": F.logical_or,
    "Select": F.select,
    "Reshape": F.reshape,
    "Transpose": F.transpose,
    "ExpandDims": F.expand_dims,
    "Cast": F.cast,
    "Shape": F.shape,
    "Rank": F.rank,
    "Size": F.size,
    "BiasAdd": F.bias_add,
    "ZerosLike": F.zeros_like,
    "OnesLike": F.ones_like,
    "Fill": F.fill,
    "BroadcastTo": None,
    "IsFinite": F.isfinite,
    "Zeros": lambda shape, dtype: F.zeros(shape, dtype),
    "Ones": lambda shape, dtype: F.ones(shape, dtype),
    "AddN": lambda inputs: _sum_of(inputs),
    "TensorAdd": F.add,
    "Gelu": None,
    "Identity": F.duplicate,
}
_OF_NUMBERS = """
    Add Sub Mul RealDiv Div Maximum Minimum Pow Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr
    Select TensorAdd
    """.split()
for _name, _function in _PLAIN.items():
    if _function is not None:
        globals()[_name] = plain(_name, _function, _name in _OF_NUMBERS)
Zeros.__doc__, Ones.__doc__ = F.zeros.__doc__, F.ones.__doc__  # noqa: F821
AddN.__doc__ = """AddN()(tensors): the sum of a tuple or list of tensors of one shape, of each element. Raises
    ValueError for shapes that do not broadcast."""  # noqa: F821


def _sum_of(inputs):
    total = inputs[0]
    for one in inputs[1:]:
        total = F.add(total, one)
    return total


class GeLU(Primitive):
    """GPT-2's form, with tanh, of each element, in the shape and the type of x. Raises TypeError for integers and
    bools."""

    def compute(self, x):
        return F.gelu(x, "tanh")


class MatMul(Primitive):
    """MatMul(transpose_a, transpose_b)(a, b): the product of matrices [m, k] and [k, n], whose dimensions are exchanged
    first where that is said. Raises ValueError for shapes that do not fit, TypeError for operands of different types,
    or of bools."""

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        super().__init__()
        self.transpose_a, self.transpose_b = transpose_a, transpose_b

    def compute(self, a, b):
        return F.matmul(a, b, self.transpose_a, self.transpose_b)


class BatchMatMul(MatMul):
    """BatchMatMul(transpose_a, transpose_b)(a, b): products of the matrices of two batches, [.., m, k] and [.., k, n],
    as [.., m, n]; the dimensions before broadcast. Raises ValueError for shapes that do not fit, TypeError for operands
    of different types, or of bools.

    >>> ops.BatchMatMul(transpose_b=True)(ops.ones((2, 1, 3)), ops.ones((2, 4, 3))).shape
    (2, 1, 4)
    """


class Flatten(Primitive):
    """[n, a, b, ..] -> [n, a b ..], [n] -> [n, 1]; a tensor without dimensions has one then."""

    def __init__(self):
        super().__init__()

    def compute(self, x):
        return F.reshape(x, [-1, 1]) if x.ndim == 1 else F.flatten(x)


class Softmax(Primitive):
    """Softmax(axis)(x): exp(x) over its sum along an axis, in the shape of x; integers become float32. Raises
    ValueError for an axis that x has not."""

    def __init__(self, axis: int | Sequence[int] = -1) -> None:
        super().__init__()
        self.axis = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis

    def compute(self, x):
        return F.softmax(x, self.axis)


class LogSoftmax(Softmax):
    """LogSoftmax(axis)(x): log(softmax(x)) along an axis, in the shape of x; integers become float32. Raises ValueError
    for an axis that x has not."""

    def compute(self, x):
        return F.log_softmax(x, self.axis)


class Concat(Primitive):
    """Concat(axis)(tensors): the tensors one after the other along an axis; the other sizes are equal. Raises TypeError
    unless they are in a tuple or list that is not empty, ValueError for shapes that differ, or an axis that they have
    not."""

    def __init__(self, axis: int = 0) -> None:
        super().__init__()
        self.axis = axis

    def compute(self, tensors):
        return F.concat(tensors, self.axis)


class Stack(Concat):
    """Stack(axis)(tensors): tensors of one shape along a new axis. Raises TypeError unless they are in a tuple or list
    that is not empty, ValueError for shapes that differ."""

    def compute(self, tensors):
        return F.stack(tensors, self.axis)


class Split(Primitive):
    """Split(axis, output_num)(x): a tuple of as many parts of equal size along an axis. Raises ValueError if the size
    of the axis is not divisible by their number, IndexError for an axis that x has not."""

    def __init__(self, axis: int = 0, output_num: int = 1) -> None:
        super().__init__()
        self.axis, self.output_num = axis, output_num

    def compute(self, x):
        parts, axis = self.output_num, self.axis
        return F.run(lambda trace, a: tuple(F.F.split(a, parts, axis)), F.as_tensor(x))


class Squeeze(Primitive):
    """Squeeze(axis)(x): the tensor without dimensions of one element, all of them where no axis is given; dimensions of
    another size stay. Raises ValueError for an axis that x has not."""

    def __init__(self, axis: int | Sequence[int] = ()) -> None:
        super().__init__()
        self.axis = axis

    def compute(self, x):
        return F.squeeze(x, None if self.axis == () else self.axis)


class BroadcastTo(Primitive):
    """BroadcastTo(shape)(x): the elements repeated along dimensions of one element; -1 keeps a size. Raises ValueError
    where another size than 1 would change."""

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = shape

    def compute(self, x):
        return F.broadcast_to(x, self.shape)


class Gather(Primitive):
    """Gather(batch_dims)(params, indices, axis): slices of a tensor along an axis, by their numbers, in int32 or int64;
    shapes are those of `ops.gather`. Raises IndexError for a known number outside, TypeError for numbers of other
    types, ValueError for an axis that the tensor has not."""

    def __init__(self, batch_dims: int = 0) -> None:
        super().__init__()
        self.batch_dims = batch_dims

    def compute(self, params, indices, axis):
        return F.gather(params, indices, axis, self.batch_dims)


class OneHot(Primitive):
    """OneHot(axis)(indices, depth, on_value, off_value): `on_value` at each index along a dimension of size `depth`
    that is added at `axis`, else `off_value`. The first entry of a strategy has the dimensions of the result, or those
    of the indices. Raises TypeError for indices that are not int32 or int64, or two types of values, ValueError for a
    `depth` below 1."""

    _numbers = True

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def inputs(self, indices, depth, on_value, off_value):
        return super().inputs(indices, on_value, off_value)

    def input_cuts(self, strategy, inputs, args):
        first, rank = list(strategy.ins[0]), inputs[0].ndim
        if len(first) != rank + 1:
            return strategy.ins, {}
        depth = first.pop(self.axis if self.axis >= 0 else self.axis + rank + 1)
        return [first, *strategy.ins[1:]], {("one_hot", "depth"): depth}

    def compute(self, indices, depth, on_value, off_value):
        return F.one_hot(indices, depth, on_value, off_value, self.axis)


class Tile(Primitive):
    """Tile()(x, copies along each dimension): the tensor as often along each; see `ops.tile`. A strategy has the
    dimensions of the result; it cuts the copies where there are several, else the elements. Raises TypeError unless the
    copies are a tuple or list of integers, ValueError for one below 0."""

    def __init__(self):
        super().__init__()

    def compute(self, x, multiples):
        return F.tile(x, multiples)

    def input_cuts(self, strategy, inputs, args):
        copies, rank = list(args[1]), inputs[0].ndim
        dims = strategy.ins[0]
        whole = max(len(copies), rank)
        if len(strategy.ins) != 1 or len(dims) != whole:
            return strategy.ins, {}
        copies = [1] * (whole - len(copies)) + copies
        own = [strategy.uncut if count > 1 else cut for count, cut in zip(copies, dims)]
        added = {("broadcast_to", 2 * i): cut for i, (count, cut) in enumerate(zip(copies, dims)) if count > 1}
        lead = whole - rank
        return [own[lead:]], added


class Dropout(Primitive):
    """Dropout(keep_prob)(x) gives (what is kept, over keep_prob; 1 where that is not 0), both in the shape of x. Raises
    ValueError unless 0 < keep_prob <= 1. The seeds have no effect: draws follow from `set_seed`."""

    def __init__(self, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> None:
        super().__init__()
        self.keep_prob = keep_prob

    def compute(self, x):
        y = F.dropout(x, 1.0 - self.keep_prob)
        return y, F.cast(F.not_equal(y, 0.0), y.dtype)


class LayerNorm(Primitive):
    """LayerNorm(begin_norm_axis, ..)(x, gamma, beta) gives (normalized, mean, variance) over the dimensions from
    `begin_norm_axis` on; these have size 1 in the last two. Raises ValueError unless `gamma` has these dimensions."""

    def __init__(self, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7) -> None:
        super().__init__()
        self.begin_norm_axis, self.begin_params_axis, self.epsilon = begin_norm_axis, begin_params_axis, epsilon

    def compute(self, x, gamma, beta):
        begin = F.axis_of("LayerNorm", self.begin_norm_axis, x.ndim)
        if F.axis_of("LayerNorm", self.begin_params_axis, x.ndim) != begin or gamma.shape != x.shape[begin:]:
            raise ValueError(
                f"[LayerNorm] the parameters are not of the normalized dimensions, got shape {gamma.shape} and "
                f"axes {self.begin_norm_axis} and {self.begin_params_axis}, expected {x.shape[begin:]}"
            )
        axes = tuple(range(begin, x.ndim))
        mean = F.reduce_mean(x, axes, True)
        variance = F.reduce_mean(F.square(F.sub(x, mean)), axes, True)
        return F.layer_norm(x, gamma.shape, gamma, beta, self.epsilon), mean, variance


class RmsNorm(Primitive):
    """RmsNorm(epsilon)(x, gamma) gives (x / rms * gamma, 1 / rms), rms over the dimensions of gamma, which are the last
    ones of x; they have size 1 in the second. Raises ValueError for a gamma of another shape."""

    def __init__(self, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.epsilon = epsilon

    def compute(self, x, gamma):
        return F.rms_norm(x, gamma, self.epsilon)


class _BatchNorm(Primitive):
    """The normalization of batches in a layer: (x, gamma, beta). Strategies may also have entries for the statistics,
    which are cut as these are."""

    def input_cuts(self, strategy, inputs, args):
        return strategy.ins[:3] if len(strategy.ins) == 5 else strategy.ins, {}


class _Reduce(Primitive):
    def __init__(self, keep_dims: bool = False) -> None:
        super().__init__()
        self.keep_dims = keep_dims

    def compute(self, x, axis=()):
        return type(self).function(x, axis, self.keep_dims)


for _name, _function in {
    "ReduceMean": F.mean,
    "ReduceMax": F.reduce_max,
    "ReduceMin": F.reduce_min,
    "ReduceAll": F.all,
    "ReduceAny": F.any,
}.items():
    globals()[_name] = type(
        _name,
        (_Reduce,),
        {
            "function": staticmethod(_function),
            "__module__": __name__,
            "__doc__": f"{_name}(keep_dims)(x, axis). {_function.__doc__}",
        },
    )


class ReduceSum(_Reduce):
    """ReduceSum(keep_dims, skip_mode)(x, axis): the sum over dimensions, or of all elements, in the type of x; in skip
    mode no axes leave the tensor as it is. The result has the shape without these dimensions, or with `keep_dims` with
    size 1 there. Raises ValueError for an axis that x has not, IndexError for one that stands twice."""

    function = staticmethod(F.reduce_sum)

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False) -> None:
        super().__init__(keep_dims)
        self.skip_mode = skip_mode

    def compute(self, x, axis=()):
        return x if self.skip_mode and axis in ((), []) else super().compute(x, axis)


class Argmax(Primitive):
    """Argmax(axis, output_type)(x): where the largest element along an axis is, the first of equal ones, in the shape
    without the axis. Raises ValueError for an axis that x has not."""

    def __init__(self, axis: int = -1, output_type: mstype.DType | str | type = mstype.int32) -> None:
        super().__init__()
        self.axis, self.output_type = axis, output_type

    def compute(self, x):
        return F.cast(F.argmax(x, self.axis), self.output_type)


class CumSum(Primitive):
    """CumSum(exclusive, reverse)(x, axis): sums of the elements up to each one along an axis, in the shape of x;
    `exclusive` leaves it out, `reverse` begins at the end. Raises IndexError for an axis that x has not, TypeError for
    bools."""

    def __init__(self, exclusive: bool = False, reverse: bool = False) -> None:
        super().__init__()
        self.exclusive, self.reverse = exclusive, reverse

    def compute(self, x, axis):
        return F.cumsum(x, axis, exclusive=self.exclusive, reverse=self.reverse)


class TopK(Primitive):
    """TopK(sorted)(x, k) gives (values, places) of the k largest elements of the last dimension, the largest first;
    both have size k there, and places are int32. Raises ValueError for a k below 1 or above the size."""

    def __init__(self, sorted: bool = True) -> None:
        super().__init__()

    def compute(self, x, k):
        return F.topk(x, k)


class StridedSlice(Primitive):
    """StridedSlice(masks ..)(x, begin, end, strides): the elements of x[begin:end:strides] of each of the first
    dimensions. Bits of the masks name places: whose begin or end does not count, of an ellipsis, of a new dimension, of
    one element whose dimension is left out. Raises ValueError for a stride of 0."""

    def __init__(
        self,
        begin_mask: int = 0,
        end_mask: int = 0,
        ellipsis_mask: int = 0,
        new_axis_mask: int = 0,
        shrink_axis_mask: int = 0,
    ) -> None:
        super().__init__()
        self.masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask

    def compute(self, x, begin, end, strides):
        return F.strided_slice(x, begin, end, strides, *self.masks)


class Slice(Primitive):
    """Slice()(x, begin, size): as many elements of each dimension from a place on; a size of -1 takes the rest. The
    result has the shape `size`, less where the tensor ends."""

    def compute(self, x, begin, size):
        return F.tensor_index(x, tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size)))


class Conv2D(Primitive):
    """Conv2D(out_channel, kernel_size, ..)(x[n, c, h, w], weight[out, c / group, kh, kw]) gives y[n, out, h, w]. Sizes
    are pixels, or (rows, columns). Raises ValueError for another order of dimensions than "NCHW" and shapes that do not
    fit, TypeError for integers, and operands of two types."""

    def __init__(
        self,
        out_channel: int,
        kernel_size: int | Sequence[int],
        mode: int = 1,
        pad_mode: str = "valid",
        pad: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        F.require_nchw("Conv2D", data_format)
        self.options = dict(pad_mode=pad_mode, padding=pad, stride=stride, dilation=dilation, groups=group)

    def compute(self, x, weight):
        return F.conv2d(x, weight, **self.options)


class MaxPool(Primitive):
    """MaxPool(kernel_size, strides, pad_mode)(x[n, c, h, w]): the largest element of each window, as [n, c, rows,
    columns]. Sizes are pixels, or (rows, columns). Raises ValueError for other shapes, or a window larger than the
    image, TypeError for integers."""

    def __init__(
        self,
        kernel_size: int | Sequence[int] = 1,
        strides: int | Sequence[int] = 1,
        pad_mode: str = "valid",
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        F.require_nchw(type(self).__name__, data_format)
        self.kernel_size, self.strides, self.pad_mode = kernel_size, strides, pad_mode

    def compute(self, x):
        return F.max_pool2d(x, self.kernel_size, self.strides, pad_mode=self.pad_mode)


class AvgPool(MaxPool):
    """AvgPool(kernel_size, strides, pad_mode)(x[n, c, h, w]): the mean of each window, padding left out, as [n, c,
    rows, columns]. Sizes are pixels, or (rows, columns). Raises ValueError for other shapes, or a window larger than
    the image, TypeError for integers."""

    def compute(self, x):
        return F.avg_pool2d(x, self.kernel_size, self.strides, count_include_pad=False, pad_mode=self.pad_mode)


class SparseSoftmaxCrossEntropyWithLogits(Primitive):
    """The mean over the batch of the softmax cross entropy of logits [n, c] with classes [n]. Raises IndexError for a
    known class outside of 0 to c - 1, ValueError for other shapes."""

    def __init__(self, is_grad: bool = False) -> None:
        super().__init__()

    def compute(self, logits, labels):
        if self._strategy is not None:
            return F.reduce_mean(F.run(lambda trace, a, b: F.F.sample_losses("sparse", a, b), logits, labels))
        return F.run(lambda trace, a, b: F.F.build_loss("sparse", a, b, None), logits, labels)


class SoftmaxCrossEntropyWithLogits(Primitive):
    """(losses of the samples [n], their gradients [n, c]) of logits [n, c] with one-hot or soft labels [n, c], which
    have no gradient. Raises ValueError for shapes that differ."""

    def compute(self, logits, labels):
        labels = F.stop_gradient(labels)
        if self._strategy is not None:
            losses = F.neg(F.reduce_sum(F.mul(F.log_softmax(logits), labels), -1))
        else:
            losses = F.run(lambda trace, a, b: F.F.sample_losses("dense", a, b), logits, labels)
        return losses, F.stop_gradient(F.sub(F.softmax(logits), labels))


class Print(Primitive):
    """Prints what is known: values outside of networks, types and shapes within them. Returns None."""

    def compute(self, *args):
        print(*args, flush=True)


class Depend(Primitive):
    """Depend()(value, expr): the first operand, of any shape; the order of ops follows from their operands."""

    def compute(self, value, expr):
        return value
