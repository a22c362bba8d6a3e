"""The network that a thread builds, and the line of the script that a call stands in."""

import os
import sys
import threading

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_names = {}  # of files, by their paths; None for those of this package


class _Thread(threading.local):
    build = None


_threads = _Thread()


def current():
    """Returns the build of a network that this thread is in, or None."""
    return _threads.build


def set_current(build):
    """Makes this thread build a network; None ends it."""
    _threads.build = build


class outside:
    """Within it no network is built and no step is recorded: what is called runs at once."""

    __slots__ = ("_before",)

    def __enter__(self):
        self._before = current()
        set_current(None)

    def __exit__(self, *_):
        set_current(self._before)


def user_line():
    """(file, line) of the innermost call that is not of this package. Of the file its name alone: processes may have
    copies of a script in folders of their own."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        name = _names.get(file, "")
        if name == "":
            name = _names[file] = None if file.startswith(_PACKAGE) else os.path.basename(file)
        if name is not None:
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0
