"""Images and their files, by Pillow."""

from __future__ import annotations

import io
import os

import numpy as np

from partita.dataset.vision.base import array_of, require_integer, require_kind
from partita.dataset.vision.enums import ImageReadMode
from partita.dataset.vision.pillow import is_pil, pillow, to_pil


def _encoded(where, image, kind, **options):
    image = array_of(image)
    if image.dtype != np.uint8:
        raise TypeError(f"[{where}] the image is not of 8 bits, got {image.dtype}, expected uint8")
    if image.ndim not in (2, 3) or image.ndim == 3 and image.shape[2] not in (1, 3):
        raise ValueError(
            f"[{where}] no image, got shape {image.shape}, expected (height, width) or (height, width, 1 or 3)"
        )
    stream = io.BytesIO()
    to_pil(image, where).save(stream, kind, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


def encode_jpeg(image: np.ndarray, quality: int = 75) -> np.ndarray:
    """The bytes of a JPEG file, uint8[n], of an 8-bit image of 1 or 3 channels."""
    return _encoded("encode_jpeg", image, "JPEG", quality=require_integer("encode_jpeg", "quality", quality, 1, 100))


def encode_png(image: np.ndarray, compression_level: int = 6) -> np.ndarray:
    """The bytes of a PNG file, uint8[n], of an 8-bit image of 1 or 3 channels."""
    level = require_integer("encode_png", "compression_level", compression_level, 0, 9)
    return _encoded("encode_png", image, "PNG", compress_level=level)


def _path(where, filename):
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeError(f"[{where}] the file is not a path, got {type(filename).__name__}, expected str")
    return os.fspath(filename)


def _there(where, filename):
    filename = _path(where, filename)
    if not os.path.isfile(filename):
        raise RuntimeError(f"[{where}] no such file, got '{filename}', expected one that can be read")
    return filename


def read_file(filename: str) -> np.ndarray:
    """The bytes of a file, uint8[n]. Raises RuntimeError where there is none."""
    with open(_there("read_file", filename), "rb") as file:
        return np.frombuffer(file.read(), np.uint8)


def write_file(filename: str, data: np.ndarray) -> None:
    """Writes uint8[n] to a file."""
    data = array_of(data)
    if data.dtype != np.uint8 or data.size and data.ndim != 1:
        raise TypeError(f"[write_file] bad data, got {data.dtype}{list(data.shape)}, expected uint8[n]")
    with open(_path("write_file", filename), "wb") as file:
        file.write(data.tobytes())


def write_jpeg(filename: str, image: np.ndarray, quality: int = 75) -> None:
    """Writes an 8-bit image of 1 or 3 channels as a JPEG file."""
    write_file(_path("write_jpeg", filename), encode_jpeg(image, quality))


def write_png(filename: str, image: np.ndarray, compression_level: int = 6) -> None:
    """Writes an 8-bit image of 1 or 3 channels as a PNG file."""
    write_file(_path("write_png", filename), encode_png(image, compression_level))


def _gray_of_png(image):
    """The brightness of colours as the library of PNG files has it, which does not round."""
    red, green, blue = (image[..., c].astype(np.int32) for c in range(3))
    return ((red * 9798 + green * 19235 + blue * 3735) >> 15).astype(np.uint8)


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """An image file as u8[height,width,channels]: with 3 channels, or with 1 if the file has, as `mode` says."""
    require_kind("read_image", "mode", mode, ImageReadMode)
    filename = _there("read_image", filename)
    try:
        with pillow("read_image").open(filename) as image:
            is_gray = mode == ImageReadMode.GRAYSCALE
            if is_gray and image.format == "PNG" and image.mode != "L":
                return _gray_of_png(np.asarray(image.convert("RGB")))[..., None]
            if is_gray:
                image.draft("L", image.size)
            keeps_gray = mode == ImageReadMode.UNCHANGED and image.mode in ("L", "1")
            made = np.asarray(image.convert("L" if is_gray or keeps_gray else "RGB"))
    except Exception as error:  # of Pillow, which has many kinds
        raise RuntimeError(f"[read_image] no image, got '{filename}': {error}, expected a JPEG, PNG, .. file") from None
    return made[..., None] if made.ndim == 2 else made


def _axes(where, image):
    shape = np.shape(image)
    if len(shape) < 2:
        raise RuntimeError(f"[{where}] no image, got shape {shape}, expected (.., height, width, channels)")
    return shape


def _require_array(where, image):
    if not isinstance(image, np.ndarray):
        raise TypeError(f"[{where}] no image, got {type(image).__name__}, expected an array or an image of Pillow")


def get_image_num_channels(image: np.ndarray) -> int:
    """Number of channels of an array (.., height, width, channels) or an image of Pillow."""
    if is_pil(image):
        return len(image.getbands())
    _require_array("get_image_num_channels", image)
    shape = _axes("get_image_num_channels", image)
    return 1 if len(shape) == 2 else shape[-1]


def get_image_size(image: np.ndarray) -> list[int]:
    """[height, width] of an array (.., height, width, channels) or an image of Pillow."""
    if is_pil(image):
        return [image.size[1], image.size[0]]
    _require_array("get_image_size", image)
    shape = _axes("get_image_size", image)
    return list(shape) if len(shape) == 2 else list(shape[-3:-1])
