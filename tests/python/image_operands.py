"""Operands of the calls in image_calls.txt and audio_calls.txt, what these calls give as arrays, and how results are
written."""

import base64
import zlib

import numpy as np

_numbers = np.random.default_rng(45)
_y, _x = np.mgrid[0:24, 0:31]
_smooth = np.stack([_x * 8, _y * 10, (_x + _y) * 4], -1)


def _bytes(*shape):
    return _numbers.integers(0, 256, shape).astype(np.uint8)


OPERANDS = {
    "rgb": _bytes(8, 9, 3),
    "smooth": np.clip(_smooth + _numbers.integers(-9, 10, _smooth.shape), 0, 255).astype(np.uint8),
    "gray": _bytes(7, 6),
    "one": _bytes(7, 6, 1),
    "rgba": _bytes(5, 6, 4),
    "dark": (_bytes(8, 9, 3) // 4 + 20).astype(np.uint8),
    "floats": _numbers.random((6, 7, 3)).astype(np.float32),
    "chw": _numbers.random((3, 5, 6)).astype(np.float32),
    "batch": _bytes(4, 5, 6, 3),
    "hot": np.eye(4, dtype=np.int32)[[2, 0, 3, 1]],
    "boxes": np.array([[1, 2, 4, 3], [0, 0, 9, 8], [5, 1, 2, 6]], np.float32),
    "sound": (_numbers.random((2, 120)) * 1.6 - 0.8).astype(np.float32),
    "long": np.sin(np.arange(400) ** 1.3 / 20).astype(np.float32) * np.float32(0.7),
    "spectrum": (_numbers.random((2, 9, 7)) * 5).astype(np.float32),
    "pairs": _numbers.standard_normal((3, 4, 2)).astype(np.float32),
    "four": _numbers.standard_normal((2, 4, 9, 2)).astype(np.float32),
    "np": np,
}


def pil(array):
    """The image of Pillow of an array."""
    from PIL import Image

    return Image.fromarray(array)


def arrays(made):
    """The arrays of a result."""
    if isinstance(made, (tuple, list)):
        return [array for one in made for array in arrays(one)]
    return [np.asarray(made)]


def evaluated(dataset, call):
    """The arrays that a call gives with a module of data sets."""
    vision, audio = dataset.vision, dataset.audio
    names = {"v": vision, "a": audio, "pil": pil, **vars(audio.utils), **vars(vision.utils)}
    kinds = audio.utils

    def options(**given):
        """All options of a Spectrogram, which MindSpore wants if it gets one."""
        win = given.get("win_length", given["n_fft"])
        made = {"win_length": win, "hop_length": win // 2, "pad": 0, "window": kinds.WindowType.HANN, "power": 2.0}
        made.update(normalized=False, center=True, pad_mode=kinds.BorderType.REFLECT, onesided=True)
        return {**made, **given}

    def mels(**given):
        made = {"f_min": 0.0, "f_max": 4000, "norm": kinds.NormType.NONE, "mel_scale": kinds.MelType.HTK}
        return {**made, **options(**given)}

    names.update(options=options, mels=mels)
    operands = {name: one.copy() if isinstance(one, np.ndarray) else one for name, one in OPERANDS.items()}
    return arrays(eval(call, {**names, **operands}))


def calls(path):
    """The calls of a file, without empty lines and comments."""
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def print_array(array):
    data = base64.b85encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()
    return f"{array.dtype.name}{list(array.shape)} {data}"


def parse_array(text):
    kind, data = text.rsplit(" ", 1)
    name, shape = kind.split("[", 1)
    shape = [int(one) for one in shape.rstrip("]").split(",") if one]
    return np.frombuffer(zlib.decompress(base64.b85decode(data)), name).reshape(shape)
