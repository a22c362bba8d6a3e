"""Checks and parameters that layers of convolutions share."""

import math

import numpy as np

from partita.common.initializer import HeUniform, Uniform, initializer
from partita.common.parameter import Parameter


def require_padding(where, pad_mode, padding):
    """Raises ValueError for a padding that no pad_mode but `pad` has."""
    if pad_mode != "pad" and np.any(padding):
        raise ValueError(
            f"[{where}] padding would have no effect, got padding={padding!r} with pad_mode={pad_mode!r}, expected "
            "pad_mode='pad'"
        )


def require_sizes(where, **sizes):
    """Raises ValueError for an integer, or one of several, that is below 1."""
    for name, value in sizes.items():
        if np.min(value) < 1:
            raise ValueError(f"[{where}] bad {name}, got {value!r}, expected integers from 1")


def convolution_text(layer):
    """The options of a layer of a convolution, for its `repr`."""
    return (
        f"input_channels={layer.in_channels}, output_channels={layer.out_channels}, kernel_size={layer.kernel_size}, "
        f"stride={layer.stride}, pad_mode={layer.pad_mode}, padding={layer.padding}, dilation={layer.dilation}, "
        f"group={layer.group}, has_bias={layer.has_bias}"
    )


def require_channels(where, in_channels, out_channels, group, pad_mode, padding=0):
    """Raises ValueError for channels that do not divide into the groups, for an unknown way to pad, and for a padding
    without effect."""
    if pad_mode not in ("same", "valid", "pad"):
        raise ValueError(f"[{where}] unknown pad_mode, got {pad_mode!r}, expected same, valid or pad")
    require_padding(where, pad_mode, padding)
    require_sizes(where, in_channels=in_channels, out_channels=out_channels, group=group)
    if in_channels % group or out_channels % group:
        raise ValueError(
            f"[{where}] channels do not divide into groups, got {in_channels} to {out_channels} in {group}, expected "
            "multiples of the groups"
        )


def filters(weight_init, shape, dtype):
    """The filters of a layer: drawn for a relu unless an initializer or a tensor of this shape is given."""
    if min(shape[2:], default=1) < 1:
        raise ValueError(f"[convolution] bad kernel_size, got {tuple(shape[2:])}, expected integers from 1")
    return Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype))


def biases(bias_init, count, shape, dtype):
    """The biases of as many channels, drawn by what a filter of this shape sums unless an initializer is given."""
    bound = 1 / math.sqrt(math.prod(shape[1:]))
    return Parameter(initializer(Uniform(bound) if bias_init is None else bias_init, [count], dtype))
