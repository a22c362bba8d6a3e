"""Layers, with the defaults of the documented system. A layer of a 16-bit type computes products in it, from parameters
that stay float32."""

from math import sqrt
import numbers
from collections.abc import Callable, Sequence

from partita.common import dtype as mstype
from partita.common._types import DType, Init, Ints
from partita.common.initializer import HeUniform, Uniform, initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.nn.convolution_parts import (
    biases,
    filters,
    require_channels,
    require_padding,
    require_sizes,
)
from partita.nn.layer_primitives import LayerPrimitive, call_in, strategy_of
from partita.nn.usual_activations import get_activation
from partita.ops import functional as F
from partita.ops import primitives as P


def _weight(init, shape, dtype, fallback):
    return Parameter(initializer(fallback if init is None else init, shape, dtype))


def _positive(where, what, value):
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"[{where}] {what} is not an integer, got {value!r}, expected one from 1")
    if value < 1:
        raise ValueError(f"[{where}] bad {what}, got {value}, expected an integer from 1")
    return int(value)


class Dense(Cell):
    """A layer of x weight^T + bias, after which an activation may follow. Takes (.., in_channels), gives (..,
    out_channels). Parameters: weight (out_channels, in_channels) and, with `has_bias`, bias (out_channels), which begin
    uniform in +-1 / sqrt(in_channels) unless initializers, their names, numbers or tensors of these shapes are given.
    `activation` is a Cell, a function, or a name such as "relu". Raises TypeError for channels that are no integers,
    ValueError for those below 1 and for an input of another last size, KeyError for an unknown activation.

    >>> layer = nn.Dense(2, 3, weight_init="ones", bias_init="zeros")
    >>> layer(ms.Tensor([[1.0, 2.0]])).asnumpy().tolist()
    [[3.0, 3.0, 3.0]]
    """

    matmul, bias_add = LayerPrimitive(lambda self: P.MatMul(transpose_b=True)), LayerPrimitive(lambda self: P.BiasAdd())

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        has_bias: bool = True,
        activation: str | Cell | Callable | None = None,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        self.in_channels = _positive("Dense", "in_channels", in_channels)
        self.out_channels = _positive("Dense", "out_channels", out_channels)
        self.has_bias = bool(has_bias)
        self.weight = _weight(weight_init, [out_channels, in_channels], dtype, HeUniform(sqrt(5)))
        self.bias = None
        if self.has_bias:
            self.bias = _weight(bias_init, [out_channels], dtype, Uniform(1 / sqrt(in_channels)))
        self.activation = get_activation(activation)

    def construct(self, x: Tensor) -> Tensor:
        shape = x.shape
        if len(shape) == 1:
            return F.reshape(self.construct(F.reshape(x, [1, -1])), [self.out_channels])
        if len(shape) > 2 and (strategy_of(self, "matmul") or strategy_of(self, "bias_add")):
            x = F.reshape(x, [-1, shape[-1]])  # strategies are of matrices
        y = call_in(self, "matmul", _product, x, self.weight)
        if self.has_bias:
            y = call_in(self, "bias_add", _biased, y, self.bias)
        if len(shape) > 2 and y.ndim < len(shape):
            y = F.reshape(y, [*shape[:-1], self.out_channels])
        return y if self.activation is None else self.activation(y)


class Linear(Dense):
    """`Dense` by the names and defaults of other libraries: without an activation. Takes (.., in_features), gives (..,
    out_features). Parameters: weight (out_features, in_features) and, with `bias`, bias (out_features). Raises
    ValueError for features below 1."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        dtype: DType | None = None,
    ):
        super().__init__(
            in_features, out_features, weight_init, bias_init, bias, None, mstype.float32 if dtype is None else dtype
        )
        self.in_features, self.out_features = self.in_channels, self.out_channels


def _product(x, weight):
    return F.run(lambda trace, a, w: F.F.matmul(a, w, False, True), x, weight)


def _biased(x, bias):
    axis = len(x.shape) - 1
    return F.run(lambda trace, a, b: _apply(trace, "bias_add", [a, b], axis=axis)[0], x, bias)


def _primitive_of(layer):
    """The primitive of a convolution, which subclasses also call."""
    options = layer.stride, layer.dilation, layer.group
    return P.Conv2D(layer.out_channels, layer.kernel_size, 1, layer.pad_mode, layer.padding, *options)


class Conv2d(Cell):
    """Convolution of images. Takes (n, in_channels, h, w), gives (n, out_channels, h', w'). With `pad_mode` "same"
    zeros around the image keep the size over the stride, rounded up; "valid" adds none; "pad" adds `padding` rows and
    columns on each side, or (top, bottom, left, right) of them. Windows of `kernel_size`, an integer or (rows,
    columns), move by `stride`; their elements stand `dilation` apart. Channels are convolved in `group` groups.
    Parameters: weight (out_channels, in_channels / group, rows, columns), and bias (out_channels) with `has_bias`.
    Raises ValueError for sizes below 1, channels that do not divide into groups, a padding without "pad" and inputs of
    another shape, TypeError for sizes that are no integers.

    >>> layer = nn.Conv2d(1, 2, 3, pad_mode="valid", weight_init="ones")
    >>> layer(ops.ones((1, 1, 4, 4))).asnumpy().tolist()
    [[[[9.0, 9.0], [9.0, 9.0]], [[9.0, 9.0], [9.0, 9.0]]]]
    """

    conv2d = LayerPrimitive(lambda self: _primitive_of(self))
    bias_add = LayerPrimitive(lambda self: P.BiasAdd())

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        pad_mode: str = "same",
        padding: Ints = 0,
        dilation: Ints = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Init | None = None,
        bias_init: Init | None = None,
        data_format: str = "NCHW",
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        F.require_nchw("Conv2d", data_format)
        self.in_channels = _positive("Conv2d", "in_channels", in_channels)
        self.out_channels = _positive("Conv2d", "out_channels", out_channels)
        self.group = _positive("Conv2d", "group", group)
        require_channels("Conv2d", in_channels, out_channels, group, pad_mode, padding)
        self.kernel_size = tuple(F.pair("Conv2d", "kernel_size", kernel_size))
        self.stride = tuple(F.pair("Conv2d", "stride", stride))
        self.dilation = tuple(F.pair("Conv2d", "dilation", dilation))
        require_sizes("Conv2d", kernel_size=self.kernel_size, stride=self.stride, dilation=self.dilation)
        self.pad_mode, self.padding, self.has_bias = pad_mode, padding, bool(has_bias)
        shape = [out_channels, in_channels // group, *self.kernel_size]
        self.weight = filters(weight_init, shape, dtype)
        self.bias = biases(bias_init, out_channels, shape, dtype) if self.has_bias else None

    def construct(self, x: Tensor) -> Tensor:
        y = call_in(self, "conv2d", self._convolved, x, self.weight)
        return call_in(self, "bias_add", F.bias_add, y, self.bias) if self.has_bias else y

    def _convolved(self, x, weight):
        return F.conv2d(x, weight, None, self.stride, self.pad_mode, self.padding, self.dilation, self.group)


class _Pool2d(Cell):
    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints,
        pad_mode: str,
        padding: Ints,
        data_format: str,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        super().__init__()
        where = type(self).__name__
        F.require_nchw(where, data_format)
        require_padding(where, pad_mode, padding)
        if pad_mode != "pad" and (return_indices or F.pair(where, "dilation", dilation) != [1, 1]):
            raise ValueError(
                f"[{where}] options of pad_mode='pad', got dilation={dilation!r} and return_indices={return_indices} "
                f"with {pad_mode!r}, expected defaults"
            )
        self.kernel_size, self.stride, self.pad_mode, self.padding = kernel_size, stride, pad_mode, padding
        self.dilation, self.return_indices, self.ceil_mode = dilation, bool(return_indices), bool(ceil_mode)
        require_sizes(where, kernel_size=kernel_size, stride=stride, dilation=dilation)

    def construct(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        if x.ndim != 3:
            return self._of_images(x)
        made = self._of_images(F.expand_dims(x, 0))
        return tuple(F.squeeze(one, 0) for one in made) if isinstance(made, tuple) else F.squeeze(made, 0)


class MaxPool2d(_Pool2d):
    """The largest element of each window. Takes (n, c, h, w) or (c, h, w), gives as many channels of h' rows and w'
    columns: with "valid" of the windows that fit, with "same" h and w over the stride, rounded up. With `pad_mode`
    "pad" there may be `padding`, a `dilation` and `return_indices`, which also gives the int64 places of the elements
    in their channel. Raises ValueError for sizes below 1, for options that only "pad" has, and for a window beyond the
    image.

    >>> nn.MaxPool2d(2, 2)(ops.arange(16).reshape(1, 1, 4, 4).float()).asnumpy().tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    max_pool = LayerPrimitive(lambda self: P.MaxPool(self.kernel_size, self.stride, self.pad_mode))

    def __init__(
        self,
        kernel_size: Ints = 1,
        stride: Ints = 1,
        pad_mode: str = "valid",
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, data_format, dilation, return_indices, ceil_mode)

    def _of_images(self, x):
        return call_in(self, "max_pool", self._pooled, x)

    def _pooled(self, x):
        windows = self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices, self.ceil_mode
        return F.max_pool2d(x, *windows, pad_mode=self.pad_mode)


class AvgPool2d(_Pool2d):
    """The mean of each window; with "same", of its elements that are in the image. Takes (n, c, h, w) or (c, h, w),
    gives as many channels of h' rows and w' columns, by the rules of `MaxPool2d`. `count_include_pad` says whether
    zeros of a `padding` count, `divisor_override` divides in place of the number of elements. Raises ValueError for
    sizes below 1, a padding without `pad_mode` "pad", and a window beyond the image."""

    avg_pool = LayerPrimitive(lambda self: P.AvgPool(self.kernel_size, self.stride, self.pad_mode))

    def __init__(
        self,
        kernel_size: Ints = 1,
        stride: Ints = 1,
        pad_mode: str = "valid",
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ):
        super().__init__(kernel_size, stride, pad_mode, padding, data_format, ceil_mode=ceil_mode)
        self.divisor_override = divisor_override or 0
        self.count_include_pad = bool(count_include_pad) and pad_mode != "same"

    def _of_images(self, x):
        return call_in(self, "avg_pool", self._pooled, x)

    def _pooled(self, x):
        options = self.ceil_mode, self.count_include_pad, self.divisor_override
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding, *options, pad_mode=self.pad_mode)


class AdaptiveAvgPool2d(Cell):
    """Means over parts of height and width: x[.., h, w] becomes x[.., *output_size]. An integer is both sizes, None
    keeps a size. Parts of a size that is not divisible overlap by an element. A call raises ValueError for sizes below
    1, and for more than two."""

    def __init__(self, output_size: int | Sequence[int | None]):
        super().__init__()
        self.output_size = output_size

    def construct(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self.output_size)


class Flatten(Cell):
    """The dimensions from `start_dim` to `end_dim` as one: x[n, a, b, ..] becomes x[n, a b ..] by default. A call
    raises ValueError for dimensions that the tensor has not, and for a last one before the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        for name, axis in (("start_dim", self.start_dim), ("end_dim", self.end_dim)):
            if not -x.ndim <= axis < x.ndim:
                raise ValueError(f"[Flatten] {name} is outside the tensor, got {axis} of {x.shape}, expected less")
        return F.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Dropout(Cell):
    """In a training, sets elements to 0 with probability p and divides the others by 1 - p; otherwise gives x itself.
    The result has the shape of x. `keep_prob` is 1 - p where `p` is not given. Raises ValueError for probabilities
    outside of 0 <= p < 1, TypeError for a `dtype` that is no type of floats.

    >>> layer = nn.Dropout(p=0.5)
    >>> layer.set_train(False)(ms.Tensor([1.0, 2.0])).asnumpy().tolist()
    [1.0, 2.0]
    """

    dropout = LayerPrimitive(lambda self: P.Dropout(1.0 - self.p))

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = mstype.float32):
        super().__init__()
        self._float_type(dtype)
        self.keep_prob, self._has_p = keep_prob, p is not None
        self.p = 1.0 - keep_prob if p is None else p
        if not 0 <= self.p < 1:
            raise ValueError(f"[Dropout] probability out of range, got {self.p}, expected 0 <= p < 1")

    def construct(self, x: Tensor) -> Tensor:
        return x if self.p == 0 else call_in(self, "dropout", F.dropout, x, self.p, self.training)


def _without_row(table, row):
    """The table with zeros in a row."""
    if not isinstance(row, numbers.Integral) or not 0 <= row < table.shape[0]:
        last = table.shape[0] - 1
        raise ValueError(f"[Embedding] bad padding_idx, got {row!r}, expected an integer from 0 to {last}")
    values = table.init_data().asnumpy().copy()
    values[row] = 0
    return Tensor(values)


class Embedding(Cell):
    """Looks up rows of a table by their ids. Takes int32 or int64 ids of any shape (..), gives (.., embedding_size).
    Parameter: embedding_table (vocab_size, embedding_size), normal numbers by default. The row `padding_idx` begins as
    zeros. Raises IndexError for ids outside of the table, which with `use_one_hot` give zeros, TypeError for ids that
    are no integers, ValueError for a padding_idx that is no row.

    >>> table = nn.Embedding(4, 2, embedding_table="ones")
    >>> table(ms.Tensor([[0, 3]])).shape
    (1, 2, 2)
    """

    gather, one_hot = LayerPrimitive(lambda self: P.Gather()), LayerPrimitive(lambda self: P.OneHot())
    array_mul = LayerPrimitive(lambda self: P.MatMul())

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Init = "normal",
        dtype: DType = mstype.float32,
        padding_idx: int | None = None,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        table = initializer(embedding_table, [vocab_size, embedding_size], dtype)
        if padding_idx is not None:
            table = _without_row(table, padding_idx)
        self.use_one_hot, self.padding_idx = use_one_hot, padding_idx
        self.embedding_table = Parameter(table)

    def construct(self, ids: Tensor) -> Tensor:
        if self.use_one_hot:
            rows, width = self.embedding_table.shape
            flat = call_in(self, "one_hot", F.one_hot, F.reshape(ids, [-1]), rows, 1.0, 0.0)
            return F.reshape(call_in(self, "array_mul", F.matmul, flat, self.embedding_table), [*ids.shape, width])
        if strategy_of(self, "gather") and ids.ndim > 1:  # strategies are of the ids in one dimension
            rows = self.gather(self.embedding_table, F.reshape(ids, [-1]), 0)
            return F.reshape(rows, [*ids.shape, rows.shape[-1]])
        return call_in(self, "gather", F.gather, self.embedding_table, ids, 0)


class LayerNorm(Cell):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta over the last dimensions. Takes and gives (..,
    *normalized_shape); `begin_norm_axis` and `begin_params_axis` say where that shape begins. Parameters: gamma and
    beta, both of normalized_shape. Raises TypeError for a shape that is no tuple or list; a call raises ValueError for
    other last sizes, and for axes that are not where the shape begins.

    >>> layer = nn.LayerNorm([2])
    >>> layer(ms.Tensor([[1.0, 3.0]])).asnumpy().round(3).tolist()
    [[-1.0, 1.0]]
    """

    layer_norm = LayerPrimitive(lambda self: P.LayerNorm(self.begin_norm_axis, self.begin_params_axis, self.epsilon))

    def __init__(
        self,
        normalized_shape: Sequence[int],
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        epsilon: float = 1e-7,
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        if not isinstance(normalized_shape, (tuple, list)):
            raise TypeError(
                f"[LayerNorm] the shape is not a tuple, got {type(normalized_shape).__name__}, expected one"
            )
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis, self.begin_params_axis, self.epsilon = begin_norm_axis, begin_params_axis, epsilon
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype))
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype))

    def construct(self, x: Tensor) -> Tensor:
        count = len(self.normalized_shape)
        for axis in (self.begin_norm_axis, self.begin_params_axis):
            if axis not in (-count, x.ndim - count):
                raise ValueError(f"[LayerNorm] the axis is not where the shape begins, got {axis}, expected {-count}")
        return call_in(self, "layer_norm", self._normalized, x, self.gamma, self.beta)

    def _normalized(self, x, gamma, beta):
        return F.layer_norm(x, self.normalized_shape, gamma, beta, self.epsilon)


class _BatchNorm(Cell):
    bn_train = LayerPrimitive(lambda self: P._BatchNorm("BatchNorm"))
    bn_infer = LayerPrimitive(lambda self: P._BatchNorm("BatchNorm"))

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Init = "ones",
        beta_init: Init = "zeros",
        moving_mean_init: Init = "zeros",
        moving_var_init: Init = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: DType = mstype.float32,
    ):
        super().__init__()
        dtype = self._with_masters(dtype)
        where = type(self).__name__
        F.require_nchw(where, data_format)
        self.num_features = _positive(where, "num_features", num_features)
        if not 0 <= momentum <= 1:
            raise ValueError(f"[{where}] momentum out of range, got {momentum}, expected 0 to 1")
        self.eps, self.momentum, self.use_batch_statistics = eps, momentum, use_batch_statistics
        self.moving_mean = Parameter(initializer(moving_mean_init, [num_features], dtype), requires_grad=False)
        self.moving_variance = Parameter(initializer(moving_var_init, [num_features], dtype), requires_grad=False)
        self.moving_mean.statistic = self.moving_variance.statistic = True
        self.gamma = Parameter(initializer(gamma_init, [num_features], dtype), requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_features], dtype), requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in self._ranks:
            wanted = " or ".join(map(str, self._ranks))
            raise ValueError(f"[{type(self).__name__}] wrong number of dimensions, got {x.shape}, expected {wanted}")
        if x.ndim == 3:  # lines as images of one row
            return F.squeeze(self._of_channels(F.expand_dims(x, 2)), 2)
        return self._of_channels(x)

    def _of_channels(self, x):
        if x.dtype != self.gamma.dtype:  # an input of 16 bits
            return F.cast(self._of_channels(F.cast(x, self.gamma.dtype)), x.dtype)
        of_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        statistics = self.moving_mean, self.moving_variance

        def call(name, function, *inputs):
            return call_in(self, name, function, *inputs)

        return F.normalized(x, self.gamma, self.beta, *statistics, of_batch, self.eps, self.momentum, call)


def _apply(trace, op, operands, **attrs):
    return F.F.apply(trace, op, operands, F.attributes(**attrs))


class BatchNorm2d(_BatchNorm):
    """Batch normalization of x[n, c, h, w] per channel: by the batch in a training, by moving statistics otherwise,
    unless `use_batch_statistics` says which. Gives the shape that it takes. `momentum` is the share of a moving
    statistic that a step keeps, `eps` is added to variances. Parameters: gamma and beta (num_features), trained with
    `affine`; moving_mean and moving_variance (num_features), which no optimizer updates. Raises ValueError for a
    momentum outside of 0 to 1, and for inputs of other dimensions or channels.

    >>> layer = nn.BatchNorm2d(2).set_train(False)
    >>> layer(ops.ones((1, 2, 1, 1))).asnumpy().round(3).tolist()
    [[[[1.0]], [[1.0]]]]
    """

    _ranks = (4,)


class BatchNorm1d(_BatchNorm):
    """Batch normalization of x[n, c] or x[n, c, w] per channel, with the parameters of `BatchNorm2d`: gamma, beta,
    moving_mean and moving_variance (num_features). Raises ValueError for inputs of other dimensions or channels."""

    _ranks = (2, 3)


class SyncBatchNorm(_BatchNorm):
    """Not there: statistics over the global batch are an option, BatchNorm2d and set_context(batch_norm="global").
    Always raises NotImplementedError."""

    _ranks = (4,)

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "[SyncBatchNorm] statistics over the global batch are an option of the job, got a layer, "
            'expected BatchNorm2d and set_context(batch_norm="global")'
        )


class Identity(Cell):
    """Returns what it is called with, of any shape or kind."""

    def __init__(self):
        super().__init__()

    def construct(self, x: Tensor) -> Tensor:
        return x
