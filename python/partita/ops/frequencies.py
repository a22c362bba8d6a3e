"""Frequencies of Fourier transforms. The transforms themselves are complex: they are refused."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.absent import refusing_function
from partita.ops.arranged import roll
from partita.ops.support import as_tensor, axes_of

__all__ = "fftfreq fftshift ifftshift rfftfreq".split()

_TRANSFORMS = (
    "fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft ihfft2 ihfftn stft"
).split()


_INSTEAD = "numpy.fft on asnumpy(), or products with matrices of cosines and sines"
globals().update({name: refusing_function(name, "complex numbers", _INSTEAD) for name in _TRANSFORMS})
__all__ += _TRANSFORMS


def _frequencies(name, n, d, dtype):
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1:
        raise ValueError(f"[{name}] bad number of places, got {n!r}, expected an integer from 1")
    return Tensor(getattr(np.fft, name)(int(n), float(d)), dtype or mstype.float32)


def fftfreq(n: int, d: float = 1.0, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """The frequencies of a Fourier transform of n places, d apart, as float32."""
    return _frequencies("fftfreq", n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: mstype.DType | str | type | None = None) -> Tensor:
    """The frequencies from 0 on of a Fourier transform of n places, d apart, as float32."""
    return _frequencies("rfftfreq", n, d, dtype)


def _shifted(name, input, dim, back):
    x = as_tensor(input, name)
    axes = list(range(x.ndim)) if dim is None else axes_of(name, dim, x.ndim)
    return roll(x, tuple((x.shape[i] + 1) // 2 if back else x.shape[i] // 2 for i in axes), tuple(axes))


def fftshift(input: Tensor | float, dim: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved by half of each dimension, or of some, so that frequency 0 is in the middle."""
    return _shifted("fftshift", input, dim, False)


def ifftshift(input: Tensor | float, dim: int | Sequence[int] | None = None) -> Tensor:
    """The elements moved back by half of each dimension, or of some: it undoes `fftshift`."""
    return _shifted("ifftshift", input, dim, True)
