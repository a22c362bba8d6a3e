"""How many ranks a job has, as the launcher, the script and the context say it."""

import os

from partita import _core

_state = {"begun": False}


def set_begun(begun):
    """Notes that communication has begun, or has ended."""
    _state["begun"] = begun


def is_begun():
    """Whether communication has begun."""
    return _state["begun"]


def is_process():
    """Whether a launcher started this process as one of several ranks."""
    return _core.this_place().ranks > 1


def in_process(ranks):
    """Ranks that are threads of this process: those of the context, or of PARTITA_RANKS where the context has 1."""
    text = os.environ.get("PARTITA_RANKS", "")
    if ranks != 1 or not text:
        return ranks
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"[PARTITA_RANKS] bad number of ranks, got '{text}', expected 1 or more")
    return int(text)


def group_size_or_one(ranks):
    """The number of ranks, `ranks` of them in the context; processes do not count before communication has begun."""
    return _core.this_place().ranks if is_begun() and is_process() else in_process(ranks)
