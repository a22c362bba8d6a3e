"""Warnings, as the commands of the project print them: one line on stderr, each text once."""

import sys

_said = set()


def warn(message):
    """Prints `partita: warning: MESSAGE`; the same message again prints nothing."""
    if message in _said:
        return
    _said.add(message)
    print(f"partita: warning: {message}", file=sys.stderr, flush=True)
