"""The scripts of tests/soak/portions for three steps: what MindSpore printed (losses.txt), also by ranks.
tests/soak/portions/compare.py compares all eight steps, and runs MindSpore."""

import os
import shutil
import sys
import unittest

from support import Case

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "soak", "portions"))

import losses  # noqa: E402

_STEPS = 3


def of_steps(lines):
    return [line for line in lines if line.startswith("step ")][:_STEPS]


class Portions(Case):
    def equal(self, name, got):
        got, expected = of_steps(got), of_steps(losses.kept()[name])
        self.assertEqual(len(got), _STEPS)
        worst, differing = losses.compared(got, expected)
        self.assertFalse(differing, f"{name}: {worst}")

    def test_prints_what_mindspore_prints(self):
        self.assertEqual(sorted(losses.kept()), sorted(losses.SCRIPTS))
        for name in losses.SCRIPTS:
            with self.subTest(name):
                self.equal(name, losses.printed(name, losses.PARTITA, _STEPS))

    def test_by_threads(self):
        threads = {"PORTION_RANKS": "4", "PARTITA_RANKS": "4", "PORTION_BATCH_NORM": "global"}
        for name in ("unet", "seq2seq"):
            with self.subTest(name):
                self.equal(name, losses.printed(name, losses.PARTITA, _STEPS, **threads))

    @unittest.skipUnless(shutil.which("mpirun"), "needs mpirun")
    def test_by_processes(self):
        for name in ("ssd", "seq2seq"):
            found = losses.printed_by_processes(name, 2, _STEPS, PORTION_BATCH_NORM="global")
            self.assertEqual(len(found), 2)
            for lines in found:
                with self.subTest(name):
                    self.equal(name, lines)

    def test_finds_differences(self):
        line = "weight a.b 1 2 0.001"
        for other, expected in (
            ("weight a.b 1.1 2 0.001", 0.1),
            ("weight net.a.b 1 2 0.001", 0),
            ("weight a.b 1 2 0.002", 0.01),
            ("weight c 1 2 0.001", float("inf")),
            ("weight a.b 1 2", float("inf")),
        ):
            self.close(losses.difference(other, line), expected)
        self.assertEqual(losses.compared([line], [line, line])[0], float("inf"))
