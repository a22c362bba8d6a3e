"""Sound in other numbers of samples, in other lengths, and from its spectra."""

from __future__ import annotations

import math

import numpy as np

from partita.dataset.audio.filters import SoundMap
from partita.dataset.audio.spectra import Spectrogram, _require_pairs
from partita.dataset.audio.utils import BorderType, ResampleMethod, WindowType
from partita.dataset.vision.base import Drawn, require_integer, require_kind, require_number


_BETA = 14.769656459379492  # of the documented Kaiser window


def resampled(sound, old, new, method=ResampleMethod.SINC_INTERPOLATION, width=6, rolloff=0.99, beta=_BETA):
    """Samples at `new` Hz of those at `old` Hz, through windowed sinc functions: J. O. Smith, "Digital audio
    resampling"."""
    if old == new:
        return sound
    divisor = math.gcd(old, new)
    old, new = old // divisor, new // divisor
    base = min(old, new) * rolloff
    reach = math.ceil(width * old / base)
    numbers = np.arange(math.ceil(new * sound.shape[-1] / old)) * old
    near = (numbers // new)[:, None] + np.arange(-reach, reach + 2)  # the samples next to each new one
    times = np.clip((near - numbers[:, None] / new) * (base / old), -width, width)
    if method == ResampleMethod.SINC_INTERPOLATION:
        window = np.cos(times * np.pi / width / 2) ** 2
    else:
        window = np.i0(beta * np.sqrt(np.clip(1 - (times / width) ** 2, 0, None))) / np.i0(beta)
    padded = np.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(reach, reach + 2)])
    return (padded[..., near + reach] * (np.sinc(times) * window * (base / old))).sum(-1)


class Resample(SoundMap):
    """Sound (.., samples) of `orig_freq` samples a second at `new_freq`, by a sinc that is cut off after
    `lowpass_filter_width` zeros, in a window as `resample_method` says. `rolloff` is the share of the highest frequency
    that passes, `beta` a parameter of the Kaiser window. Raises ValueError for frequencies below 1."""

    def __init__(
        self,
        orig_freq: float = 16000,
        new_freq: float = 16000,
        resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION,
        lowpass_filter_width: int = 6,
        rolloff: float = 0.99,
        beta: float | None = None,
    ):
        where = "Resample"
        self.options = (
            require_integer(where, "orig_freq", orig_freq, 1),
            require_integer(where, "new_freq", new_freq, 1),
            require_kind(where, "resample_method", resample_method, ResampleMethod),
            require_integer(where, "lowpass_filter_width", lowpass_filter_width, 1),
            require_number(where, "rolloff", rolloff, 1e-6, 1),
            _BETA if beta is None else require_number(where, "beta", beta),
        )

    def of_sound(self, sound):
        return resampled(sound.astype(np.float64), *self.options)


def _complex_of(where, pairs):
    _require_pairs(where, pairs)
    return pairs[..., 0].astype(np.float64) + 1j * pairs[..., 1]


def _pairs_of(numbers):
    return np.stack([numbers.real, numbers.imag], -1)


def vocoded(spectrum, rate, advance):
    """Complex spectra (.., frequencies, frames) that are `rate` times as fast; `advance` [frequencies, 1] is the phase
    that a frame adds (Flanagan and Golden 1966)."""
    if rate == 1.0:
        return spectrum
    steps = np.arange(0, spectrum.shape[-1], rate)
    shares, at = steps % 1.0, steps.astype(int)
    padded = np.pad(spectrum, [(0, 0)] * (spectrum.ndim - 1) + [(0, 2)])
    first, second = padded[..., at], padded[..., at + 1]
    phase = np.angle(second) - np.angle(first) - advance
    phase = phase - 2 * np.pi * np.rint(phase / (2 * np.pi)) + advance
    phase = np.concatenate([np.angle(spectrum[..., :1]), phase[..., :-1]], -1).cumsum(-1)
    return (shares * np.abs(second) + (1 - shares) * np.abs(first)) * np.exp(1j * phase)


class PhaseVocoder(SoundMap):
    """Spectra (.., frequencies, frames, 2), real and imaginary parts, that are `rate` times as fast at the same pitch:
    frames / rate of them. `phase_advance` (frequencies, 1) has the radians of each frequency from one frame to the
    next."""

    def __init__(self, rate: float, phase_advance: np.ndarray):
        self.rate = require_number("PhaseVocoder", "rate", rate, 1e-9)
        self.advance = np.asarray(phase_advance, np.float64)

    def of_sound(self, sound):
        return _pairs_of(vocoded(_complex_of("PhaseVocoder", sound), self.rate, self.advance))


class TimeStretch(SoundMap):
    """Spectra (.., n_freq, frames, 2), real and imaginary parts, that are `fixed_rate` times as fast at the same pitch.
    `hop_length` is the distance of frames in samples, n_freq - 1 by default."""

    def __init__(self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None):
        where = "TimeStretch"
        n_freq = require_integer(where, "n_freq", n_freq, 2)
        hop = n_freq - 1 if hop_length is None else require_integer(where, "hop_length", hop_length, 1)
        self.rate = require_number(where, "fixed_rate", 1 if fixed_rate is None else fixed_rate, 1e-9)
        self.advance = np.linspace(0, np.pi * hop, n_freq)[:, None]

    def of_sound(self, sound):
        return _pairs_of(vocoded(_complex_of("TimeStretch", sound), self.rate, self.advance))


def sounded(spectrum, frames, length=None):
    """The sound (.., time) of a complex spectrum that a Spectrogram with these frames makes of it."""
    spectrum = np.swapaxes(spectrum, -1, -2) / frames.scale
    rows = np.fft.irfft(spectrum, frames.n_fft) if frames.onesided else np.fft.ifft(spectrum, frames.n_fft).real
    count, hop = rows.shape[-2], frames.hop_length
    total = np.zeros((*rows.shape[:-2], frames.n_fft + hop * (count - 1)))
    weights = np.zeros(total.shape[-1])
    for i in range(count):
        total[..., i * hop : i * hop + frames.n_fft] += rows[..., i, :] * frames.weights
        weights[i * hop : i * hop + frames.n_fft] += frames.weights**2
    total = total / np.where(weights > 1e-11, weights, 1)
    first = frames.n_fft // 2 if frames.center else 0
    if length is None:
        return total[..., first : total.shape[-1] - first]
    total = total[..., first : first + length]
    return np.pad(total, [(0, 0)] * (total.ndim - 1) + [(0, length - total.shape[-1])])


class InverseSpectrogram(SoundMap):
    """The sound (.., samples) of spectra (.., frequencies, frames, 2) that Spectrogram made with these options and
    power 0. `length` is its number of samples."""

    def __init__(
        self,
        length: int | None = None,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window: WindowType = WindowType.HANN,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ):
        self.length = require_integer("InverseSpectrogram", "length", length or 0, 0)
        given = n_fft, win_length, hop_length, pad, window, 0.0, normalized, center, pad_mode, onesided
        self.frames = Spectrogram(*given)

    def of_sound(self, sound):
        numbers, pad = _complex_of("InverseSpectrogram", sound), self.frames.pad
        made = sounded(numbers, self.frames, self.length + 2 * pad if self.length else None)
        return made[..., pad : made.shape[-1] - pad] if self.length and pad else made


class GriffinLim(Drawn):
    """The sound (.., samples) of magnitudes (.., n_fft // 2 + 1, frames) to a power, by phases that are guessed better
    and better in `n_iter` steps (Griffin and Lim 1984, Perraudin et al. 2013). They begin as random ones, or as 0
    without `rand_init`. `length` is the number of samples."""

    def __init__(
        self,
        n_fft: int = 400,
        n_iter: int = 32,
        win_length: int | None = None,
        hop_length: int | None = None,
        window_type: WindowType = WindowType.HANN,
        power: float = 2.0,
        momentum: float = 0.99,
        length: int | None = None,
        rand_init: bool = True,
    ):
        self.frames = Spectrogram(n_fft, win_length, hop_length, 0, window_type, 0.0)
        self.n_iter = require_integer("GriffinLim", "n_iter", n_iter, 1)
        self.power = require_number("GriffinLim", "power", power, 1e-9)
        momentum = require_number("GriffinLim", "momentum", momentum, 0)
        self.momentum, self.length, self.rand_init = momentum / (1 + momentum), length or None, bool(rand_init)

    def drawn(self, sound, generator):
        sizes = np.abs(sound.astype(np.float64)) ** (1 / self.power)
        turns = np.exp(2j * np.pi * generator.random(sizes.shape)) if self.rand_init else np.ones(sizes.shape, complex)
        before = 0
        for _ in range(self.n_iter):
            rebuilt = self.frames.spectrum(sounded(sizes * turns, self.frames, self.length))
            turns = rebuilt - before * self.momentum
            turns, before = turns / (np.abs(turns) + 1e-16), rebuilt
        return sounded(sizes * turns, self.frames, self.length).astype(sound.dtype)


class PitchShift(SoundMap):
    """Sound (.., samples) that is `n_steps` of an octave's `bins_per_octave` higher, of the same length: 12 bins are
    semitones."""

    def __init__(
        self,
        sample_rate: int,
        n_steps: int,
        bins_per_octave: int = 12,
        n_fft: int = 512,
        win_length: int | None = None,
        hop_length: int | None = None,
        window: WindowType = WindowType.HANN,
    ):
        where = "PitchShift"
        self.sample_rate = require_integer(where, "sample_rate", sample_rate, 1)
        steps = require_integer(where, "n_steps", n_steps, -(2**31))
        self.rate = 2.0 ** (-steps / require_integer(where, "bins_per_octave", bins_per_octave, 1))
        hop = (win_length or n_fft) // 4 if hop_length is None else hop_length
        self.frames = Spectrogram(n_fft, win_length, hop, 0, window, 0.0)

    def of_sound(self, sound):
        length, half = sound.shape[-1], self.frames.n_fft // 2
        advance = np.linspace(0, np.pi * self.frames.hop_length, half + 1)[:, None]
        slow = vocoded(self.frames.spectrum(sound), self.rate, advance)
        made = sounded(slow, self.frames, int(round(length / self.rate)))
        made = resampled(made, int(self.sample_rate / self.rate), self.sample_rate)[..., :length]
        return np.pad(made, [(0, 0)] * (made.ndim - 1) + [(0, length - made.shape[-1])])
