"""Functions and layers of ops and nn that MindSpore cannot run on a CPU: they give what PyTorch gives."""

import os
import unittest

import surface_calls
from support import Case

import partita as ms

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Elsewhere(Case):
    def test_gives_what_pytorch_gives(self):
        different, count = [], 0
        for line in surface_calls.lines_of(os.path.join(FOLDER, "surface", "functions.torch")):
            call, expected = line.split("\t")
            got, count = surface_calls.result_of(ms, call), count + 1
            if not surface_calls.are_equal(got, expected):
                different.append(f"{call}\n    {got}\n    instead of {expected}")
        print(f"results of PyTorch: {count} calls of ops and nn, {len(different)} different")
        self.assertEqual(different, [], "\n".join(different))
        self.assertGreaterEqual(count, 125)


if __name__ == "__main__":
    unittest.main()
