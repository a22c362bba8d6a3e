"""More ops that are objects: of functions that are made of others."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.primitive import Primitive
from partita.ops.primitives import plain
from partita.ops.recurrent import flat_weights, over_steps
from partita.ops.transposed import input_gradient

_PLAIN = {
    "Assign": F.assign,
    "Dense": F.dense,
    "MaskedSelect": F.masked_select,
    "Ceil": F.ceil,
    "FastGeLU": F.fast_gelu,
    "Floor": F.floor,
    "FloorDiv": F.floor_div,
    "FloorMod": F.floor_mod,
    "GatherD": F.gather_elements,
    "GatherNd": F.gather_nd,
    "HSigmoid": F.hardsigmoid,
    "HSwish": F.hardswish,
    "LogicalXor": F.logical_xor,
    "MaskedFill": F.masked_fill,
    "Mish": F.mish,
    "Mod": F.truncated_mod,
    "ReLU6": F.relu6,
    "Reciprocal": F.reciprocal,
    "Round": F.round,
    "SeLU": F.selu,
    "Sign": F.sign,
    "Softsign": F.softsign,
    "StandardNormal": None,
    "Trunc": F.trunc,
}
__all__ = [
    *_PLAIN,
    "Addcmul",
    "BatchNorm",
    "Conv2DBackpropInput",
    "Conv2DTranspose",
    "DType",
    "Einsum",
    "Elu",
    "Eye",
    "KLDivLoss",
    "L2Normalize",
    "LpNorm",
    "LSTM",
    "Meshgrid",
    "NLLLoss",
    "Pad",
    "Partial",
    "ImageSummary",
    "ScalarSummary",
    "ScalarToTensor",
    "SigmoidCrossEntropyWithLogits",
    "Sort",
    "SplitWithSize",
    "TensorSummary",
    "Tril",
    "UniformReal",
    "Unstack",
]
for _name, _function in _PLAIN.items():
    if _function is not None:
        globals()[_name] = plain(_name, _function, _name in ("FloorDiv", "FloorMod", "Mod"), __name__)


class SigmoidCrossEntropyWithLogits(Primitive):
    """SigmoidCrossEntropyWithLogits()(logits, label): the binary cross entropy of each logit with its label, which has
    no gradient, in the broadcast shape. Raises ValueError for shapes that do not broadcast, TypeError where both are
    integers."""

    def compute(self, logits, label):
        return F.binary_cross_entropy_with_logits(logits, F.stop_gradient(label), reduction="none")


class Addcmul(Primitive):
    """Addcmul()(input, x1, x2, value): input + value * x1 * x2 of each element, broadcast. Raises ValueError for shapes
    that do not broadcast."""

    def __init__(self):
        super().__init__()

    def compute(self, input_data, x1, x2, value):
        return F.addcmul(input_data, x1, x2, value)


class BatchNorm(Primitive):
    """(x[n, c, ..], gamma, beta, mean, variance), the last four [c], gives (normalized x, mean, variance, mean,
    variance): by the given statistics, or with `is_training` by those of the batch, whose share `momentum` the given
    ones take. Raises ValueError for another order of dimensions than "NCHW"."""

    def __init__(
        self, is_training: bool = False, epsilon: float = 1e-5, momentum: float = 0.1, data_format: str = "NCHW"
    ) -> None:
        super().__init__()
        F.require_nchw("BatchNorm", data_format)
        self.is_training, self.epsilon, self.momentum = bool(is_training), float(epsilon), float(momentum)

    def compute(self, x, scale, bias, mean, variance):
        found = mean, variance
        if self.is_training:
            axes = tuple(i for i in range(x.ndim) if i != 1)
            found = F.reduce_mean(x, axes), F.var(x, axes)
        y = F.batch_norm(x, mean, variance, scale, bias, self.is_training, self.momentum, self.epsilon)
        return y, *found, *found


class Conv2DTranspose(Primitive):
    """(gradient of the result [n, out, rows, columns], filters [out, c / group, kh, kw], shape of the images): the
    gradient of the images of a convolution, [n, c, h, w]. Raises ValueError for another pad_mode, or another order of
    dimensions than "NCHW"."""

    def __init__(
        self,
        out_channel: int,
        kernel_size: int | Sequence[int],
        pad_mode: str = "valid",
        pad: int | Sequence[int] = 0,
        pad_list: Sequence[int] | None = None,
        mode: int = 1,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        group: int = 1,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        F.require_nchw(type(self).__name__, data_format)
        if pad_mode not in ("same", "valid", "pad"):
            raise ValueError(
                f"[{type(self).__name__}] unknown pad_mode, got {pad_mode!r}, expected same, valid or pad"
            )
        self.kernel_size, self.stride, self.dilation = (
            F.pair(type(self).__name__, name, value)
            for name, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation))
        )
        pad = pad if pad_list is None else pad_list
        self.pad_mode, self.pads, self.group = pad_mode, [pad] * 4 if isinstance(pad, int) else list(pad), group

    def compute(self, dout, weight, input_size):
        sizes, before = tuple(input_size)[-2:], (self.pads[0], self.pads[2])
        if self.pad_mode == "valid":
            before = 0, 0
        elif self.pad_mode == "same":
            before = []
            for size, k, step, gap in zip(sizes, self.kernel_size, self.stride, self.dilation):
                before.append(max(0, (-(-size // step) - 1) * step + gap * (k - 1) + 1 - size) // 2)
        return input_gradient(dout, weight, sizes, self.stride, before, self.dilation, self.group)


Conv2DBackpropInput = Conv2DTranspose


class Einsum(Primitive):
    """Einsum(equation)(tensors): sums of products of the tensors in a tuple, whose dimensions an equation names. Shapes
    and errors are those of `ops.einsum`."""

    def __init__(self, equation: str) -> None:
        super().__init__()
        self.equation = equation

    def compute(self, inputs):
        return F.einsum(self.equation, *inputs)


class Elu(Primitive):
    """Elu(alpha)(x): x above 0, else alpha (exp(x) - 1), of each element, in the shape of x; integers become float32.
    Raises TypeError for what holds no numbers."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def compute(self, x):
        return F.elu(x, self.alpha)


class Eye(Primitive):
    """Eye()(rows, columns, element type): a matrix of this shape with 1 on its diagonal. Raises ValueError for a size
    below 0."""

    def __init__(self):
        super().__init__()

    def compute(self, n, m, t):
        return F.eye(n, m, t)


class DType(Primitive):
    """DType()(x): the element type of a tensor of any shape."""

    def __init__(self):
        super().__init__()

    def compute(self, x):
        return x.dtype


class KLDivLoss(Primitive):
    """target * (log(target) - x) of the elements, of one shape, or ("mean", "batchmean", "sum") their mean, their sum
    over the rows, or their sum. Elements whose target is 0 count 0. Raises ValueError for another reduction, or shapes
    that do not broadcast."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("none", "mean", "batchmean", "sum"):
            raise ValueError(
                f"[KLDivLoss] unknown reduction, got {reduction!r}, expected none, mean, batchmean or sum"
            )
        self.reduction = reduction

    def compute(self, logits, labels):
        known = F.greater(labels, 0.0)
        logs = F.log(F.select(known, labels, F.ones_like(labels)))
        losses = F.select(known, F.mul(labels, F.sub(logs, logits)), F.zeros_like(labels))
        if self.reduction == "none":
            return losses
        total = F.reduce_sum(losses)
        count = {"mean": losses.size, "batchmean": losses.shape[0], "sum": 1}[self.reduction]
        return F.mul(total, 1 / count)


class L2Normalize(Primitive):
    """L2Normalize(axis, epsilon)(x): x over the root of the sum of squares along an axis, which is at least that of
    epsilon, in the shape of x. Raises ValueError for an axis that x has not."""

    def __init__(self, axis: int | Sequence[int] = 0, epsilon: float = 1e-4) -> None:
        super().__init__()
        self.axis = axis[0] if isinstance(axis, (tuple, list)) else axis
        self.epsilon = epsilon

    def compute(self, x):
        squares = F.reduce_sum(F.square(x), self.axis, True)
        return F.mul(x, F.rsqrt(F.maximum(squares, self.epsilon)))


class LpNorm(Primitive):
    """LpNorm(axis, p, keep_dims, epsilon)(x): the root of degree p of the sum of |x|^p over dimensions, at least
    epsilon. These dimensions are left out, or with `keep_dims` of size 1. Raises TypeError for a p that is no integer,
    ValueError for one below 1, or an axis that x has not."""

    def __init__(self, axis: int | Sequence[int], p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> None:
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, int):
            raise TypeError(f"[LpNorm] p is not an integer, got {p!r}, expected one from 1")
        if p < 1 or epsilon < 0:
            raise ValueError(f"[LpNorm] bad degree, got p={p} and epsilon={epsilon}, expected p from 1, epsilon from 0")
        self.axis, self.p, self.keep_dims, self.epsilon = axis, p, keep_dims, float(epsilon)

    def compute(self, x):
        axis = tuple(self.axis) if isinstance(self.axis, list) else self.axis
        powers = F.square(x) if self.p == 2 else F.abs(x) if self.p == 1 else F.pow(F.abs(x), self.p)
        total = F.reduce_sum(powers, axis, self.keep_dims)
        if self.epsilon:  # below it there is no gradient
            total = F.maximum(total, max(self.epsilon**self.p, 1e-38))
        return F.sqrt(total) if self.p == 2 else total if self.p == 1 else F.pow(total, 1 / self.p)


class LSTM(Primitive):
    """(x[steps, n, input_size], h, c, weights in one row) gives (states of all steps, last h, last c) and two tensors
    of one element, where the documented system keeps what its gradient needs. Raises ValueError for several layers,
    dropouts and projections."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        has_bias: bool,
        bidirectional: bool,
        dropout: float,
        proj_size: int = 0,
    ) -> None:
        super().__init__()
        if num_layers != 1 or dropout or proj_size:
            raise ValueError(
                f"[LSTM] more than a layer, got num_layers={num_layers}, dropout={dropout} and proj_size={proj_size}, "
                "expected 1, 0 and 0: see nn.LSTM"
            )
        self.input_size, self.hidden_size, self.has_bias = input_size, hidden_size, bool(has_bias)
        self.directions = 2 if bidirectional else 1

    def compute(self, x, h, c, w):
        sizes = self.input_size, self.hidden_size, self.directions, self.has_bias
        made, last = [], []
        for k, weights in enumerate(flat_weights(w, "LSTM", *sizes)):
            y, state = over_steps("LSTM", x, (h[k], c[k]), weights, backwards=k == 1)
            made.append(y)
            last.append(state)
        nothing = F.zeros((1, 1), x.dtype)
        return F.concat(made, -1), *(F.stack(one, 0) for one in zip(*last)), nothing, nothing


class Meshgrid(Primitive):
    """Meshgrid(indexing)(vectors): the coordinates of the points of a grid, from a tuple of those along each of its
    dimensions. Shapes and errors are those of `ops.meshgrid`."""

    def __init__(self, indexing: str = "xy") -> None:
        super().__init__()
        self.indexing = indexing

    def compute(self, inputs):
        return F.meshgrid(*inputs, indexing=self.indexing)


class Pad(Primitive):
    """Pad(paddings)(x): zeros around a tensor: (elements before, elements after) for each dimension, the first one
    first. Raises ValueError unless there is a pair for each dimension."""

    def __init__(self, paddings: Sequence[Sequence[int]]) -> None:
        super().__init__()
        self.paddings = tuple(tuple(one) for one in paddings)

    def compute(self, x):
        if len(self.paddings) != x.ndim:
            raise ValueError(f"[Pad] wrong number of pairs, got {len(self.paddings)}, expected {x.ndim}")
        return F.pad(x, [one for pair in reversed(self.paddings) for one in pair])


class NLLLoss(Primitive):
    """(log-probabilities [n, c], classes [n], weights of the classes [c]) gives (the loss, the sum of the weights that
    count). Raises ValueError for other shapes, IndexError for a known class outside of the classes."""

    def __init__(self, reduction: str = "mean", ignore_index: int = -100) -> None:
        super().__init__()
        self.reduction, self.ignore_index = reduction, ignore_index

    def compute(self, logits, labels, weight):
        losses = F.nll_loss(logits, labels, weight, self.ignore_index, self.reduction)
        counts = F.not_equal(labels, self.ignore_index)
        own = F.gather(weight, F.select(counts, labels, F.zeros_like(labels)), 0)
        return losses, F.reduce_sum(F.mul(own, F.cast(counts, own.dtype)))


class Partial(Primitive):
    """Partial()(function, first arguments): the function of the other arguments, whatever their shapes."""

    def __init__(self):
        super().__init__()

    def compute(self, function, *args, **kwargs):
        return functools.partial(function, *args, **kwargs)

    def __call__(self, *args, **kwargs):
        return self.compute(*args, **kwargs)


class ScalarToTensor(Primitive):
    """ScalarToTensor()(number, element type): the number as a tensor without dimensions, of float32 without a type."""

    def __init__(self):
        super().__init__()

    def compute(self, input_x, dtype=mstype.float32):
        return F.scalar_to_tensor(input_x, dtype)


class ScalarSummary(Primitive):
    """Not there: a call raises NotImplementedError. See train.SummaryRecord."""

    def compute(self, name, value):
        raise NotImplementedError(
            f"[{self.name}] networks record nothing, got a call, expected train.SummaryRecord in a callback"
        )


class TensorSummary(ScalarSummary):
    """Not there: see ScalarSummary."""


class ImageSummary(ScalarSummary):
    """Not there: see ScalarSummary."""


class Sort(Primitive):
    """Sort(axis, descending)(x) gives (elements in rising order along an axis, where they were, as int32), both in the
    shape of x. Raises ValueError for an axis that x has not."""

    def __init__(self, axis: int = -1, descending: bool = False) -> None:
        super().__init__()
        self.axis, self.descending = axis, descending

    def compute(self, x):
        values, places = F.sort(x, self.axis, self.descending)
        return values, places


class SplitWithSize(Primitive):
    """SplitWithSize()(x, sizes, dimension): parts of the sizes along a dimension, in a tuple. Raises ValueError for
    sizes that do not add up, or a dimension that x has not."""

    def __init__(self):
        super().__init__()

    def compute(self, input, split_size, dim=0):
        return F.split(input, list(split_size), dim)


class StandardNormal(Primitive):
    """StandardNormal()(shape): numbers of the standard normal distribution, of a shape, as float32. The seeds have no
    effect: draws follow from `set_seed`. Raises ValueError for sizes below 1."""

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        super().__init__()

    def compute(self, shape):
        return F.standard_normal(shape)


class Tril(Primitive):
    """Tril(diagonal)(x): the elements of matrices, the last two dimensions, on and below a diagonal, and 0 above it.
    Raises ValueError for less than two dimensions."""

    def __init__(self, diagonal: int = 0) -> None:
        super().__init__()
        self.diagonal = diagonal

    def compute(self, x):
        return F.tril(x, self.diagonal)


class UniformReal(Primitive):
    """UniformReal()(shape): numbers from 0 to 1, of a shape, as float32. The seeds have no effect: draws follow from
    `set_seed`. Raises ValueError for sizes below 1."""

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        super().__init__()

    def compute(self, shape):
        return F.rand(*shape)


class Unstack(Primitive):
    """Unstack(axis, num)(x): the slices along a dimension, without it, as a tuple; `num` is their number where it is
    said. Raises ValueError for another number, or an axis that x has not."""

    def __init__(self, axis: int = 0, num: int | None = None) -> None:
        super().__init__()
        self.axis, self.num = axis, num

    def compute(self, x):
        found = F.unbind(x, self.axis)
        if self.num is not None and self.num != len(found):
            raise ValueError(f"[Unstack] wrong number of slices, got {self.num}, expected {len(found)}")
        return found
