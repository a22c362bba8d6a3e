"""Names of audio that libraries import."""

import enum

from partita._names import absent_all, refuse_missing


class ResampleMethod(str, enum.Enum):
    """How sound is resampled."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


globals().update(
    absent_all(__name__, {"Resample": "a function of Python in map", "Spectrogram": "a function of Python in map"})
)

__getattr__ = refuse_missing(globals())
