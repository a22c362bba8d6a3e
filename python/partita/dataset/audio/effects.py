"""Maps of sound that change its volume or its form."""

from __future__ import annotations

import math

import numpy as np

from partita.dataset.audio.filters import SoundMap
from partita.dataset.audio.utils import BorderType, FadeShape, GainType
from partita.dataset.vision.base import require_integer, require_kind, require_number


class Contrast(SoundMap):
    """Louder sound (.., samples), by a bent line; the formula of SoX. `enhancement_amount` is 0 to 100. Raises
    ValueError for others."""

    def __init__(self, enhancement_amount: float = 75.0):
        self.amount = require_number("Contrast", "enhancement_amount", enhancement_amount, 0, 100) / 750

    def of_sound(self, sound):
        turn = sound * (math.pi / 2)
        return np.sin(turn + self.amount * np.sin(turn * 4))


class DBToAmplitude(SoundMap):
    """ref * (10^(dB / 10))^power of numbers in dB: power 0.5 gives amplitudes, power 1 powers."""

    def __init__(self, ref: float, power: float):
        self.ref = require_number("DBToAmplitude", "ref", ref)
        self.power = require_number("DBToAmplitude", "power", power)

    def of_sound(self, sound):
        return self.ref * np.power(np.power(10.0, 0.1 * sound.astype(np.float64)), self.power)


class DCShift(SoundMap):
    """Sound (.., samples) of -1 to 1, moved by `shift`, -2 to 2. With `limiter_gain`, such as 0.05, a limiter presses
    the peaks together. Raises ValueError for another shift."""

    def __init__(self, shift: float, limiter_gain: float | None = None):
        self.shift = require_number("DCShift", "shift", shift, -2, 2)
        self.gain = require_number("DCShift", "limiter_gain", limiter_gain if limiter_gain else 0.0)

    def of_sound(self, sound):
        moved, limit = np.clip(sound + self.shift, -1, 1), 1.0 - (abs(self.shift) - self.gain)
        if self.shift == 0 or self.gain in (0, self.shift):
            return moved
        sign = 1 if self.shift > 0 else -1
        above = sign * sound > limit
        pressed = (sound - sign * limit) * self.gain / (1 - limit) + sign * limit + self.shift
        return np.where(above, sign * np.minimum(sign * pressed, limit), moved)


_RISES = {
    FadeShape.QUARTER_SINE: lambda x: np.sin(x * math.pi / 2),
    FadeShape.HALF_SINE: lambda x: np.sin(x * math.pi - math.pi / 2) / 2 + 0.5,
    FadeShape.LINEAR: lambda x: x,
    FadeShape.LOGARITHMIC: lambda x: np.log10(0.1 + x) + 1,
    FadeShape.EXPONENTIAL: lambda x: np.power(2.0, x - 1) * x,
}


class Fade(SoundMap):
    """Sound (.., samples) whose volume grows over the first `fade_in_len` samples and falls over the last
    `fade_out_len`, in the form `fade_shape`. Raises ValueError for more samples than the sound has."""

    def __init__(self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: FadeShape = FadeShape.LINEAR):
        self.begin = require_integer("Fade", "fade_in_len", fade_in_len, 0)
        self.end = require_integer("Fade", "fade_out_len", fade_out_len, 0)
        self.shape = require_kind("Fade", "fade_shape", fade_shape, FadeShape)

    def _rise(self, length):
        line = np.linspace(0, 1, length, dtype=np.float64) if length > 1 else np.zeros(length)
        return _RISES[self.shape](line)

    def of_sound(self, sound):
        length = sound.shape[-1]
        if max(self.begin, self.end) > length:
            raise ValueError(
                f"[Fade] longer than the sound, got {self.begin} and {self.end}, expected at most {length} each"
            )
        volume = np.ones(length)
        volume[: self.begin] *= self._rise(self.begin)
        volume[length - self.end :] *= self._rise(self.end)[::-1]
        return sound * volume


class Gain(SoundMap):
    """Sound (.., samples) times 10^(gain_db / 20): a gain in dB, with no limit to the result."""

    def __init__(self, gain_db: float = 1.0):
        self.factor = 10.0 ** (require_number("Gain", "gain_db", gain_db) / 20)

    def of_sound(self, sound):
        return sound * self.factor


class Vol(SoundMap):
    """Sound (.., samples) times a gain, cut to -1 to 1. `gain` is a factor of the amplitude or of the power, above 0,
    or dB, as `gain_type` says. Raises ValueError for a factor that is not above 0."""

    def __init__(self, gain: float, gain_type: GainType = GainType.AMPLITUDE):
        require_kind("Vol", "gain_type", gain_type, GainType)
        require_number("Vol", "gain", gain)
        if gain < 0 and gain_type == GainType.AMPLITUDE or gain <= 0 and gain_type == GainType.POWER:
            raise ValueError(f"[Vol] bad gain, got {gain}, expected a number above 0 for {gain_type}")
        self.factor = {GainType.AMPLITUDE: lambda: gain, GainType.POWER: lambda: math.sqrt(gain)}.get(
            gain_type, lambda: 10.0 ** (gain / 20)
        )()

    def of_sound(self, sound):
        return np.clip(sound * self.factor, -1, 1)


class MuLawEncoding(SoundMap):
    """Numbers from -1 to 1 as int32 from 0 to `quantization_channels` - 1, finer near 0."""

    def __init__(self, quantization_channels: int = 256):
        self.mu = require_integer("MuLawEncoding", "quantization_channels", quantization_channels, 1) - 1.0

    def __call__(self, sound):
        return super().__call__(sound).astype(np.int32)

    def of_sound(self, sound):
        bent = np.sign(sound) * np.log1p(self.mu * np.abs(sound)) / np.log1p(self.mu)
        return np.trunc((bent + 1) / 2 * self.mu + 0.5)


class MuLawDecoding(SoundMap):
    """Numbers of MuLawEncoding, below `quantization_channels`, as sound of -1 to 1."""

    def __init__(self, quantization_channels: int = 256):
        self.mu = require_integer("MuLawDecoding", "quantization_channels", quantization_channels, 1) - 1.0

    def of_sound(self, sound):
        bent = sound / self.mu * 2 - 1.0
        return np.sign(bent) * np.expm1(np.abs(bent) * np.log1p(self.mu)) / self.mu


class Overdrive(SoundMap):
    """Distorted sound (.., samples), cut to -1 to 1; the formula of SoX. `gain`, in dB, and `color`, which shifts even
    harmonics, are 0 to 100. Raises ValueError for others."""

    def __init__(self, gain: float = 20.0, color: float = 20.0):
        self.gain = 10.0 ** (require_number("Overdrive", "gain", gain, 0, 100) / 20)
        self.color = require_number("Overdrive", "color", color, 0, 100) / 200

    def of_sound(self, sound):
        driven = sound.astype(np.float64) * self.gain + self.color
        driven = np.where(driven < -1, -2 / 3, np.where(driven > 1, 2 / 3, driven - driven**3 / 3))
        made, last, before = np.zeros_like(driven), np.zeros(driven.shape[:-1]), np.zeros(driven.shape[:-1])
        for i in range(driven.shape[-1]):
            last = driven[..., i] - before + 0.995 * last
            before = driven[..., i]
            made[..., i] = sound[..., i] * 0.5 + last * 0.75
        return np.clip(made, -1, 1)


class ComputeDeltas(SoundMap):
    """Slopes along time of features (.., frames), over `win_length` frames, at least 3, by least squares. `pad_mode`
    says what stands beyond both ends."""

    def __init__(self, win_length: int = 5, pad_mode: BorderType = BorderType.EDGE):
        self.reach = (require_integer("ComputeDeltas", "win_length", win_length, 3) - 1) // 2
        self.pad_mode = require_kind("ComputeDeltas", "pad_mode", pad_mode, BorderType)

    def of_sound(self, sound):
        n, length = self.reach, sound.shape[-1]
        around = [(0, 0)] * (sound.ndim - 1) + [(n, n)]
        padded = np.pad(sound.astype(np.float64), around, self.pad_mode.value)
        total = sum((k - n) * padded[..., k : k + length] for k in range(2 * n + 1))
        return total / (n * (n + 1) * (2 * n + 1) / 3)
