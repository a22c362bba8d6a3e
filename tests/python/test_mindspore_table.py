"""Compares the package with MindSpore 2.10: names that scripts use, parameters in their order, defaults and results.
Those of MindSpore are in mindspore_names.txt and surface/*.results, known differences and their reasons in
mindspore_deviations.txt."""

import os
import re

import count_names
import surface_calls
from support import Case

import partita as ms

FOLDER = os.path.dirname(__file__)
KINDS = ("missing", "parameters", "call")


def lines_of(name):
    return surface_calls.lines_of(os.path.join(FOLDER, name))


def deviations(kind):
    """{what: reason} of the listed deviations of a kind."""
    found = {}
    for line in lines_of("mindspore_deviations.txt"):
        head, _, reason = line.rpartition(" | ")
        own, _, what = head.partition(" ")
        if own == kind:
            found[what] = reason
    return found


class Table(Case):
    def test_deviations_have_reasons(self):
        for line in lines_of("mindspore_deviations.txt"):
            head, bar, reason = line.rpartition(" | ")
            self.assertIn(head.partition(" ")[0], KINDS, line)
            self.assertTrue(bar and len(reason) > 10, line)

    def test_has_names_and_parameters(self):
        missing, others, checked = set(), set(), 0
        for line in lines_of("mindspore_names.txt"):
            name, bracket, rest = line.partition("(")
            if not count_names.is_there(name):
                missing.add(name)
                continue
            expected = bracket + rest
            got = surface_calls.parameters_of(count_names.resolved(name)) if expected else ""
            if expected != "(..)" and got != expected:
                others.add(name)
            checked += 1
        print(
            f"names of MindSpore with their parameters: {checked} there, {len(missing)} missing, {len(others)} others"
        )
        self.assertEqual(sorted(missing), sorted(deviations("missing")))
        self.assertEqual(sorted(others), sorted(deviations("parameters")))
        self.assertGreaterEqual(checked, 240)

    def test_gives_the_same_results(self):
        listed, used, different = deviations("call"), set(), []
        calls = [line for path in surface_calls.lists(".results").values() for line in surface_calls.lines_of(path)]
        for line in calls:
            call, expected = line.split("\t")
            got = surface_calls.result_of(ms, call)
            if surface_calls.are_equal(got, expected):
                continue
            known = [pattern for pattern in listed if re.search(pattern, call)]
            used.update(known)
            if not known:
                different.append(f"{call}\n    {got}\n    instead of {expected}")
        print(f"results of MindSpore: {len(calls)} calls, {len(different)} different outside the listed deviations")
        self.assertEqual(different, [], "\n".join(different))
        self.assertGreaterEqual(len(calls), 580)
        only_drawn = {pattern for pattern in listed if pattern.startswith("(?#drawn)")}  # of random calls alone
        self.assertEqual(sorted(set(listed) - used - only_drawn), [], "listed, and not different")

    def test_finds_what_differs(self):
        for got, expected in (
            ("Float32[] 2", "Float64[] 2"),
            ("Float32[2] 1 2", "Float32[1, 2] 1 2"),
            ("Float32[2] 1 2.001", "Float32[2] 1 2"),
            ("Float32[] 1", "Float32[] nan"),
            ("tuple(Float32[] 2, Int64[] 0)", "Float32[] 2"),
            ("refused TypeError: no", "Float32[] 2"),
        ):
            self.assertFalse(surface_calls.are_equal(got, expected), got)
        self.assertTrue(surface_calls.are_equal("tuple(Float32[2] 1 nan)", "tuple(Float32[2] 1.00001 nan)"))
