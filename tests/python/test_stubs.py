"""The type stubs of the extension module agree with it: the same names, with as many parameters."""

import ast
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))
import core_stubs  # noqa: E402

COMMITTED = os.path.join(os.path.dirname(__file__), "..", "..", "python", "partita", "_core.pyi")


def shape_of(text):
    """{path: number of parameters, or None} of what stubs say, whatever types are called."""
    found = {}

    def visit(node, path):
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.ClassDef):
                found[f"{path}{one.name}"] = None
                visit(one, f"{path}{one.name}.")
            elif isinstance(one, ast.FunctionDef):
                found[f"{path}{one.name}"] = len(one.args.args)

    visit(ast.parse(text), "")
    return found


class Stubs(unittest.TestCase):
    def test_agree_with_the_module(self):
        with open(COMMITTED) as file:
            committed = shape_of(file.read())
        self.assertGreater(len(committed), 150)
        self.assertEqual(committed, shape_of(core_stubs.stubs()), "run tools/core_stubs.py > python/partita/_core.pyi")

    def test_come_with_the_package(self):
        import partita

        self.assertTrue(os.path.isfile(os.path.join(os.path.dirname(partita.__file__), "py.typed")))
