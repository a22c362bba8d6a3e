"""Spectra of sound and what is made of them."""

from __future__ import annotations

import numpy as np

from partita.dataset.audio.filters import SoundMap
from partita.dataset.audio.utils import (
    BorderType,
    MelType,
    NormMode,
    NormType,
    ScaleType,
    WindowType,
    create_dct,
    linear_fbanks,
    melscale_fbanks,
)
from partita.dataset.vision.base import Drawn, require_integer, require_kind, require_number


def window_of(kind, length):
    """The weights of a frame, which would go on after it with the first of them."""
    turn = 2 * np.pi * np.arange(length) / length
    return {
        WindowType.HANN: lambda: 0.5 - 0.5 * np.cos(turn),
        WindowType.HAMMING: lambda: 0.54 - 0.46 * np.cos(turn),
        WindowType.BLACKMAN: lambda: 0.42 - 0.5 * np.cos(turn) + 0.08 * np.cos(2 * turn),
        WindowType.BARTLETT: lambda: 1 - np.abs(2 * np.arange(length) / length - 1),
        WindowType.KAISER: lambda: np.kaiser(length + 1, 12.0)[:-1],
    }[kind]()


class Spectrogram(SoundMap):
    """Sound (.., samples) as spectra (.., n_fft // 2 + 1, frames): magnitudes to `power` (2: powers), or with power 0
    real and imaginary parts as a last axis of 2. A frame has `win_length` samples (n_fft by default), weighted by
    `window`, and begins `hop_length` samples (half a window by default) after the last one. With `center` the sound is
    padded by n_fft // 2 at both ends as `pad_mode` says, so that frames are around their places. Float64 stays so,
    other elements become float32. Raises ValueError for a window longer than `n_fft`, or sound shorter than the
    border."""

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window: WindowType = WindowType.HANN,
        power: float = 2.0,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ):
        where = type(self).__name__
        self.n_fft = require_integer(where, "n_fft", n_fft, 1)
        self.win_length = require_integer(where, "win_length", win_length or n_fft, 1, n_fft)
        self.hop_length = require_integer(where, "hop_length", hop_length or max(self.win_length // 2, 1), 1)
        self.pad, self.power = require_integer(where, "pad", pad, 0), require_number(where, "power", power, 0)
        require_kind(where, "window", window, WindowType)
        self.pad_mode = require_kind(where, "pad_mode", pad_mode, BorderType)
        self.normalized, self.center, self.onesided = bool(normalized), bool(center), bool(onesided)
        weights = window_of(window, self.win_length)
        before = (self.n_fft - self.win_length) // 2
        self.weights = np.pad(weights, (before, self.n_fft - self.win_length - before))
        self.scale = 1 / np.sqrt((weights**2).sum()) if self.normalized else 1.0

    def spectrum(self, sound):
        """The complex spectrum (.., frequencies, frames)."""
        around = [(0, 0)] * (sound.ndim - 1)
        sound = np.pad(sound.astype(np.float64), around + [(self.pad, self.pad)])
        if self.center:
            half = self.n_fft // 2
            if half >= sound.shape[-1] and self.pad_mode == BorderType.REFLECT:
                raise ValueError(
                    f"[{type(self).__name__}] the sound is too short, got {sound.shape[-1]} elements, expected more "
                    f"than {half}"
                )
            sound = np.pad(sound, around + [(half, half)], self.pad_mode.value)
        if sound.shape[-1] < self.n_fft:
            raise ValueError(
                f"[{type(self).__name__}] the sound is too short, got {sound.shape[-1]} elements, expected {self.n_fft}"
            )
        frames = np.lib.stride_tricks.sliding_window_view(sound, self.n_fft, -1)[..., :: self.hop_length, :]
        made = (np.fft.rfft if self.onesided else np.fft.fft)(frames * self.weights, axis=-1)
        return np.swapaxes(made, -1, -2) * self.scale

    def of_sound(self, sound):
        made = self.spectrum(sound)
        if self.power == 0:
            return np.stack([made.real, made.imag], -1)
        return np.abs(made) ** self.power


class SpectralCentroid(SoundMap):
    """The mean frequency, in Hz, of each frame: sound (.., samples) as (.., 1, frames). Frames are those of
    Spectrogram."""

    def __init__(
        self,
        sample_rate: int,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window: WindowType = WindowType.HANN,
    ):
        self.rate = require_integer("SpectralCentroid", "sample_rate", sample_rate, 0)
        self.spectrogram = Spectrogram(n_fft, win_length, hop_length, pad, window, 1.0)

    def of_sound(self, sound):
        made = self.spectrogram.of_sound(sound)
        line = np.linspace(0, self.rate // 2, made.shape[-2])[:, None]
        return (line * made).sum(-2, keepdims=True) / made.sum(-2, keepdims=True)


def _projected(matrix, spectrum):
    """matrix [frequencies, n] by spectra (.., frequencies, frames)."""
    if spectrum.ndim < 2 or spectrum.shape[-2] != len(matrix):
        raise ValueError(
            f"[MelScale] another number of frequencies, got shape {spectrum.shape}, expected (.., {len(matrix)}, "
            "frames)"
        )
    return np.matmul(matrix.T.astype(np.float64), spectrum)


class MelScale(SoundMap):
    """Spectra (.., n_stft, frames) as (.., n_mels, frames), summed by triangular filters at equal distances in mels
    from `f_min` to `f_max`, in Hz (half the sample rate by default). Raises ValueError if `f_max` is not above
    `f_min`."""

    def __init__(
        self,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_stft: int = 201,
        norm: NormType = NormType.NONE,
        mel_type: MelType = MelType.HTK,
    ):
        f_max = sample_rate // 2 if f_max is None else f_max
        self.matrix = melscale_fbanks(n_stft, f_min, f_max, n_mels, sample_rate, norm, mel_type)

    def of_sound(self, sound):
        return _projected(self.matrix, sound)


class MelSpectrogram(SoundMap):
    """Sound (.., samples) as (.., n_mels, frames): Spectrogram, then MelScale, with their options."""

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        pad: int = 0,
        n_mels: int = 128,
        window: WindowType = WindowType.HANN,
        power: float = 2.0,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
        norm: NormType = NormType.NONE,
        mel_scale: MelType = MelType.HTK,
    ):
        given = n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided
        self.spectrogram = Spectrogram(*given)
        self.mels = MelScale(n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale)

    def of_sound(self, sound):
        return self.mels.of_sound(self.spectrogram.of_sound(sound))


class AmplitudeToDB(SoundMap):
    """Spectra in dB, at most `top_db` below the highest of each. `stype` says whether they hold powers or magnitudes;
    numbers below `amin` count as it, and `ref_value` is 0 dB."""

    def __init__(
        self,
        stype: ScaleType = ScaleType.POWER,
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = 80.0,
    ):
        where = "AmplitudeToDB"
        self.factor = 10.0 if require_kind(where, "stype", stype, ScaleType) == ScaleType.POWER else 20.0
        self.amin = require_number(where, "amin", amin, 1e-45)
        self.reference = np.log10(max(self.amin, require_number(where, "ref_value", ref_value, 1e-45)))
        self.top_db = require_number(where, "top_db", top_db, 0)

    def of_sound(self, sound):
        made = self.factor * (np.log10(np.maximum(sound, self.amin)) - self.reference)
        axes = tuple(range(max(0, made.ndim - 3), made.ndim))
        return np.maximum(made, made.max(axis=axes, keepdims=True) - self.top_db)


class _Cepstrum(SoundMap):
    """The base of cosine transforms of logarithms of filtered spectra."""

    def _set(self, count, filters, dct_type, norm, log, spectrum):
        where = type(self).__name__
        if require_integer(where, "dct_type", dct_type, 0) != 2:
            raise ValueError(f"[{where}] bad dct_type, got {dct_type}, expected 2")
        if count > filters:
            raise ValueError(f"[{where}] more coefficients than filters, got {count} of {filters}, expected fewer")
        self.matrix, self.log, self.spectrum = create_dct(count, filters, norm), bool(log), spectrum

    def of_sound(self, sound):
        made = self.spectrum(sound)
        made = np.log(made + 1e-6) if self.log else AmplitudeToDB().of_sound(made)
        return _projected(self.matrix, made)


class MFCC(_Cepstrum):
    """Sound (.., samples) as cepstra of mels (.., n_mfcc, frames): the cosine transform of MelSpectrogram in dB, or
    with `log_mels` in natural logarithms. `melkwargs` are options of MelSpectrogram. Raises ValueError for more
    coefficients than mels."""

    def __init__(
        self,
        sample_rate: int = 16000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: NormMode = NormMode.ORTHO,
        log_mels: bool = False,
        melkwargs: dict | None = None,
    ):
        mels = MelSpectrogram(sample_rate, **(melkwargs or {}))
        self._set(n_mfcc, mels.mels.matrix.shape[1], dct_type, norm, log_mels, mels.of_sound)


class LFCC(_Cepstrum):
    """Sound (.., samples) as cepstra (.., n_lfcc, frames) of `n_filter` triangular filters at equal distances from
    `f_min` to `f_max`, in Hz. `speckwargs` are options of Spectrogram. Raises ValueError for more coefficients than
    filters."""

    def __init__(
        self,
        sample_rate: int = 16000,
        n_filter: int = 128,
        n_lfcc: int = 40,
        f_min: float = 0.0,
        f_max: float | None = None,
        dct_type: int = 2,
        norm: NormMode = NormMode.ORTHO,
        log_lf: bool = False,
        speckwargs: dict | None = None,
    ):
        spectrogram = Spectrogram(**(speckwargs or {}))
        f_max = sample_rate // 2 if f_max is None else f_max
        filters = linear_fbanks(spectrogram.n_fft // 2 + 1, f_min, f_max, n_filter, sample_rate)
        made = lambda sound: _projected(filters, spectrogram.of_sound(sound))  # noqa: E731
        self._set(n_lfcc, n_filter, dct_type, norm, log_lf, made)


def _require_pairs(where, sound):
    if sound.shape[-1] != 2:
        raise ValueError(f"[{where}] no complex numbers, got shape {sound.shape}, expected (.., 2)")


class ComplexNorm(SoundMap):
    """Magnitudes of complex numbers (.., 2), real and imaginary parts, to a power."""

    def __init__(self, power: float = 1.0):
        self.power = require_number("ComplexNorm", "power", power, 0)

    def of_sound(self, sound):
        _require_pairs("ComplexNorm", sound)
        return (sound.astype(np.float64) ** 2).sum(-1) ** (self.power / 2)


class Angle(SoundMap):
    """Angles of complex numbers (.., 2)."""

    def of_sound(self, sound):
        _require_pairs("Angle", sound)
        return np.arctan2(sound[..., 1], sound[..., 0])


class Magphase(SoundMap):
    """(magnitudes to a power, angles) of complex numbers (.., 2)."""

    def __init__(self, power: float = 1.0):
        self.power = require_number("Magphase", "power", power, 0)

    def of_sound(self, sound):
        _require_pairs("Magphase", sound)
        return ComplexNorm(self.power).of_sound(sound), Angle().of_sound(sound)

    def apply_all(self, values, epoch, sample):
        """The columns of a row in an epoch."""
        return [one for value in values for one in self(value)]


class MaskAlongAxis(SoundMap):
    """A value in `mask_width` lines from `mask_start` along axis 1, frequencies, or 2, frames, of spectra (..,
    frequencies, frames). Raises ValueError for lines that the spectrum does not have."""

    def __init__(self, mask_start: int, mask_width: int, mask_value: float, axis: int):
        where = type(self).__name__
        self.start = require_integer(where, "mask_start", mask_start, 0)
        self.width = require_integer(where, "mask_width", mask_width, 0)
        self.value = require_number(where, "mask_value", mask_value)
        self.axis = require_integer(where, "axis", axis, 1, 2) - 3

    def of_sound(self, sound):
        if sound.ndim < 2 or self.start + self.width > sound.shape[self.axis]:
            raise ValueError(
                f"[{type(self).__name__}] the mask is not in the spectrum, got {self.start} to "
                f"{self.start + self.width} of shape {sound.shape}, expected a range of axis {self.axis}"
            )
        return masked(sound, self.start, self.width, self.value, self.axis)


def masked(sound, start, width, value, axis):
    """An array with a value in a range of an axis."""
    made = sound.copy()
    np.moveaxis(made, axis, 0)[start : start + width] = value
    return made


class MaskAlongAxisIID(Drawn):
    """A value in at most `mask_param` lines at a random place of each spectrum, along axis 1, frequencies, or 2,
    frames."""

    def __init__(self, mask_param: int, mask_value: float, axis: int):
        where = type(self).__name__
        self.param = require_integer(where, "mask_param", mask_param, 0)
        self.value = require_number(where, "mask_value", mask_value)
        self.axis = require_integer(where, "axis", axis, 1, 2) - 3

    def drawn(self, sound, generator):
        if sound.ndim < 2 or self.param > sound.shape[self.axis]:
            raise ValueError(
                f"[{type(self).__name__}] bad mask_param, got {self.param} of shape {sound.shape}, expected at most "
                f"the size of axis {self.axis}"
            )
        made = sound.reshape(-1, *sound.shape[-2:]).copy()
        for one in made:
            width = generator.random() * self.param
            start = int(generator.random() * (sound.shape[self.axis] - width))
            one[...] = masked(one, start, int(width), self.value, self.axis)
        return made.reshape(sound.shape)


class _Masking(Drawn):
    """The base of masks of spectra: drawn for each with `iid_masks`, else from `mask_start`."""

    _axis = 1

    def __init__(self, iid_masks, param, mask_start, mask_value):
        self.step = (
            MaskAlongAxisIID(param, mask_value, self._axis)
            if iid_masks
            else MaskAlongAxis(mask_start, param, mask_value, self._axis)
        )

    def drawn(self, sound, generator):
        is_drawn = isinstance(self.step, Drawn)
        return self.step.drawn(sound, generator) if is_drawn else self.step.of_sound(sound)


class FrequencyMasking(_Masking):
    """`mask_value` in a range of frequencies of spectra (.., frequencies, frames): in `freq_mask_param` of them from
    `mask_start`, or with `iid_masks` in at most as many at a random place of each spectrum. Raises ValueError for a
    range that the spectrum does not have."""

    def __init__(self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0):
        super().__init__(iid_masks, freq_mask_param, mask_start, mask_value)


class TimeMasking(_Masking):
    """`mask_value` in a range of frames of spectra (.., frequencies, frames): in `time_mask_param` of them from
    `mask_start`, or with `iid_masks` in at most as many at a random place of each spectrum. Raises ValueError for a
    range that the spectrum does not have."""

    _axis = 2

    def __init__(self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0, mask_value: float = 0.0):
        super().__init__(iid_masks, time_mask_param, mask_start, mask_value)


class SlidingWindowCmn(SoundMap):
    """Features (.., frames, features) minus their means over the frame and the `cmn_window` before it, or with `center`
    over `cmn_window` frames around it; at the begin over at least `min_cmn_window` frames. With `norm_vars` also over
    their deviations."""

    def __init__(self, cmn_window: int = 600, min_cmn_window: int = 100, center: bool = False, norm_vars: bool = False):
        self.window = require_integer("SlidingWindowCmn", "cmn_window", cmn_window, 1)
        self.least = require_integer("SlidingWindowCmn", "min_cmn_window", min_cmn_window, 1)
        self.center, self.norm_vars = bool(center), bool(norm_vars)

    def _range(self, frame, frames):
        first = frame - self.window // 2 if self.center else frame - self.window
        last = first + self.window if self.center else frame + 1
        if first < 0:
            first, last = 0, last - first
        if not self.center:
            last = max(frame + 1, self.least) if last > frame else last
        if last > frames:
            first, last = max(0, first - (last - frames)), frames
        return first, last

    def of_sound(self, sound):
        values = sound.astype(np.float64)
        made = np.zeros_like(values)
        for frame in range(values.shape[-2]):
            first, last = self._range(frame, values.shape[-2])
            part = values[..., first:last, :]
            made[..., frame, :] = values[..., frame, :] - part.mean(-2)
            if self.norm_vars:
                variance = (part**2).mean(-2) - part.mean(-2) ** 2
                made[..., frame, :] *= 1 / np.sqrt(variance) if last - first > 1 else 0.0
        return made
