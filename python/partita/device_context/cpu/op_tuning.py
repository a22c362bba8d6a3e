"""How ops of the CPU are run."""

from partita import context
from partita._names import refuse_missing


def threads_num(num):
    """Sets the number of threads that compute: `set_context(threads=num)`."""
    if not isinstance(num, int) or isinstance(num, bool) or num < 1:
        raise ValueError(f"[threads_num] bad number of threads, got {num!r}, expected an integer from 1")
    context.set_context(threads=num)


__getattr__ = refuse_missing(globals())
