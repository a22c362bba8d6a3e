"""The type stubs of the extension module agree with it: the same names, with as many parameters. Annotations name types
that are there."""

import ast
import importlib
import inspect
import os
import sys
import typing
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


class Annotations(unittest.TestCase):
    MODULES = "numpy train dataset dataset.vision dataset.transforms dataset.text dataset.audio communication amp"

    def _functions(self):
        for name in self.MODULES.split():
            module = importlib.import_module(f"partita.{name}")
            for one in (getattr(module, key) for key in dir(module) if not key.startswith("_")):
                members = [one] if inspect.isfunction(one) else vars(one).values() if inspect.isclass(one) else []
                members = [getattr(member, "__func__", member) for member in members]  # of a class or static
                yield from filter(inspect.isfunction, members)

    def test_name_types(self):
        # Imported where they are asked for; Python 3.10 has no Self.
        later = {"Dataset": importlib.import_module("partita.dataset").Dataset, "Self": getattr(typing, "Self", object)}
        annotated = 0
        for function in self._functions():
            if function.__module__.startswith("partita."):
                annotated += bool(typing.get_type_hints(function, None, later))  # raises NameError for an unknown name
        self.assertGreater(annotated, 400)
