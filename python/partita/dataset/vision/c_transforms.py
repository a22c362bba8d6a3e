"""The transforms of partita.dataset.vision, under the name that old scripts import."""

from partita._names import refuse_missing
from partita.dataset.transforms import Compose  # noqa: F401
from partita.dataset.vision import *  # noqa: F401,F403

__getattr__ = refuse_missing(globals())
