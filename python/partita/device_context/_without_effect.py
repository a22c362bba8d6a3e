"""Settings of kernels of devices, which are the library's own."""

from partita._warnings import warn


def setting(name):
    """A function that warns that a setting has no effect here."""

    def function(*values, **named):
        warn(f"[{name}] kernels are chosen by the library: this setting has no effect, got {values or named}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Warns, without effect: kernels are chosen by the library."
    return function
