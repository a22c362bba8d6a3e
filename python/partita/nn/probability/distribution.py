"""Distributions that client libraries import and derive classes from."""

import sys

from partita._names import absent_all, refuse_missing

globals().update(
    absent_all(
        __name__,
        {
            "Categorical": "ops.multinomial",
            "Distribution": "functions of ops.rand and ops.randn",
            "Normal": "ops.normal, and the formula of the density",
            "StudentT": "functions of ops.randn",
            "TransformedDistribution": "functions of ops.rand and ops.randn",
        },
    )
)

distribution = sys.modules[__name__]  # the name of its file in the documented system
__getattr__ = refuse_missing(globals())
