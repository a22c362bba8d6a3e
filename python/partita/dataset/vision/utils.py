"""Enums and functions of images, under the name of their file in the documented system."""

from partita import _later
from partita.dataset.vision.enums import (  # noqa: F401
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    ImageReadMode,
    Inter,
    SliceMode,
)
from partita.dataset.vision.files import (  # noqa: F401
    encode_jpeg,
    encode_png,
    get_image_num_channels,
    get_image_size,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from partita.dataset.vision.padded import padding_of


def parse_padding(padding):
    """(left, top, right, bottom) of one number, of two for x and y, or of four."""
    return tuple(padding_of("parse_padding", padding))


_VIDEOS = "VideoDecoder read_video read_video_timestamps"
__getattr__, __dir__ = _later.names_later(globals(), dict.fromkeys(_VIDEOS.split(), "partita.dataset.vision"))
