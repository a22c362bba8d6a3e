"""Profiles: the traces of the library, see the option `log_dir`."""

from enum import Enum

from partita._names import absent, refuse_missing, refused


class ProfilerLevel(Enum):
    """How much a profile has."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(Enum):
    """The device that a profile is of."""

    CPU = "CPU"
    GPU = "GPU"
    NPU = "NPU"


Profiler = absent("Profiler", __name__, "`partita train --trace`, which writes a trace of each rank")
profile = absent("profile", __name__, "`partita train --trace`, which writes a trace of each rank")

globals().update({name: one for name, one in refused("profiler").items() if name not in globals()})
__getattr__ = refuse_missing(globals())
