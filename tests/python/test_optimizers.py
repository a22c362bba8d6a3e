"""Optimizers over gradients of every size: what MindSpore's make of them, kept in optimizer_values.txt."""

import os

import numpy as np
import optimizer_cases
from support import Case

import partita as ms
from partita import nn


def kept_values():
    """The parameter of each case after each of the steps that are compared."""
    with open(os.path.join(os.path.dirname(__file__), "optimizer_values.txt")) as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    count = len(optimizer_cases.AT)
    return {" ".join(words[:3]): np.array(words[3:], "f8").reshape(count, -1) for words in lines}


class Optimizers(Case):
    def test_follow_gradients_of_every_size(self):
        kept = kept_values()
        self.assertEqual(list(kept), optimizer_cases.cases())
        worst = 0.0
        for name, expected in kept.items():
            got = np.array(optimizer_cases.trained(ms, name), "f8")
            far = np.abs(got - expected).max() / np.abs(expected).max()
            worst = max(worst, far)
            with self.subTest(name):
                self.assertLess(far, optimizer_cases.TOLERANCE, f"{got.tolist()} instead of {expected.tolist()}")
        print(f"optimizers: {len(kept)} cases, the largest difference {worst:.1e}")

    def test_adam_adds_epsilon_before_the_correction(self):
        # Gradients of 1e-5 and the default epsilon: 14 % in ten steps between the two places of epsilon.
        parameter = ms.Parameter(ms.Tensor([0.0]), name="w")
        adam = nn.Adam([parameter], 0.01)
        v = m = p = 0.0
        for t in range(1, 11):
            adam((ms.Tensor([1e-5]),))
            m, v = 0.9 * m + 0.1 * 1e-5, 0.999 * v + 0.001 * 1e-10
            p -= 0.01 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
        self.close(parameter, [p], 1e-5)
