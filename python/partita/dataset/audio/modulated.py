"""Maps of sound whose delay a slow wave changes, noise before rounding, and the pitch of speech; the formulas of SoX
and of Kaldi."""

import math

import numpy as np

from partita.dataset.audio.filters import SoundMap
from partita.dataset.audio.utils import DensityFunction, Interpolation, Modulation
from partita.dataset.vision.base import Drawn, require_integer, require_kind, require_number


def _wave(is_sine, count, low, high, phase):
    """A period of a wave from `low` to `high`, at `count` places, of which the first has a phase (radians)."""
    places = (np.arange(count) + int(phase / math.pi / 2 * count + 0.5)) % count
    if is_sine:
        made = (np.sin(places * 2 * math.pi / count) + 1) / 2
    else:
        made, quarters = places * 2 / count, 4 * places // count
        made = np.select([quarters == 0, quarters == 3], [made + 0.5, made - 1.5], 1.5 - made)
    return made * (high - low) + low


class Phaser(SoundMap):
    """Sound with itself, later by up to `delay_ms` milliseconds, as a wave of `mod_speed` Hz says. Raises ValueError
    for numbers out of their ranges, and for a delay that is less than half an element of the sound."""

    def __init__(
        self, sample_rate, gain_in=0.4, gain_out=0.74, delay_ms=3.0, decay=0.4, mod_speed=0.5, sinusoidal=True
    ):
        rate = require_integer("Phaser", "sample_rate", sample_rate, 1)
        self.gain_in = require_number("Phaser", "gain_in", gain_in, 0, 1)
        self.gain_out = require_number("Phaser", "gain_out", gain_out, 0, 1e9)
        self.decay = require_number("Phaser", "decay", decay, 0, 0.99)
        self.size = int(require_number("Phaser", "delay_ms", delay_ms, 0, 5) * 0.001 * rate + 0.5)
        if self.size < 1:
            raise ValueError(
                f"[Phaser] delay_ms is less than an element of sound, got {delay_ms} at {rate} Hz, expected "
                f"{500 / rate} or more"
            )
        count = int(rate / require_number("Phaser", "mod_speed", mod_speed, 0.1, 2) + 0.5)
        wave = _wave(require_kind("Phaser", "sinusoidal", sinusoidal, bool), count, 1.0, self.size, math.pi / 2)
        self.wave = np.trunc(wave + np.where(wave < 0, -0.5, 0.5)).astype(int)

    def of_sound(self, sound):
        lines = sound.reshape(-1, sound.shape[-1])
        kept, made = np.zeros((len(lines), self.size), sound.dtype), np.empty_like(lines)
        for i in range(lines.shape[1]):
            place = (i + self.wave[i % len(self.wave)]) % self.size
            made[:, i] = lines[:, i] * self.gain_in + kept[:, place]
            kept[:, (i + 1) % self.size] = made[:, i] * self.decay
        return np.clip(made * self.gain_out, -1, 1).reshape(sound.shape)


class Flanger(SoundMap):
    """Sound (.., channels, time) with itself, later by `delay` to `delay` + `depth` milliseconds, as a wave of `speed`
    Hz says. `regen` (%) of what is late comes again, `width` (%) is its share, `phase` (%) the part of a period that
    lies between channels."""

    def __init__(
        self,
        sample_rate,
        delay=0.0,
        depth=2.0,
        regen=0.0,
        width=71.0,
        speed=0.5,
        phase=25.0,
        modulation=Modulation.SINUSOIDAL,
        interpolation=Interpolation.LINEAR,
    ):
        where = "Flanger"
        rate = require_integer(where, "sample_rate", sample_rate, 1)
        delay, depth = require_number(where, "delay", delay, 0, 30), require_number(where, "depth", depth, 0, 10)
        self.fed_back = require_number(where, "regen", regen, -95, 95) / 100
        width = require_number(where, "width", width, 0, 100) / 100
        speed = require_number(where, "speed", speed, 0.1, 10)
        if rate < speed:
            raise ValueError(f"[{where}] speed is above the sample rate, got {speed} at {rate} Hz, expected up to it")
        self.phase = require_number(where, "phase", phase, 0, 100) / 100
        require_kind(where, "modulation", modulation, Modulation)
        self.is_linear = require_kind(where, "interpolation", interpolation, Interpolation) == Interpolation.LINEAR
        self.gain_in, self.gain = 1 / (1 + width), width / (1 + width) * (1 - abs(self.fed_back))
        self.size = int((delay + depth) / 1000 * rate + 0.5) + 2
        low = math.floor(delay / 1000 * rate + 0.5)
        is_sine = modulation == Modulation.SINUSOIDAL
        self.wave = _wave(is_sine, int(rate / speed), low, self.size - 2.0, 3 * math.pi / 2)

    def _late(self, kept, begin, delays):
        """The late sound, [rows, channels], between the places of `kept`."""
        whole = np.floor(delays)
        share, channels = delays - whole, np.arange(kept.shape[1])
        places = begin + whole.astype(int)
        first, second, third = (kept[:, channels, (places + k) % self.size] for k in range(3))
        if self.is_linear:
            return first + (second - first) * share
        second, third = second - first, third - first
        bend = third * 0.5 - second
        return first + (bend * share + second * 2 - third * 0.5) * share

    def of_sound(self, sound):
        if sound.ndim < 2 or sound.shape[-2] > 4:
            raise ValueError(f"[Flanger] bad shape, got {sound.shape}, expected (.., at most 4 channels, time)")
        lines = sound.reshape(-1, *sound.shape[-2:])
        kept, made = np.zeros((*lines.shape[:2], self.size)), np.empty(lines.shape)
        begins = (np.arange(lines.shape[1]) * len(self.wave) * self.phase + 0.5).astype(int)
        late = 0.0
        for i in range(lines.shape[-1]):
            begin = -(i + 1) % self.size
            kept[:, :, begin] = lines[..., i] + late * self.fed_back
            late = self._late(kept, begin, self.wave[(i + begins) % len(self.wave)])
            made[..., i] = lines[..., i] * self.gain_in + late * self.gain
        return np.clip(made, -1, 1).reshape(sound.shape)


class Dither(Drawn):
    """Sound rounded to 16 bits after noise was added: of a triangle along time (TPDF), of an element that is drawn
    (RPDF) or of several (GPDF). With `noise_shaping` the error of an element is added to the next one."""

    def __init__(self, density_function=DensityFunction.TPDF, noise_shaping=False):
        self.density = require_kind("Dither", "density_function", density_function, DensityFunction)
        self.noise_shaping = require_kind("Dither", "noise_shaping", noise_shaping, bool)

    def _noise(self, lines, generator):
        if self.density == DensityFunction.TPDF:
            return np.bartlett(lines.shape[1] + 1)[:-1]
        drawn = generator.choice(lines.reshape(-1), 1 if self.density == DensityFunction.RPDF else 7)
        return float(drawn.sum()) - (0.5 if len(drawn) == 1 else 0.0)

    def drawn(self, sound, generator):
        lines = sound.reshape(-1, sound.shape[-1])
        made = np.round(lines * np.float32(2.0**15 - 2) + self._noise(lines, generator)) / 2.0**15
        if self.noise_shaping:
            error = made - lines
            made[:, 1:] += error[:, :-1]
        return made.reshape(sound.shape).astype(np.float64 if sound.dtype == np.float64 else np.float32)


class DetectPitchFrequency(SoundMap):
    """The pitch (Hz) of each `frame_time` seconds, from `freq_low` to `freq_high`, by correlations of a frame with
    later ones and medians of `win_length` frames."""

    def __init__(self, sample_rate, frame_time=0.01, win_length=30, freq_low=85, freq_high=3400):
        where = "DetectPitchFrequency"
        self.rate = require_integer(where, "sample_rate", sample_rate, 1)
        self.frame = math.ceil(self.rate * require_number(where, "frame_time", frame_time, 1e-9))
        self.win_length = require_integer(where, "win_length", win_length, 1)
        self.most = math.ceil(self.rate / require_number(where, "freq_low", freq_low, 1e-9))
        self.least = math.ceil(self.rate / require_number(where, "freq_high", freq_high, 1e-9))

    def _correlations(self, sound):
        """[lines, frames, lags]."""
        count = math.ceil(sound.shape[1] / self.frame)
        padded = np.pad(sound, ((0, 0), (0, self.most + count * self.frame - sound.shape[1])))
        made = []
        for lag in range(1, self.most + 1):
            shifted = (padded[:, at : at + count * self.frame].reshape(-1, count, self.frame) for at in (0, lag))
            first, second = (one.astype("f8") for one in shifted)
            norms = [1e-9 + np.sqrt((one**2).sum(-1)) for one in (first, second)]
            made.append((first * second).sum(-1) / norms[0] ** 2 / norms[1] ** 2)
        return np.stack(made, -1)

    def _lags(self, correlations):
        """The lag of each frame, the first good one of the lower half before the best one."""
        half = correlations.shape[-1] // 2
        best = correlations[..., self.least :]
        low = correlations[..., self.least : half]
        is_good = low.max(-1) > 0.99 * best.max(-1)
        return np.where(is_good, low.argmax(-1), best.argmax(-1)) + self.least + 1

    def of_sound(self, sound):
        lags = self._lags(self._correlations(sound.reshape(-1, sound.shape[-1])))
        before = (self.win_length - 1) // 2
        lags = np.pad(lags, ((0, 0), (before, 0)), "edge")
        if lags.shape[1] < self.win_length:
            raise ValueError(
                f"[DetectPitchFrequency] too short a sound, got {lags.shape[1] - before} frames, expected at least "
                f"{self.win_length - before}"
            )
        windows = np.lib.stride_tricks.sliding_window_view(lags, self.win_length, -1)
        middle = np.sort(windows, -1)[..., (self.win_length - 1) // 2]
        return (self.rate / (1e-9 + middle)).reshape(*sound.shape[:-1], -1)
