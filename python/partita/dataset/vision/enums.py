"""Names of choices in maps of images."""

from enum import Enum, IntEnum


class Inter(IntEnum):
    """How images are resized or moved: by the nearest element (NEAREST), two neighbours in each direction (LINEAR or
    BILINEAR), four (CUBIC or BICUBIC), shares of the area (AREA), or as Pillow does it (ANTIALIAS, PILCUBIC)."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(str, Enum):
    """How the border of an image is filled: by one value (CONSTANT), the nearest element (EDGE), or the image mirrored
    without (REFLECT) or with (SYMMETRIC) its edge."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ConvertMode(IntEnum):
    """Which order of colours becomes which, such as COLOR_BGR2RGB; A is transparency, GRAY one channel."""

    COLOR_BGR2BGRA = COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


class ImageBatchFormat(IntEnum):
    """Where the channels of a batch of images are: last (NHWC), or after the rows (NCHW)."""

    NHWC = 0
    NCHW = 1


class ImageReadMode(IntEnum):
    """Which channels of a file are read: those it has (UNCHANGED), one (GRAYSCALE) or three (COLOR)."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


class SliceMode(IntEnum):
    """Whether an image that cannot be cut evenly gets a border or loses its rest."""

    PAD = 0
    DROP = 1


class AutoAugmentPolicy(str, Enum):
    """The data set that a policy of AutoAugment was learned on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"
