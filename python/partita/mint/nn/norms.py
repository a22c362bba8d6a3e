"""Norms as layers, with the parameters `weight` and `bias`."""

import numbers

from partita._trace import count
from partita.common import dtype as mstype
from partita.common._types import DType, Ints
from partita.common.initializer import initializer
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.mint import functions, losses
from partita.nn.cell import Cell
from partita.ops import functional as F


def _parameter(kind, shape, dtype, requires_grad=True):
    return Parameter(initializer(kind, shape, dtype), requires_grad=requires_grad)


class LayerNorm(Cell):
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, which `normalized_shape` names, an
    integer or several. Takes and gives (.., *normalized_shape). Parameters: weight of that shape with
    `elementwise_affine`, and bias with `bias`, too. A call raises ValueError for other last sizes."""

    def __init__(
        self,
        normalized_shape: Ints,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DType | None = None,
    ):
        super().__init__()
        dtype = self._with_masters(mstype.float32 if dtype is None else dtype)
        is_one = isinstance(normalized_shape, numbers.Integral)
        self.normalized_shape = (int(normalized_shape),) if is_one else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = _parameter("ones", self.normalized_shape, dtype) if elementwise_affine else None
        self.bias = _parameter("zeros", self.normalized_shape, dtype) if elementwise_affine and bias else None

    def construct(self, input: Tensor) -> Tensor:
        return functions.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Cell):
    """x[n, c, ..], normalized over each of the groups of its channels, times a weight and plus a bias per channel, in
    the shape of x. Parameters: weight and bias (num_channels); these are not trained without `affine`. Raises
    ValueError for channels that do not divide into the groups."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: DType | None = None
    ):
        super().__init__()
        dtype = self._with_masters(mstype.float32 if dtype is None else dtype)
        if num_channels % num_groups:
            raise ValueError(f"[GroupNorm] bad num_channels, got {num_channels}, expected a multiple of {num_groups}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = _parameter("ones", [num_channels], dtype, bool(affine))
        self.bias = _parameter("zeros", [num_channels], dtype, bool(affine))

    def construct(self, input: Tensor) -> Tensor:
        return losses.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}, affine={self.affine}"


class _BatchNorm(Cell):
    """The parameters: a weight and a bias per channel, and moving statistics, of which a batch takes the share
    `momentum` in a training. `num_batches_tracked` counts the batches of these."""

    ranks = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DType | None = None,
    ):
        super().__init__()
        if momentum is None:
            raise NotImplementedError(
                f"[{type(self).__name__}] a mean over all batches is not supported, got momentum=None, expected a "
                "number"
            )
        dtype = self._with_masters(mstype.float32 if dtype is None else dtype)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats, shape = affine, track_running_stats, [num_features]
        self.weight = _parameter("ones", shape, dtype) if affine else None
        self.bias = _parameter("zeros", shape, dtype) if affine else None
        self.running_mean = _parameter("zeros", shape, dtype, False) if track_running_stats else None
        self.running_var = _parameter("ones", shape, dtype, False) if track_running_stats else None
        count = Parameter(Tensor(0, mstype.int64), requires_grad=False) if track_running_stats else None
        self.num_batches_tracked = count
        for one in (self.running_mean, self.running_var) if track_running_stats else ():
            one.statistic = True

    def construct(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks:
            raise ValueError(
                f"[{type(self).__name__}] wrong number of dimensions, got {input.shape}, expected one of {self.ranks}"
            )
        of_batch = self.training or not self.track_running_stats
        if of_batch and self.track_running_stats:
            count(self.num_batches_tracked)
        x = F.cast(input, mstype.float32) if input.dtype in (mstype.float16, mstype.bfloat16) else input
        statistics, options = (self.running_mean, self.running_var), (of_batch, self.momentum, self.eps)
        return F.cast(losses.batch_norm(x, *statistics, self.weight, self.bias, *options), input.dtype)

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of x[n, c] or x[n, c, w] per channel: by the batch in a training, by moving statistics
    otherwise, in the shape of x. `momentum` is the share of a moving statistic that a batch replaces. Parameters:
    weight and bias (num_features) with `affine`; running_mean, running_var (num_features) and num_batches_tracked,
    which no optimizer updates, with `track_running_stats`. A call raises ValueError for other dimensions or
    channels."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images x[n, c, h, w] per channel, with the options and parameters of `BatchNorm1d`. A call
    raises ValueError for other dimensions or channels."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes x[n, c, d, h, w] per channel, with the options and parameters of `BatchNorm1d`. A
    call raises ValueError for other dimensions or channels."""

    ranks = (5,)


class SyncBatchNorm(Cell):
    """Not there: statistics over the global batch are an option, BatchNorm2d and set_context(batch_norm="global").
    Always raises NotImplementedError."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: str | None = None,
        dtype: DType | None = None,
    ):
        raise NotImplementedError(
            "[SyncBatchNorm] statistics over the global batch are an option of the job, got a layer, "
            'expected BatchNorm2d and set_context(batch_norm="global")'
        )
