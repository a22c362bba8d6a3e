"""Operators of Python as functions, by their names in the documented module."""

from builtins import abs, bool, float, int, len, max, min, round, sum  # noqa: F401
from operator import *  # noqa: F401,F403


def not_contains(container, value):
    """Whether a value is not in a container."""
    return value not in container
