"""The exit code of errors that nothing catches (docs/errors.md)."""

import sys


def install():
    """The process ends with the code that an error of the library carries, after its traceback."""
    before = sys.excepthook

    def hook(kind, error, traceback):
        before(kind, error, traceback)
        code = getattr(error, "exit_code", None)
        if code is not None:
            sys.exit(code)

    sys.excepthook = hook
