"""`python -m partita`: runs the command `partita` that comes with the package."""

import importlib.metadata
import os
import sys


def _program():
    """Returns the path of the command: that of the installed package, or of the build folder around this one."""
    try:
        files = importlib.metadata.files("partita") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    candidates = [str(one.locate()) for one in files if one.name == "partita"]
    candidates.append(os.path.join(os.path.dirname(__file__), "..", "..", "partita"))
    for path in candidates:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    sys.exit(f"[partita] the command was not found, got {candidates[-1]}, expected one that comes with the package")


if __name__ == "__main__":
    os.execv(_program(), ["partita", *sys.argv[1:]])
