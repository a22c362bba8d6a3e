"""Optimizers whose settings are dicts of groups, and schedules that set their learning rates."""

from partita._names import absent_all, refuse_missing
from partita.experimental import optim  # noqa: F401

globals().update(absent_all(__name__, {"MapParameter": "Parameter with the rows that there are, and ops.gather"}))
__getattr__ = refuse_missing(globals())
