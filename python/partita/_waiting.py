"""Bounds how long idle compute threads spin; imported before the library, and with it OpenMP's, is loaded."""

import os

# Spins of a waiting thread, as in src/cli/waiting.cpp.
_MAX_SPINS = "2000"

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", _MAX_SPINS)
