"""Maps of sound: calls whose results MindSpore gave, formulas, masks by chance, and refused values."""

import os
import unittest

import image_operands
import numpy as np
from support import Case

import partita.dataset as ds
from partita.dataset import audio

FOLDER = os.path.dirname(os.path.abspath(__file__))
LONG, SPECTRUM = image_operands.OPERANDS["long"], image_operands.OPERANDS["spectrum"]


class Calls(Case):
    def test_equal_the_documented_ones(self):
        count = 0
        with open(os.path.join(FOLDER, "audio_results.txt"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        for line in lines:
            call, *texts = line.split("\t")
            expected = [image_operands.parse_array(one) for one in texts]
            with self.subTest(call):
                got = image_operands.evaluated(ds, call)
                self.assertEqual([(x.dtype, x.shape) for x in got], [(x.dtype, x.shape) for x in expected])
                for one, other in zip(got, expected):
                    scale = max(1.0, float(np.abs(other).max(initial=0)))
                    np.testing.assert_allclose(one, other, rtol=0, atol=4e-5 * scale)
            count += 1
        self.assertGreaterEqual(count, 215)
        self.assertEqual([line.split("\t")[0] for line in lines], image_operands.calls(FOLDER + "/audio_calls.txt"))


class Formulas(Case):
    def test_spectra_are_those_of_the_definition(self):
        sound, n = np.random.default_rng(3).standard_normal(200), 32
        made = audio.Spectrogram(n, power=0.0, center=False)(sound)
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)
        turns = np.exp(-2j * np.pi * np.outer(np.arange(n // 2 + 1), np.arange(n)) / n)
        expected = np.stack([turns @ (sound[i : i + n] * window) for i in range(0, 200 - n + 1, n // 2)], -1)
        self.close(made[..., 0] + 1j * made[..., 1], expected, 1e-9)

    def test_filters_feed_back(self):
        sound = np.random.default_rng(4).standard_normal(50) * 0.1
        a, b = [1.5, -0.4, 0.2, 0.1], [0.3, 0.1, -0.2, 0.05]
        expected = np.zeros(50)
        for n in range(50):
            forward = sum(b[k] * sound[n - k] for k in range(4) if n >= k)
            expected[n] = (forward - sum(a[k] * expected[n - k] for k in range(1, 4) if n >= k)) / a[0]
        self.close(audio.LFilter(a, b)(sound), expected, 1e-12)

    def test_limiter_presses_peaks_of_both_signs(self):
        sound = np.linspace(-1, 1, 41)
        up, down = audio.DCShift(0.5, 0.05)(sound), audio.DCShift(-0.5, 0.05)(-sound)
        self.close(up, -down, 1e-12)
        self.assertLessEqual(up.max(), 1.0)

    def test_guessed_phases_come_near_the_sound(self):
        sound = np.sin(np.arange(600) * 0.3).astype(np.float32)
        spectrogram = audio.Spectrogram(64, hop_length=16)
        made = audio.GriffinLim(64, 30, hop_length=16, length=600)(spectrogram(sound))
        far = np.abs(spectrogram(made) - spectrogram(sound)).mean() / spectrogram(sound).mean()
        self.assertLess(far, 0.3)

    def test_noise_by_chance(self):
        sound = np.linspace(-0.5, 0.5, 64, dtype=np.float32)
        for density, limit in ((audio.DensityFunction.RPDF, 3), (audio.DensityFunction.GPDF, 8)):
            made = audio.Dither(density)(sound)
            self.assertEqual(made.dtype, np.float32)
            steps = made.astype("f8") * 2**15
            np.testing.assert_array_equal(steps, np.round(steps))
            self.assertLess(np.abs(made - sound).max(), limit / 2**15)

    def test_dither_of_integers_has_fractions(self):
        made = audio.Dither()(np.arange(-3, 4, dtype=np.int32))
        self.assertEqual(made.dtype, np.float32)
        self.assertLess(np.abs(made - np.arange(-3, 4) * (1 - 2**-14)).max(), 1e-4)

    def test_waves_of_no_element_are_refused(self):
        with self.refuses(ValueError, "[Phaser] delay_ms is less than an element of sound, got 0.0 at 44100 Hz"):
            audio.Phaser(44100, delay_ms=0.0)
        with self.refuses(ValueError, "[Phaser]", "got 1.0 at 100 Hz, expected 5.0 or more"):
            audio.Phaser(100, delay_ms=1.0)
        self.assertEqual(audio.Phaser(100, delay_ms=5.0)(SPECTRUM[0]).shape, SPECTRUM[0].shape)
        with self.refuses(ValueError, "[Flanger] speed is above the sample rate, got 10.0 at 5 Hz, expected up to it"):
            audio.Flanger(5, speed=10.0)

    def test_pitch_of_a_tone(self):
        tone = np.sin(np.arange(8000) * (2 * np.pi * 220 / 8000)).astype(np.float32)
        found = audio.DetectPitchFrequency(8000)(tone)
        self.assertLess(np.abs(found[:-2] - 220).max(), 4)

    def test_masks_by_chance(self):
        mask, widths = audio.TimeMasking(True, 5, mask_value=9.0), set()
        for _ in range(100):
            made = mask(SPECTRUM)
            for one, before in zip(made, SPECTRUM):
                hidden = np.flatnonzero((one == 9.0).all(0))
                self.assertTrue((np.delete(one, hidden, 1) == np.delete(before, hidden, 1)).all())
                self.assertTrue(len(hidden) == 0 or np.ptp(hidden) + 1 == len(hidden))
                widths.add(len(hidden))
        self.assertEqual(widths, {0, 1, 2, 3, 4})

    def test_in_a_data_set(self):
        rows = np.stack([LONG, LONG * 0.5])
        data = ds.NumpySlicesDataset(rows, ["sound"], shuffle=False)
        data = data.map([audio.LowpassBiquad(16000, 900.0), audio.MelSpectrogram(n_fft=64, n_mels=6)], "sound").batch(2)
        (made,) = next(iter(data.create_tuple_iterator(output_numpy=True)))
        steps = audio.LowpassBiquad(16000, 900.0), audio.MelSpectrogram(n_fft=64, n_mels=6)
        self.close(made, np.stack([steps[1](steps[0](row)) for row in rows]))
        pairs = ds.NumpySlicesDataset(image_operands.OPERANDS["pairs"], ["x"], shuffle=False)
        made = next(iter(pairs.map(audio.Magphase(), "x", ["a", "b"]).create_tuple_iterator(output_numpy=True)))
        self.assertEqual([one.shape for one in made], [(4,), (4,)])


class Refused(Case):
    def test_say_what_was_expected(self):
        for make, kind, text in (
            (lambda: audio.Spectrogram(64, 65), ValueError, "[Spectrogram] bad win_length, got 65, expected 1 to 64"),
            (lambda: audio.Spectrogram(64)(LONG[:20]), ValueError, "the sound is too short, got 20 elements"),
            (lambda: audio.Spectrogram(64)(np.array(["a"])), TypeError, "no sound, got"),
            (lambda: audio.LowpassBiquad(0, 9.0), ValueError, "bad sample_rate"),
            (lambda: audio.LowpassBiquad(10, 9.0, 3.0), ValueError, "bad Q, got 3.0"),
            (lambda: audio.DeemphBiquad(16000), ValueError, "expected 44100 or 48000"),
            (lambda: audio.RiaaBiquad(1), ValueError, "bad sample_rate, got 1"),
            (lambda: audio.LFilter([1.0], [1.0, 2.0]), ValueError, "bad coefficients, got 1 and 2"),
            (lambda: audio.Fade(1000)(LONG[:9]), ValueError, "longer than the sound"),
            (lambda: audio.Vol(-1.0), ValueError, "bad gain"),
            (lambda: audio.MFCC(n_mfcc=200), ValueError, "more coefficients than filters, got 200 of 128"),
            (lambda: audio.MelScale(n_stft=3)(SPECTRUM), ValueError, "another number of frequencies"),
            (lambda: audio.TimeMasking(False, 9)(SPECTRUM), ValueError, "the mask is not in the spectrum, got 0 to 9"),
            (lambda: audio.Angle()(LONG), ValueError, "no complex numbers, got shape (400,)"),
            (lambda: audio.melscale_fbanks(3, 0.0, 1.0, 2, 8, norm="slaney"), TypeError, "bad norm"),
            (lambda: audio.Vad(16000), NotImplementedError, "[Vad] this name is not supported"),
        ):
            with self.subTest(text), self.refuses(kind, text):
                make()


if __name__ == "__main__":
    unittest.main()
