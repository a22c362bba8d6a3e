"""Errors of what users give, such as damaged files, under the names of the library."""

import contextlib
import re

_NAMED = re.compile(r"\[[\w.]+\] ")


def is_named(error):
    """Whether the text of an error says which part of the library it comes from."""
    return _NAMED.match(str(error)) is not None


@contextlib.contextmanager
def noting(text):
    """Adds the note `text()`, of where it was, to any error of a `with` block, which stays what it is."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "add_note"):
            error.add_note(text())
        elif error.args and isinstance(error.args[0], str):  # Python 3.10
            error.args = (f"{error.args[0]}\n{text()}", *error.args[1:])
        raise


@contextlib.contextmanager
def reading(where, what):
    """Raises ValueError that names the data set for any error of a `with` block that reads files."""
    try:
        yield
    except Exception as error:
        if is_named(error):
            raise
        raise ValueError(
            f"[{where}] {what} cannot be read, got {type(error).__name__}: {error}, expected the files of the "
            "documented format"
        ) from error
