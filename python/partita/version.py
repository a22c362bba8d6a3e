"""The version of the package, and that of MindSpore whose interface it has."""

from partita import _core

INTERFACE = "2.10.0"
__version__ = _core.version()
