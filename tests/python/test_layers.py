"""The check of the package's imports (tools/python_layers.py) finds faults. `tools/check_layers.py` runs it."""

import os
import pathlib
import sys
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, os.fspath(REPOSITORY / "tools"))
import python_layers  # noqa: E402


class Layers(unittest.TestCase):
    def faults(self, **sources):
        """Faults of a package of these modules, dots written as two underscores."""
        names = {"common": "common.__init__", "ops": "ops.__init__"}
        return python_layers.faults_of({names.get(key, key.replace("__", ".")): text for key, text in sources.items()})

    def test_finds_what_goes_up(self):
        for source in (
            "from partita import ops",
            "import partita.ops",
            "from partita.ops.shapes import tile",
            "from .ops import shapes",
            "try:\n    import partita.ops.shapes as s\nexcept ImportError:\n    s = None",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from partita.ops import shapes",
        ):
            with self.subTest(source):
                found = self.faults(context=source, ops="", ops__shapes="tile = 1")
                self.assertEqual(len(found), 1)
                self.assertIn("context must not import ops, which stands after it", found[0])
        self.assertEqual(self.faults(context="from partita import _names", _names=""), [])
        self.assertIn("'other' is not in the list of layers", self.faults(other="")[0])

    def test_finds_imports_that_are_hidden(self):
        hidden = "def late():\n    from partita import _names\n    return _names"
        self.assertEqual(
            self.faults(context=hidden, _names=""), ["context:2: an import of partita._names inside a function"]
        )
        self.assertIn("inside a function", self.faults(context="def late():\n    import torch")[0])
        dynamic = "import importlib\nimportlib.import_module('partita.ops')"
        self.assertIn("by a function", self.faults(context=dynamic)[0])
        self.assertEqual(self.faults(train__program="def late():\n    import networkx"), [])

    def test_finds_circles(self):
        modules = {"ops": "", "ops__a": "from partita.ops import b", "ops__b": "from partita.ops.c import x"}
        found = self.faults(**modules, ops__c="import partita.ops.a")
        self.assertEqual(found, ["circle of imports: ops.a -> ops.b -> ops.c -> ops.a"])
        # To import a module runs the file of its package first, but for modules of this package.
        modules = {"ops": "from partita.ops.a import x", "ops__a": "x = 1"}
        self.assertEqual(self.faults(**modules, nn__a="import partita.ops.a"), [])
        found = self.faults(**modules, ops__b="import partita.ops", nn__a="import partita.ops.b")
        self.assertEqual(found, [])
        found = self.faults(ops="import partita.ops.a", ops__a="import partita.ops")
        self.assertEqual(found, ["circle of imports: ops.__init__ -> ops.a -> ops.__init__"])

    def test_compares_the_table(self):
        page = (REPOSITORY / "python" / "README.md").read_text()
        found = python_layers.table_faults(page.replace("| tracing | `_own_gradient`", "| tracing | `amp`"))
        rows = "['amp', '_trace', '_mapping'], expected ['_own_gradient', '_trace', '_mapping']"
        self.assertEqual(found, [f"python/README.md: row of 'tracing': got {rows}"])
