"""Modules that are imported when one of their names is first asked for: the tables of their names are current, and the
names are those of the modules."""

import os
import pkgutil
import subprocess
import sys

from support import Case

import partita as ms
from partita import nn, ops
from partita.ops import functional, later

TOOL = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "later_names.py")


class Later(Case):
    def test_tables_are_current(self):
        done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_imports_what_is_asked_for(self):
        program = (
            "import sys, partita as ms; from partita import nn, ops;"
            "late = ['partita.ops.boxes', 'partita.nn.similarity', 'partita.ops.place_methods',"
            " 'partita.nn.probability'];"
            "assert not any(one in sys.modules for one in late), [one for one in late if one in sys.modules];"
            "assert 'iou' in dir(ops) and 'PSNR' in dir(nn) and hasattr(ms.Tensor, 'scatter_');"
            "ops.iou, nn.PSNR, nn.probability; ms.Tensor([1.0, 2.0]).ptp();"
            "assert all(one in sys.modules for one in late)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_no_name_is_that_of_a_module(self):
        for package, tables in ((ops, (later.FUNCTIONS, later.OBJECTS)), (nn, (nn.later.LAYERS,))):
            modules = {one.name for one in pkgutil.iter_modules(package.__path__)}
            names = {name for table in tables for names in table.values() for name in names.split()}
            self.assertEqual(modules & names, set())  # an imported module would stand in the name's place

    def test_a_name_is_one_object(self):
        for name in ("scatter_nd", "cholesky", "ctc_loss"):
            self.assertIs(getattr(ops, name), getattr(functional, name))
        self.assertIs(ops.ScatterNd, ops.operations.ScatterNd)
        self.assertIs(nn.FTRL, nn.optim.FTRL)

    def test_a_method_that_a_library_set_stays(self):
        before = ms.Tensor.ptp
        program = (
            "import partita as ms; ms.Tensor.ptp = lambda self: 7; x = ms.Tensor([1.0, 2.0]);"
            "x.scatter_(0, ms.Tensor([0]), ms.Tensor([5.0])); assert x.ptp() == 7 and x.asnumpy()[0] == 5"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIs(ms.Tensor.ptp, before)

    def test_says_what_is_not_there(self):
        with self.assertRaisesRegex(AttributeError, r"\[partita.ops\] unknown name, got 'scatter_nb'"):
            ops.scatter_nb
