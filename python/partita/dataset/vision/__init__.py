"""Maps of images in height, width, channel order: of arrays, and of images of Pillow where that is there."""

from __future__ import annotations

import sys

from partita._names import absent_all, refuse_missing
from partita.common.dtype import DTypeLike
from partita.dataset.transforms import PyTensorOperation, Transform, TypeCast  # noqa: F401
from partita.dataset.vision import utils  # noqa: F401
from partita.dataset.vision.base import require_image  # noqa: F401
from partita.dataset.vision.boxes import (  # noqa: F401
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
from partita.dataset.vision.cut import (  # noqa: F401
    Crop,
    CutOut,
    Erase,
    FiveCrop,
    HorizontalFlip,
    RandomResize,
    ResizedCrop,
    SlicePatches,
    TenCrop,
    ToNumpy,
    VerticalFlip,
)
from partita.dataset.vision.drawn import (  # noqa: F401
    CenterCrop,
    RandomColorAdjust,
    RandomErasing,
    RandomResizedCrop,
    RandomVerticalFlip,
)
from partita.dataset.vision.enhanced import (  # noqa: F401
    AutoContrast,
    Equalize,
    GaussianBlur,
    Invert,
    RandomAffine,
    RandomColor,
    RandomPosterize,
    RandomRotation,
    RandomSharpness,
    RandomSolarize,
)
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
from partita.dataset.vision.maps import (  # noqa: F401
    HWC2CHW,
    Decode,
    Normalize,
    RandomCrop,
    RandomCropDecodeResize,
    RandomHorizontalFlip,
    Rescale,
    Resize,
    ToTensor,
)
from partita.dataset.vision.mixed import CutMixBatch, MixUp, MixUpBatch  # noqa: F401
from partita.dataset.vision.moved import Affine, Perspective, RandomPerspective, Rotate  # noqa: F401
from partita.dataset.vision.padded import Pad, PadToSize  # noqa: F401
from partita.dataset.vision.pillow import ToPIL  # noqa: F401
from partita.dataset.vision.policies import (  # noqa: F401
    AutoAugment,
    RandAugment,
    RandomSelectSubpolicy,
    TrivialAugmentWide,
    UniformAugment,
)
from partita.dataset.vision.tones import (  # noqa: F401
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    ConvertColor,
    Grayscale,
    HsvToRgb,
    LinearTransformation,
    NormalizePad,
    Posterize,
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomLighting,
    RgbToHsv,
    Solarize,
)

_VIDEO = "frames of a reader of videos, such as PyAV, in GeneratorDataset"
globals().update(
    absent_all(
        __name__,
        dict.fromkeys(("DecodeVideo", "VideoDecoder", "read_video", "read_video_timestamps"), _VIDEO),
    )
)


class ToType(TypeCast):
    """The same values in another element type."""

    def __init__(self, data_type: DTypeLike):
        super().__init__(data_type)


def not_random(func):
    """A function, marked as one without chance."""
    func.random = False
    return func


transforms = sys.modules[__name__]  # the name of its file in the documented system
__getattr__ = refuse_missing(globals())
