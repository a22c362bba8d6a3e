"""Functions that the documented system refuses to compile: here their Python runs as it is."""


def jit_forbidden_register(fn):
    """The function itself."""
    return fn
