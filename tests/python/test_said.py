"""Docstrings say shapes of results, and errors: `said_calls.txt` has calls with what they give, `call => shapes` or
`call !! error`."""

import os
import unittest

import numpy as np
from support import Case

import partita as ms
from partita import Tensor, mint, nn, ops


def of_floats(*shape):
    return Tensor(np.linspace(-1, 1, int(np.prod(shape)), dtype="f4").reshape(shape))


def of_zeros(*shape):
    return Tensor(np.zeros(shape, "i4"))


NAMES = {"ms": ms, "nn": nn, "ops": ops, "mint": mint, "Tensor": Tensor, "x": of_floats, "zeros": of_zeros}


def shapes_of(value):
    """The element type and the shape of a tensor, also in tuples; of other values the text."""
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(shapes_of, value)) + ")"
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, Tensor) else repr(value)


def given_by(call):
    """The text of the result of a call, or of its error."""
    try:
        return "=> " + shapes_of(eval(call, dict(NAMES)))
    except Exception as error:  # the kind of it is what a docstring says
        return "!! " + type(error).__name__


class Said(Case):
    def test_calls_give_what_docstrings_say(self):
        count = 0
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "said_calls.txt")) as file:
            for line in file:
                if line.startswith("#") or not line.strip():
                    continue
                call, sign, rest = line.rstrip("\n").partition(" => " if " => " in line else " !! ")
                with self.subTest(call=call):
                    self.assertEqual(given_by(call), f"{sign.strip()} {rest}")
                    count += 1
        self.assertGreater(count, 300)


if __name__ == "__main__":
    unittest.main()
