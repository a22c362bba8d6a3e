"""Ops of images as objects: other sizes, windows as columns, channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.made import op
from partita.ops.pool_primitives import _known
from partita.ops.patches import windows
from partita.ops.resampling import cubic_weights, linear_weights, nearest_places, weighted
from partita.ops.shapes import slices_at
from partita.ops.pool_windows import several

__all__ = (
    "AffineGrid ChannelShuffle Col2Im Dropout2D Dropout3D ExtractImagePatches GridSampler2D GridSampler3D"
    " Im2Col LRN ResizeArea ResizeBicubic ResizeBilinearV2 ResizeLinear1D ResizeNearestNeighbor"
    " ResizeNearestNeighborV2 UpsampleNearest3D UpsampleTrilinear3D"
).split()


@op
def AffineGrid(align_corners=False):
    """(theta, size) gives places of elements: see `affine_grid`."""
    return lambda theta, output_size: F.affine_grid(theta, _known(output_size), align_corners)


@op
def ChannelShuffle(group):
    """The channels of groups one after the other: see `channel_shuffle`."""
    return lambda x: F.channel_shuffle(x, group)


@op
def Col2Im(kernel_size, dilation=1, padding=0, stride=1):
    """(columns of windows, size) gives images: see `col2im`."""
    return lambda x, output_size: F.col2im(x, output_size, kernel_size, dilation, padding, stride)


@op
def Im2Col(ksizes, strides=1, dilations=1, pads=0):
    """The elements of each window of x[n, c, h, w] as columns, [n, c, kh * kw, windows]."""

    def call(x):
        found = F.unfold(x, _single(ksizes), _single(dilations), _single(pads), _single(strides))
        return F.reshape(found, [*x.shape[:2], found.shape[1] // x.shape[1], found.shape[2]])

    return call


def _single(value):
    """The number in a list of one."""
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value


@op
def ExtractImagePatches(ksizes, strides, rates, padding="VALID"):
    """The elements of each window of x[n, c, h, w] as channels, [n, kh * kw * c, rows, columns]: see `nn.Unfold`."""
    kernel, steps, gaps = (
        several("ExtractImagePatches", "sizes", one[2:] if len(one) == 4 else one, 2)
        for one in (ksizes, strides, rates)
    )

    def call(input_x):
        x = input_x
        if str(padding).lower() == "same":
            top, left, bottom, right = F.same_pads(x.shape, kernel, steps, gaps)
            x = F.pad(x, (left, right, top, bottom))
        parts = windows("ExtractImagePatches", x, kernel, steps, gaps)  # [n, c, kh, kw, rows, columns]
        n, c, h, w, rows, columns = parts.shape
        return F.reshape(F.transpose(parts, (0, 2, 3, 1, 4, 5)), [n, h * w * c, rows, columns])

    return call


def _dropped(function, keep_prob):
    def call(x):
        factors = function(F.ones_like(x), 1.0 - keep_prob, True)
        return F.mul(x, factors), F.not_equal(factors, 0.0)

    return call


@op
def Dropout2D(keep_prob=0.5):
    """(x[n, c, h, w] with zeros in whole channels, which elements were kept)."""
    return _dropped(F.dropout2d, keep_prob)


@op
def Dropout3D(keep_prob=0.5):
    """(x[n, c, d, h, w] with zeros in whole channels, which elements were kept)."""
    return _dropped(F.dropout3d, keep_prob)


@op
def GridSampler2D(interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """(x[n, c, h, w], grid) gives x at the places of the grid: see `grid_sample`."""
    return lambda x, grid: F.grid_sample(x, grid, interpolation_mode, padding_mode, align_corners)


@op
def GridSampler3D(interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """(x[n, c, d, h, w], grid) gives x at the places of the grid: see `grid_sample`."""
    return lambda x, grid: F.grid_sample(x, grid, interpolation_mode, padding_mode, align_corners)


@op
def LRN(depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
    """x over a power of the squares of near channels: see `lrn`."""
    return lambda x: F.lrn(x, depth_radius, bias, alpha, beta, norm_region)


def _resized(where, align_corners, half_pixel_centers, resize):
    """The function of (images, size) that resizes rows and columns by `resize(x, axis, size, wanted)`."""
    if align_corners and half_pixel_centers:
        raise ValueError(f"[{where}] two ways at once, got align_corners and half_pixel_centers, expected one")

    def call(image, size):
        wanted = several(where, "size", _known(size), 2)
        if image.ndim != 4:
            raise ValueError(f"[{where}] wrong number of dimensions, got {image.shape}, expected 4")
        for axis, one in enumerate(wanted, 2):
            image = resize(image, axis, image.shape[axis], one)
        return image

    return call


@op
def ResizeBilinearV2(align_corners=False, half_pixel_centers=False):
    """(images x[n, c, h, w], size) gives images of this size, between the elements next to each place."""
    return _resized(
        "ResizeBilinearV2",
        align_corners,
        half_pixel_centers,
        lambda x, axis, own, wanted: weighted(
            x, axis, linear_weights(own, wanted, None, align_corners, half_pixel_centers)
        ),
    )


@op
def ResizeBicubic(align_corners=False, half_pixel_centers=False):
    """(images x[n, c, h, w], size) gives images of this size, of the sixteen elements around each place."""
    return _resized(
        "ResizeBicubic",
        align_corners,
        half_pixel_centers,
        lambda x, axis, own, wanted: weighted(
            x, axis, cubic_weights(own, wanted, None, align_corners, half_pixel_centers)
        ),
    )


def _nearest(align_corners, half_pixel_centers):
    def resize(x, axis, own, wanted):
        if align_corners:
            scale = np.float32((own - 1) / (wanted - 1)) if wanted > 1 else np.float32(own / wanted)
            places = np.floor(np.arange(wanted, dtype=np.float32) * scale + np.float32(0.5)).astype(np.int64)
        else:
            places = nearest_places(own, wanted, None, half_pixel_centers)
        return slices_at(x, Tensor(np.minimum(places, own - 1).astype(np.int32)), axis)

    return resize


@op
def ResizeNearestNeighborV2(align_corners=False, half_pixel_centers=False):
    """(images x[n, c, h, w], size) gives images of this size, of the nearest elements."""
    resize = _nearest(align_corners, half_pixel_centers)
    return _resized("ResizeNearestNeighborV2", align_corners, half_pixel_centers, resize)


@op
def ResizeNearestNeighbor(size: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False):
    """ResizeNearestNeighbor(size)(x): images x[n, c, h, w] of another size, (rows, columns), of the nearest elements.
    With `align_corners` the corners of both are the same, with `half_pixel_centers` the middles. Raises ValueError for
    both of them, or other shapes."""
    resize = _nearest(align_corners, half_pixel_centers)
    call = _resized("ResizeNearestNeighbor", align_corners, half_pixel_centers, resize)
    return lambda input_x: call(input_x, size)


@op
def ResizeLinear1D(coordinate_transformation_mode="align_corners"):
    """(lines x[n, c, w], size) gives lines of this size, between the elements next to each place."""
    mode = coordinate_transformation_mode
    if mode not in ("align_corners", "half_pixel"):
        raise ValueError(f"[ResizeLinear1D] unknown mode, got {mode!r}, expected align_corners or half_pixel")

    def call(x, size):
        (wanted,) = several("ResizeLinear1D", "size", _known(size), 1)
        return weighted(x, 2, linear_weights(x.shape[2], wanted, None, mode == "align_corners"))

    return call


def _shares(size, wanted, align_corners):
    """The weights of the means of equal parts, of which elements at the edges count by their share."""
    scale = (size - 1) / (wanted - 1) if align_corners and wanted > 1 else size / wanted
    made = np.zeros((wanted, size))
    if scale == 0:  # corners of one element
        made[:, 0] = 1
        return made
    for i in range(wanted):
        begin, end = i * scale, (i + 1) * scale
        for k in range(int(begin), int(np.ceil(end))):
            share = min(end, k + 1) - max(begin, k)
            made[i, min(k, size - 1)] += share / scale
    return made


@op
def ResizeArea(align_corners=False):
    """(images x[n, h, w, c], size) gives float32 images of this size, of the means of equal parts."""

    def call(images, size):
        wanted = several("ResizeArea", "size", _known(size), 2)
        x = F.cast(images, mstype.float32)
        for axis, one in enumerate(wanted, 1):
            x = weighted(x, axis, _shares(x.shape[axis], one, align_corners))
        return x

    return call


def _volume(mode, align_corners=None):
    def call(x, output_size=None, scales=None):
        size = None if output_size is None else _known(output_size)
        factors = None if scales is None else tuple(float(one) for one in scales)
        return F.interpolate(x, size, factors, mode, align_corners)

    return call


@op
def UpsampleNearest3D():
    """(volumes x[n, c, d, h, w], sizes, or how often they are larger) gives volumes of the nearest elements."""
    return _volume("nearest")


@op
def UpsampleTrilinear3D(align_corners=False):
    """(volumes x[n, c, d, h, w], sizes, or how often they are larger) gives volumes between the elements next to each
    place."""
    return _volume("trilinear", align_corners)
