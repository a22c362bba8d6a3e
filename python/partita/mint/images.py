"""Windows of lines, images and volumes, other sizes of them, and rows of tables."""

from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common._types import Ints, Number
from partita.common.tensor import Tensor
from partita.mint.convolutions import several
from partita.ops import functional as F
from partita.ops.picked import require_known
from partita.ops.resampling import _sizes as _sizes_of
from partita.ops.resampling import cubic, positions, weighted
from partita.ops.support import as_tensor

__all__ = (
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d avg_pool1d"
    " avg_pool2d avg_pool3d embedding fold grid_sample interpolate max_pool2d max_unpool2d one_hot pad pixel_shuffle"
    " unfold upsample"
).split()


def _of_samples(count, function, *tensors):
    """The result of a function for x[n, c, ..] of `count` dimensions after the first two. Without that of samples, for
    one; it may give several tensors."""
    if tensors[0].ndim != count + 1:
        return function(*tensors)
    made = function(*[F.expand_dims(one, 0) for one in tensors])
    return tuple(F.squeeze(one, 0) for one in made) if isinstance(made, tuple) else F.squeeze(made, 0)


def _sizes(where, x, output_size, count):
    given = [output_size] * count if not isinstance(output_size, (tuple, list)) else list(output_size)
    given = given * count if len(given) == 1 else given
    if len(given) != count:
        raise ValueError(f"[{where}] wrong number of sizes, got {output_size!r}, expected {count}")
    return tuple(n if one is None else int(one) for n, one in zip(x.shape[-count:], given))


def _means(where, count, input, output_size):
    x = as_tensor(input, where)
    sizes = _sizes(where, x, output_size, count)
    return _of_samples(count, lambda rows: F.interpolate(rows, sizes, mode="area"), x)


def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """The means of `output_size` parts of lines: takes (n, c, w) or (c, w), gives (n, c, output_size) or (c,
    output_size). Parts overlap where their number does not divide the size."""
    return _means("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of (rows, columns) parts: takes (n, c, h, w) or (c, h, w), gives as many channels of `output_size`;
    None is the size of the image. Parts overlap where their number does not divide the size. Raises ValueError for
    another number of sizes."""
    return _means("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of parts of volumes x[n, c, d, h, w]."""
    return _means("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d(
    input: Tensor, output_size: Ints, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of as many parts of lines x[n, c, w], and where they stand."""
    x = F.expand_dims(as_tensor(input), -2)
    sizes = (1, *_sizes("adaptive_max_pool1d", x, output_size, 1))
    made = adaptive_max_pool2d(x, sizes, return_indices)
    return tuple(F.squeeze(one, -2) for one in made) if return_indices else F.squeeze(made, -2)


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest elements of (rows, columns) parts of x[n, c, h, w], and their places in the image."""
    x = as_tensor(input)
    sizes = _sizes("adaptive_max_pool2d", x, output_size, 2)
    return _of_samples(2, lambda rows: F.adaptive_max_pool2d(rows, sizes, return_indices), x)


def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of lines x[n, c, w]; windows stand `stride`, else their size, apart."""
    (kernel,) = several("avg_pool1d", "kernel_size", kernel_size, 1)
    step = kernel if stride is None else stride
    options = kernel, step, padding, ceil_mode, count_include_pad
    return _of_samples(1, lambda rows: F.avg_pool1d(rows, *options), as_tensor(input))


def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum over `divisor_override`: takes (n, c, h, w) or (c, h, w), gives as many
    channels of h' rows and w' columns. Windows stand `stride`, else their size, apart. Raises ValueError for a window
    beyond the image."""
    options = kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad
    return _of_samples(2, lambda rows: F.avg_pool2d(rows, *options, divisor_override or 0), as_tensor(input))


def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of x[n, c, d, h, w], or its sum over `divisor_override`."""
    options = kernel_size, kernel_size if stride is None else stride, padding, ceil_mode, count_include_pad
    return _of_samples(3, lambda rows: F.avg_pool3d(rows, *options, divisor_override or 0), as_tensor(input))


def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window: takes (n, c, h, w) or (c, h, w), gives as many channels of h' rows and w'
    columns, with `return_indices` also the int64 places in their channel. Windows stand `stride`, else their size,
    apart. Raises ValueError for a window beyond the image."""
    options = kernel_size, stride, padding, dilation, return_indices, ceil_mode
    return _of_samples(2, lambda rows: F.max_pool2d(rows, *options), as_tensor(input))


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Ints | None = None,
) -> Tensor:
    """Images of zeros with the elements of x[n, c, h, w] at the places that `max_pool2d` gave with them."""

    def unpooled(rows, places):
        return F.max_unpool2d(rows, places, kernel_size, stride, padding, output_size)

    return _of_samples(2, unpooled, as_tensor(input), as_tensor(indices))


def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """The elements of each window of x[n, c, h, w], as columns: [n, c kh kw, windows]. Raises ValueError for sizes
    below 1, and for a window beyond the image."""
    return _of_samples(2, lambda rows: F.unfold(rows, kernel_size, dilation, padding, stride), as_tensor(input))


def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """The sums of the windows that are columns of x[n, c kh kw, windows]: images [n, c, *output_size]. Raises
    ValueError for another number of columns."""
    options = several("fold", "output_size", output_size, 2), kernel_size, dilation, padding, stride
    return _of_samples(1, lambda rows: F.fold(rows, *options), as_tensor(input))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[.., c r r, h, w] as images r times as high and wide: [.., c, h r, w r]. Raises ValueError for channels that r r
    does not divide."""
    *lead, channels, height, width = input.shape
    r = int(upscale_factor)
    if channels % (r * r):
        raise ValueError(f"[pixel_shuffle] bad number of channels, got {channels}, expected a multiple of {r * r}")
    rows, count = F.reshape(input, [*lead, channels // (r * r), r, r, height, width]), len(lead)
    order = [*range(count + 1), count + 3, count + 1, count + 4, count + 2]
    return F.reshape(F.transpose(rows, order), [*lead, channels // (r * r), height * r, width * r])


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Number | None = None) -> Tensor:
    """More elements around the last dimensions: `pad` has the numbers before and after each of them, the last one
    first. They are `value`, else 0, or ("reflect", "replicate", "circular") those that mirror, repeat or go round. A
    size of n becomes before + n + after. Raises ValueError for an odd number of numbers, an unknown mode, and too few
    elements to mirror."""
    return F.pad(input, pad, mode, value if mode == "constant" else None)


def interpolate(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Lines, images or volumes x[n, c, ..] of another size, `size` or `scale_factor` times theirs: of the nearest
    elements, or of those between which an element is ("linear" of lines, "bilinear" and "bicubic" of images,
    "trilinear" of volumes). Gives (n, c, *size). Raises ValueError unless one of both is given, and for other
    dimensions than the mode has."""
    x = as_tensor(input, "interpolate")
    if mode != "bicubic":
        return F.interpolate(x, size, scale_factor, mode, align_corners, recompute_scale_factor)
    if x.ndim != 4:
        raise ValueError(f"[interpolate] wrong number of dimensions, got {x.shape} with bicubic, expected 4")
    wanted, factors = _sizes_of(x, size, scale_factor)
    for axis, (n, factor) in enumerate(zip(wanted, factors), 2):
        factor = None if recompute_scale_factor else factor
        x = weighted(x, axis, _cubic_weights(x.shape[axis], n, factor, bool(align_corners)))
    return x


def _cubic_weights(size, wanted, factor, align_corners):
    """The weights of the elements of a line in each of the wanted ones, by Keys' kernel of slope -3/4; elements at the
    edges stand for those beyond."""
    at = positions(size, wanted, factor, align_corners)
    low, rows, made = np.floor(at), np.arange(wanted), np.zeros((wanted, size))
    for k in range(-1, 3):
        place = np.clip(low + k, 0, size - 1).astype(np.int64)
        np.add.at(made, (rows, place), cubic(np.abs(at - low - k), -0.75))
    return made


def upsample(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The images in another size, as `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The elements of x[n, c, h, w] at places grid[n, rows, columns, 2] from -1 to 1, (column, row): [n, c, rows,
    columns]. Raises ValueError for shapes that do not fit and for an unknown mode."""
    return F.grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each number along a new last dimension, else 0, as int64: (..) gives (.., num_classes). Without the number
    of classes it is one more than the largest number, which a program that is compiled once does not know."""
    ids = as_tensor(tensor, "one_hot")
    if num_classes == -1:
        require_known("one_hot", ids)
        num_classes = int(ids.asnumpy().max()) + 1
    return F.one_hot(ids, num_classes, Tensor(1, mstype.int64), Tensor(0, mstype.int64))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of a table by their numbers: integers (..) and a table (rows, width) give (.., width). The row `padding_idx`
    gets no gradient. Raises IndexError for numbers outside, NotImplementedError for `max_norm` and
    `scale_grad_by_freq`."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            f"[embedding] rows are not rescaled, got max_norm={max_norm} and scale_grad_by_freq={scale_grad_by_freq}, "
            "expected None and False: see ops.clip_by_norm"
        )
    rows = F.gather(weight, input, 0)
    if padding_idx is None:
        return rows
    index = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
    free = F.broadcast_to(F.expand_dims(F.equal(input, index), -1), rows.shape)
    return F.select(free, F.stop_gradient(rows), rows)
