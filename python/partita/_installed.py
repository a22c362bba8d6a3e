"""A check of the installation."""

from __future__ import annotations

import numpy as np

from partita.common.tensor import Tensor
from partita.common.tools import get_current_device
from partita.ops import functional as F
from partita.version import __version__


def run_check() -> None:
    """Prints the version, and whether a product is right."""
    print(f"Partita version: {__version__}")
    drawn = np.random.default_rng().standard_normal((2, 8, 8)).astype(np.float32)
    found = F.matmul(Tensor(drawn[0]), Tensor(drawn[1])).asnumpy()
    if not np.allclose(found, drawn[0] @ drawn[1], 1e-4, 1e-4):
        raise RuntimeError("[run_check] the result of a product is wrong, got other numbers than NumPy's")
    print(f"The result of multiplication calculation is correct: Partita computes on the {get_current_device()[0]}.")
