"""Names of choices in maps of sound, and the matrices that these maps multiply by."""

from __future__ import annotations

from enum import Enum

import numpy as np

from partita.dataset.vision.base import require_integer, require_kind, require_number

_CHOICES = {
    "BorderType": ("How a line is padded.", "CONSTANT EDGE REFLECT SYMMETRIC"),
    "DensityFunction": ("The density of drawn noise.", "TPDF RPDF GPDF"),
    "FadeShape": ("How a volume grows.", "QUARTER_SINE HALF_SINE LINEAR LOGARITHMIC EXPONENTIAL"),
    "GainType": ("What a gain is of.", "AMPLITUDE POWER DB"),
    "Interpolation": ("How values between two are found.", "LINEAR QUADRATIC"),
    "MelType": ("The formula of mels.", "HTK SLANEY"),
    "Modulation": ("The wave of an effect.", "SINUSOIDAL TRIANGULAR"),
    "NormMode": ("Whether cosines have one norm.", "ORTHO NONE"),
    "NormType": ("Whether filters have one area.", "SLANEY NONE"),
    "ResampleMethod": ("How sound is resampled.", "SINC_INTERPOLATION KAISER_WINDOW"),
    "ScaleType": ("What a spectrum holds.", "POWER MAGNITUDE"),
    "WindowType": ("The weights of a frame.", "BARTLETT BLACKMAN HAMMING HANN KAISER"),
}


def _made(name):
    text, members = _CHOICES[name]
    keeps_case = name == "DensityFunction"
    made = Enum(name, {one: one if keeps_case else one.lower() for one in members.split()}, type=str, module=__name__)
    made.__doc__ = text
    return made


BorderType, DensityFunction, FadeShape = map(_made, ("BorderType", "DensityFunction", "FadeShape"))
GainType, Interpolation, MelType = map(_made, ("GainType", "Interpolation", "MelType"))
Modulation, NormMode, NormType = map(_made, ("Modulation", "NormMode", "NormType"))
ResampleMethod, ScaleType, WindowType = map(_made, ("ResampleMethod", "ScaleType", "WindowType"))


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> np.ndarray:
    """The matrix [n_mels, n_mfcc] of the cosine transform of type 2, in float32; orthogonal with NormMode.ORTHO."""
    n_mfcc = require_integer("create_dct", "n_mfcc", n_mfcc, 1)
    n_mels = require_integer("create_dct", "n_mels", n_mels, 1)
    require_kind("create_dct", "norm", norm, NormMode)
    made = np.cos(np.pi / n_mels * np.outer(np.arange(n_mels) + 0.5, np.arange(n_mfcc)))
    if norm == NormMode.ORTHO:
        made[:, 0] /= np.sqrt(2.0)
        return (made * np.sqrt(2.0 / n_mels)).astype(np.float32)
    return (made * 2.0).astype(np.float32)


def _triangles(frequencies, points):
    """Filters [frequencies, filters] that rise from each point to the next and fall to the one after it."""
    widths, slopes = np.diff(points), points[None, :] - frequencies[:, None]
    down, up = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
    return np.maximum(0.0, np.minimum(down, up))


def _line(where, n_freqs, f_min, f_max, sample_rate):
    require_integer(where, "n_freqs", n_freqs, 1)
    require_number(where, "f_min", f_min)
    require_number(where, "f_max", f_max, f_min)
    return np.linspace(0, require_integer(where, "sample_rate", sample_rate, 1) // 2, n_freqs)


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> np.ndarray:
    """Triangular filters [n_freqs, n_filter] from f_min to f_max, in float32."""
    line = _line("linear_fbanks", n_freqs, f_min, f_max, sample_rate)
    n_filter = require_integer("linear_fbanks", "n_filter", n_filter, 1)
    return _triangles(line, np.linspace(f_min, f_max, n_filter + 2)).astype(np.float32)


_STEP, _KNEE = 200.0 / 3, 1000.0  # of the mels of Slaney: linear up to the knee, then logarithmic
_LOG_STEP = np.log(6.4) / 27


def _mels_of(hertz, kind):
    if kind == MelType.HTK:
        return 2595.0 * np.log10(1.0 + hertz / 700.0)
    above = _KNEE / _STEP + np.log(np.maximum(hertz, _KNEE) / _KNEE) / _LOG_STEP
    return np.where(hertz >= _KNEE, above, hertz / _STEP)


def _hertz_of(mels, kind):
    if kind == MelType.HTK:
        return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    knee = _KNEE / _STEP
    return np.where(mels >= knee, _KNEE * np.exp(_LOG_STEP * (np.maximum(mels, knee) - knee)), mels * _STEP)


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: NormType = NormType.NONE,
    mel_type: MelType = MelType.HTK,
) -> np.ndarray:
    """Triangular filters [n_freqs, n_mels] at equal distances in mels, in float32."""
    line = _line("melscale_fbanks", n_freqs, f_min, f_max, sample_rate)
    n_mels = require_integer("melscale_fbanks", "n_mels", n_mels, 1)
    require_kind("melscale_fbanks", "norm", norm, NormType)
    require_kind("melscale_fbanks", "mel_type", mel_type, MelType)
    ends = _mels_of(np.float64(f_min), mel_type), _mels_of(np.float64(f_max), mel_type)
    points = _hertz_of(np.linspace(*ends, n_mels + 2), mel_type)
    made = _triangles(line, points)
    if norm == NormType.SLANEY:
        made = made * (2.0 / (points[2:] - points[:-2]))
    return made.astype(np.float32)
