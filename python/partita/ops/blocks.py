"""Blocks of an image as channels or as images of a batch, and back."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from partita.common.tensor import Tensor
from partita.ops.creation import full
from partita.ops.pads import pad
from partita.ops.shapes import concat, gather, reshape, sliced, transpose
from partita.ops.support import as_tensor

__all__ = "batch_to_space_nd mirror_pad padding space_to_batch_nd".split()


def _sizes(where, blocks, pairs):
    pairs = [tuple(int(n) for n in pair) for pair in pairs]
    blocks = [int(blocks)] * len(pairs) if np.ndim(blocks) == 0 else [int(one) for one in blocks]
    if len(blocks) != len(pairs) or min(blocks, default=0) < 1 or any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"[{where}] bad blocks, got {blocks} and {pairs}, expected sizes from 1, and a pair for each")
    return blocks, pairs


def space_to_batch_nd(
    input_x: Tensor | float, block_size: int | Sequence[int], paddings: Sequence[Sequence[int]]
) -> Tensor:
    """Blocks of the last dimensions, as many as there are pairs of zeros before and after them, as images: the batch
    grows by the size of a block."""
    x = as_tensor(input_x, "space_to_batch_nd")
    blocks, pairs = _sizes("space_to_batch_nd", block_size, paddings)
    x = pad(x, [n for pair in reversed(pairs) for n in pair])
    count, begin = len(blocks), x.ndim - len(blocks)
    if begin < 1 or any(n % b for n, b in zip(x.shape[begin:], blocks)):
        raise ValueError(f"[space_to_batch_nd] blocks do not divide, got {blocks} of {x.shape}, expected divisors")
    split = [n for size, b in zip(x.shape[begin:], blocks) for n in (size // b, b)]
    order = [begin + 2 * i + 1 for i in range(count)] + list(range(begin)) + [begin + 2 * i for i in range(count)]
    made = transpose(reshape(x, [*x.shape[:begin], *split]), order)
    return reshape(made, [x.shape[0] * math.prod(blocks), *x.shape[1:begin], *split[::2]])


def batch_to_space_nd(
    input_x: Tensor | float, block_shape: int | Sequence[int], crops: Sequence[Sequence[int]]
) -> Tensor:
    """Images of a batch as blocks of larger ones, of which `crops` elements before and after are left out."""
    x = as_tensor(input_x, "batch_to_space_nd")
    blocks, pairs = _sizes("batch_to_space_nd", block_shape, crops)
    count, begin, whole = len(blocks), x.ndim - len(blocks), math.prod(blocks)
    if begin < 1 or x.shape[0] % whole:
        raise ValueError(f"[batch_to_space_nd] blocks do not divide, got {blocks} of {x.shape}, expected divisors")
    apart = reshape(x, [*blocks, x.shape[0] // whole, *x.shape[1:]])
    order = list(range(count, count + begin)) + [n for i in range(count) for n in (count + begin + i, i)]
    sizes = [n * b for n, b in zip(x.shape[begin:], blocks)]
    made = reshape(transpose(apart, order), [x.shape[0] // whole, *x.shape[1:begin], *sizes])
    ranges = [(0, n) for n in made.shape[:begin]]
    return sliced(made, ranges + [(first, n - last) for n, (first, last) in zip(sizes, pairs)])


def _image(where, input, size):
    x = as_tensor(input, where)
    if x.ndim < 3:
        raise ValueError(f"[{where}] no image, got shape {x.shape}, expected [.., channels, height, width]")
    if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 1:
        raise ValueError(f"[{where}] bad size of blocks, got {size!r}, expected an integer from 1")
    return x, int(size), list(x.shape[:-3])


def shuffled(where, input, size, channel_first=False):
    """Pixels of x[.., c * size * size, h, w] from channels, whose number has the place in a block first, or the channel
    of the result."""
    x, size, lead = _image(where, input, size)
    channels, h, w = x.shape[-3:]
    if channels % (size * size):
        raise ValueError(f"[{where}] wrong channels, got {channels}, expected a multiple of {size * size}")
    depth, n = channels // (size * size), len(lead)
    if channel_first:
        apart, axes = reshape(x, [*lead, depth, size, size, h, w]), [n, n + 3, n + 1, n + 4, n + 2]
    else:
        apart, axes = reshape(x, [*lead, size, size, depth, h, w]), [n + 2, n + 3, n, n + 4, n + 1]
    return reshape(transpose(apart, [*range(n), *axes]), [*lead, depth, h * size, w * size])


def unshuffled(where, input, size, channel_first=False):
    """The channels of x[.., c, h, w] of which `shuffled` makes these pixels."""
    x, size, lead = _image(where, input, size)
    depth, h, w = x.shape[-3:]
    if h % size or w % size:
        raise ValueError(f"[{where}] wrong size, got {h} x {w}, expected multiples of {size}")
    n = len(lead)
    apart = reshape(x, [*lead, depth, h // size, size, w // size, size])
    axes = [n, n + 2, n + 4, n + 1, n + 3] if channel_first else [n + 2, n + 4, n, n + 1, n + 3]
    return reshape(transpose(apart, [*range(n), *axes]), [*lead, depth * size * size, h // size, w // size])


def depth_to_space(x, block_size):
    """[n, c, h * b, w * b] of x[n, b * b * c, h, w]: channels as blocks, the place in a block first."""
    return shuffled("DepthToSpace", x, block_size)


def space_to_depth(x, block_size):
    """[n, b * b * c, h / b, w / b] of x[n, c, h, w]: blocks as channels, the place in a block first."""
    return unshuffled("SpaceToDepth", x, block_size)


def mirror_pad(input_x: Tensor | float, paddings: Sequence[Sequence[int]], mode: str) -> Tensor:
    """Elements before and after each dimension, by rows of two numbers, as in a mirror: "REFLECT" without the element
    at the edge, "SYMMETRIC" with it."""
    x = as_tensor(input_x, "mirror_pad")
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"[mirror_pad] unknown mode, got {mode!r}, expected REFLECT or SYMMETRIC")
    pairs = np.asarray(paddings.asnumpy() if isinstance(paddings, Tensor) else paddings)
    if pairs.shape != (x.ndim, 2):
        raise ValueError(f"[mirror_pad] wrong number of pairs, got {pairs.shape}, expected {(x.ndim, 2)}")
    for axis, (before, after) in enumerate(pairs.tolist()):
        size = x.shape[axis]
        if min(before, after) < 0 or max(before, after) > size - (mode == "REFLECT"):
            raise ValueError(f"[mirror_pad] too many elements, got {before} and {after} of {size}, expected fewer")
        if before or after:
            way = "reflect" if mode == "REFLECT" else "symmetric"
            x = gather(x, Tensor(np.pad(np.arange(size), (before, after), way).astype(np.int32)), axis)
    return x


def padding(x: Tensor | float, pad_dim_size: int = 8) -> Tensor:
    """The last dimension, of one element, with zeros after it, so that it has `pad_dim_size` elements."""
    x = as_tensor(x, "padding")
    if x.ndim < 2 or x.shape[-1] != 1 or pad_dim_size < 1:
        raise ValueError(f"[padding] bad shape, got {x.shape}, expected two dimensions or more, the last one of size 1")
    if pad_dim_size == 1:
        return x
    return concat([x, full([*x.shape[:-1], pad_dim_size - 1], 0, dtype=x.dtype)], x.ndim - 1)
