"""Filters of sound: those of two poles and two zeros by their coefficients, and filters in general.

The coefficients are those of R. Bristow-Johnson, "Cookbook formulae for audio EQ biquad filter coefficients", and for a
band, riaa and de-emphasis those of SoX."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from partita.dataset.vision.base import ImageMap, require_integer, require_number


class SoundMap(ImageMap):
    """A map of arrays (.., time) of floats."""

    def __call__(self, sound):
        array = np.asarray(sound.asnumpy() if hasattr(sound, "asnumpy") else sound)
        where = type(self).__name__
        if array.ndim < 1 or array.dtype.kind not in "iuf":
            raise TypeError(f"[{where}] no sound, got {array.dtype}{list(array.shape)}, expected float32 (.., time)")
        kind = np.float64 if array.dtype == np.float64 else np.float32
        made = self.of_sound(array.astype(kind))
        return tuple(one.astype(kind) for one in made) if isinstance(made, tuple) else made.astype(kind)

    def of_sound(self, sound):
        """The map of an array of floats."""
        raise NotImplementedError


def filtered(sound, a, b, clamp=True):
    """y with a[0] y[n] = sum of b[k] x[n-k] - sum of a[k] y[n-k], k from 1 in the last, along the last axis. With
    `clamp` it is cut to -1 to 1."""
    lines = sound.reshape(-1, sound.shape[-1]).astype(np.float64)
    a, b = [float(one) / a[0] for one in a], [float(one) / a[0] for one in b]
    made = np.zeros_like(lines)
    for k, weight in enumerate(b[: lines.shape[1]]):
        made[:, k:] += weight * lines[:, : lines.shape[1] - k]
    for row in made:
        row[:] = _fed_back(row.tolist(), a[1:])
    made = made.reshape(sound.shape).astype(sound.dtype)
    return np.clip(made, -1, 1) if clamp else made


def _fed_back(values, weights):
    """values[n] - sum of weights[k] * result[n-1-k]."""
    if len(weights) == 2:  # the filters of two poles, which are most
        one, two = weights
        before = last = 0.0
        for n, value in enumerate(values):
            before, last = last, value - one * last - two * before
            values[n] = last
        return values
    for n in range(len(values)):
        values[n] -= sum(weight * values[n - 1 - k] for k, weight in enumerate(weights[:n]))
    return values


class _Biquad(SoundMap):
    """The base of filters of two poles and two zeros: (b0, b1, b2), (a0, a1, a2)."""

    def _set(self, b, a):
        if a[0] == 0:
            raise ValueError(f"[{type(self).__name__}] a0 is 0, got {a}, expected another number")
        self.b, self.a = b, a

    def _angle(self, sample_rate, frequency, q):
        """(the angle of a frequency, half its sine by the quality)."""
        where = type(self).__name__
        if require_integer(where, "sample_rate", sample_rate, -(2**31)) == 0:
            raise ValueError(f"[{where}] bad sample_rate, got 0, expected another number")
        require_number(where, "Q", q, 1e-12, 1)
        angle = 2 * math.pi * require_number(where, "frequency", frequency) / sample_rate
        return angle, math.sin(angle) / 2 / q

    def of_sound(self, sound):
        return filtered(sound, self.a, self.b)


class Biquad(_Biquad):
    """The recursive filter of second order with given coefficients, of sound (.., samples): b of the input, a of the
    output. Raises ValueError if a0 is 0."""

    def __init__(self, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float):
        given = [float(require_number("Biquad", "coefficient", one)) for one in (b0, b1, b2, a0, a1, a2)]
        self._set(given[:3], given[3:])


class AllpassBiquad(_Biquad):
    """All frequencies of sound (.., samples), with their phases changed around `central_freq`, in Hz. `Q`, 0 to 1, is
    that frequency over the width of the band."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, central_freq, Q)
        self._set((1 - alpha, -2 * math.cos(w), 1 + alpha), (1 + alpha, -2 * math.cos(w), 1 - alpha))


class BandBiquad(_Biquad):
    """The frequencies around `central_freq`, in Hz, those far from it weaker and weaker, of sound (.., samples). With
    `noise` it suits sounds without a pitch."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707, noise: bool = False):
        w, _ = self._angle(sample_rate, central_freq, Q)
        a2 = math.exp(-2 * math.pi * central_freq / Q / sample_rate)
        a1 = -4 * a2 / (1 + a2) * math.cos(w)
        b0 = math.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
        if noise:
            b0 = math.sqrt(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2))
        self._set((b0, 0.0, 0.0), (1.0, a1, a2))


class BandpassBiquad(_Biquad):
    """The frequencies around `central_freq`, in Hz, of sound (.., samples). The gain there is 1, with
    `const_skirt_gain` Q."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707, const_skirt_gain: bool = False):
        w, alpha = self._angle(sample_rate, central_freq, Q)
        gain = math.sin(w) / 2 if const_skirt_gain else alpha
        self._set((gain, 0.0, -gain), (1 + alpha, -2 * math.cos(w), 1 - alpha))


class BandrejectBiquad(_Biquad):
    """All frequencies but those around `central_freq`, in Hz, of sound (.., samples)."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, central_freq, Q)
        self._set((1.0, -2 * math.cos(w), 1.0), (1 + alpha, -2 * math.cos(w), 1 - alpha))


def _shelf(w, alpha, gain, sign):
    """Coefficients of low frequencies (sign 1) or high ones (-1) by a gain in dB, others as they are."""
    a = math.exp(gain / 40 * math.log(10))
    slope, less, more = 2 * math.sqrt(a) * alpha, sign * (a - 1) * math.cos(w), (a + 1) * math.cos(w)
    b = a * (a + 1 - less + slope), sign * 2 * a * (a - 1 - sign * more), a * (a + 1 - less - slope)
    return b, (a + 1 + less + slope, -sign * 2 * (a - 1 + sign * more), a + 1 + less - slope)


class BassBiquad(_Biquad):
    """Low frequencies, up to about `central_freq` in Hz, by a gain in dB, of sound (.., samples)."""

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 100.0, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, central_freq, Q)
        self._set(*_shelf(w, alpha, gain, 1))


class TrebleBiquad(_Biquad):
    """High frequencies, from about `central_freq` in Hz, by a gain in dB, of sound (.., samples)."""

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 3000, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, central_freq, Q)
        self._set(*_shelf(w, alpha, gain, -1))


class DeemphBiquad(_Biquad):
    """The inverse of the emphasis of compact discs (44100 samples a second) or of digital tapes (48000), of sound (..,
    samples). Raises ValueError for other sample rates."""

    def __init__(self, sample_rate: int):
        known = {44100: (5283, 0.4845, -9.477), 48000: (5356, 0.479, -9.62)}
        if sample_rate not in known:
            raise ValueError(f"[DeemphBiquad] bad sample_rate, got {sample_rate!r}, expected 44100 or 48000")
        frequency, width, gain = known[sample_rate]
        w, a = 2 * math.pi * frequency / sample_rate, math.exp(gain / 40 * math.log(10))
        alpha = math.sin(w) / 2 * math.sqrt((a + 1 / a) * (1 / width - 1) + 2)
        self._set(*_shelf(w, alpha, gain, -1))


class EqualizerBiquad(_Biquad):
    """The frequencies around `center_freq`, in Hz, by a gain in dB, of sound (.., samples)."""

    def __init__(self, sample_rate: int, center_freq: float, gain: float, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, center_freq, Q)
        a = math.exp(gain / 40 * math.log(10))
        self._set((1 + alpha * a, -2 * math.cos(w), 1 - alpha * a), (1 + alpha / a, -2 * math.cos(w), 1 - alpha / a))


class HighpassBiquad(_Biquad):
    """The frequencies above `cutoff_freq`, in Hz, of sound (.., samples)."""

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, cutoff_freq, Q)
        half = (1 + math.cos(w)) / 2
        self._set((half, -2 * half, half), (1 + alpha, -2 * math.cos(w), 1 - alpha))


class LowpassBiquad(_Biquad):
    """The frequencies below `cutoff_freq`, in Hz, of sound (.., samples) at `sample_rate` samples a second. The result
    has float elements and is cut to -1 to 1, so sound is of -1 to 1, not of integers. Raises ValueError for a sample
    rate of 0, or a `Q` that is not above 0, to 1."""

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707):
        w, alpha = self._angle(sample_rate, cutoff_freq, Q)
        half = (1 - math.cos(w)) / 2
        self._set((half, 2 * half, half), (1 + alpha, -2 * math.cos(w), 1 - alpha))


_RIAA = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


class RiaaBiquad(_Biquad):
    """The playback of records, by the zeros and poles of a sample rate, with a gain of 1 at 1 kHz, of sound (..,
    samples). Raises ValueError for other rates than 44100, 48000, 88200 and 96000."""

    def __init__(self, sample_rate: int):
        if sample_rate not in _RIAA:
            raise ValueError(f"[RiaaBiquad] bad sample_rate, got {sample_rate!r}, expected one of {sorted(_RIAA)}")
        (z0, z1), (p0, p1) = _RIAA[sample_rate]
        b, a = (1.0, -(z0 + z1), z0 * z1), (1.0, -(p0 + p1), p0 * p1)
        turn = np.exp(-2j * math.pi * 1000 / sample_rate * np.arange(3))
        gain = abs(np.dot(a, turn)) / abs(np.dot(b, turn))
        self._set(tuple(one * gain for one in b), a)


class LFilter(SoundMap):
    """The recursive filter of sound (.., samples) with coefficients of any number: `b_coeffs` of the input, `a_coeffs`
    of the output, as many. The result is cut to -1 to 1 unless `clamp` is False."""

    def __init__(self, a_coeffs: Sequence[float], b_coeffs: Sequence[float], clamp: bool = True):
        where = type(self).__name__
        self.a, self.b = ([float(require_number(where, "coefficient", one)) for one in c] for c in (a_coeffs, b_coeffs))
        if len(self.a) != len(self.b) or not self.a or self.a[0] == 0:
            raise ValueError(
                f"[{where}] bad coefficients, got {len(self.a)} and {len(self.b)}, expected as many, and a_coeffs[0] "
                "that is not 0"
            )
        self.clamp = bool(clamp)

    def of_sound(self, sound):
        return filtered(sound, self.a, self.b, self.clamp)


class Filtfilt(LFilter):
    """LFilter forwards and backwards, so that phases stay."""

    def of_sound(self, sound):
        forward = filtered(sound, self.a, self.b, False)
        return np.ascontiguousarray(filtered(forward[..., ::-1], self.a, self.b, self.clamp)[..., ::-1])
