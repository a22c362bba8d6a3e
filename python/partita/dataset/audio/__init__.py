"""Maps of sound in NumPy."""

import sys

from partita._names import absent_all, refuse_missing
from partita.dataset.audio import utils  # noqa: F401
from partita.dataset.audio.effects import (  # noqa: F401
    ComputeDeltas,
    Contrast,
    DBToAmplitude,
    DCShift,
    Fade,
    Gain,
    MuLawDecoding,
    MuLawEncoding,
    Overdrive,
    Vol,
)
from partita.dataset.audio.filters import (  # noqa: F401
    AllpassBiquad,
    BandBiquad,
    BandpassBiquad,
    BandrejectBiquad,
    BassBiquad,
    Biquad,
    DeemphBiquad,
    EqualizerBiquad,
    Filtfilt,
    HighpassBiquad,
    LFilter,
    LowpassBiquad,
    RiaaBiquad,
    TrebleBiquad,
)
from partita.dataset.audio.modulated import DetectPitchFrequency, Dither, Flanger, Phaser  # noqa: F401
from partita.dataset.audio.resampled import (  # noqa: F401
    GriffinLim,
    InverseSpectrogram,
    PhaseVocoder,
    PitchShift,
    Resample,
    TimeStretch,
)
from partita.dataset.audio.spectra import (  # noqa: F401
    LFCC,
    MFCC,
    AmplitudeToDB,
    Angle,
    ComplexNorm,
    FrequencyMasking,
    Magphase,
    MaskAlongAxis,
    MaskAlongAxisIID,
    MelScale,
    MelSpectrogram,
    SlidingWindowCmn,
    SpectralCentroid,
    Spectrogram,
    TimeMasking,
)
from partita.dataset.audio.utils import (  # noqa: F401
    BorderType,
    DensityFunction,
    FadeShape,
    GainType,
    Interpolation,
    MelType,
    Modulation,
    NormMode,
    NormType,
    ResampleMethod,
    ScaleType,
    WindowType,
    create_dct,
    linear_fbanks,
    melscale_fbanks,
)

_FUNCTION = "a function of Python in map"
_ABSENT = ("InverseMelScale", "Vad")
globals().update(absent_all(__name__, dict.fromkeys(_ABSENT, _FUNCTION)))

transforms = sys.modules[__name__]  # the name of its file in the documented system
__getattr__ = refuse_missing(globals())
