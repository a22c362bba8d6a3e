"""The exit code of errors that nothing catches (docs/reference/errors.md)."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_USAGE = 64


def _code_of(error, traceback):
    """Exit code of an error: `exit_code` of an error of the library, 64 for a "[where] .." error that the package
    itself raises, None for others."""
    code = getattr(error, "exit_code", None)
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    raised_here = traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE)
    return _USAGE if code is None and raised_here and str(error).lstrip("\"'").startswith("[") else code


def install():
    """Makes an uncaught error end the process with its exit code, after the traceback, unless Python is interactive."""
    before = sys.excepthook

    def hook(kind, error, traceback):
        before(kind, error, traceback)
        if hasattr(sys, "ps1") or sys.flags.interactive:
            return
        code = _code_of(error, traceback)
        if code is not None:
            sys.exit(code)

    sys.excepthook = hook
