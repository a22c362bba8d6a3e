"""Helpers of trainings that libraries import from the documented module of this name."""

import os

from partita._checkparam import check_value_type
from partita._names import refuse_missing

__all__ = ["check_value_type"]


def _make_directory(directory, arg_name="directory"):
    """Makes a folder, where it is not there, and returns its absolute path. Raises TypeError for what is no path."""
    if not isinstance(directory, (str, os.PathLike)) or not os.fspath(directory).strip():
        raise TypeError(f"[{arg_name}] not a path, got {directory!r}, expected the path of a folder")
    path = os.path.realpath(directory)
    os.makedirs(path, exist_ok=True)
    return path


__getattr__ = refuse_missing(globals())
