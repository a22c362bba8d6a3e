"""Layouts under their documented name."""

from partita._layout import Layout, TensorLayout, annotation_text  # noqa: F401
from partita._names import refuse_missing

__getattr__ = refuse_missing(globals())
