"""Scripts under `partita.msrun`."""

import os
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest.mock

from support import Case

import partita as ms
from partita import msrun
from partita.version import INTERFACE


class Scripts(Case):
    def printed(self, script):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as file:
                file.write(textwrap.dedent(script))
            done = subprocess.run([sys.executable, "-m", "partita.msrun", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_find_the_version_of_the_interface(self):
        found = self.printed("""
            import mindspore
            from mindspore import __version__
            from mindspore.version import __version__ as other

            def is_version_ge(current, base):
                return tuple(map(int, current.split("."))) >= tuple(map(int, base.split(".")))

            print(mindspore.__version__, __version__, other, is_version_ge(mindspore.__version__, "2.3.0"))
            """)
        self.assertEqual(found, [INTERFACE] * 3 + ["True"])
        self.assertNotEqual(ms.__version__, INTERFACE)

    def test_know_their_place(self):
        place = types.SimpleNamespace(rank=3, ranks=4, local_rank=1)
        with unittest.mock.patch.dict(os.environ, {"DEVICE_ID": "7"}, clear=True):
            msrun._tell_place(place)
            told = {"RANK_ID": "3", "RANK_SIZE": "4", "DEVICE_ID": "7", "MS_NODE_ID": "3", "MS_WORKER_NUM": "4"}
            self.assertEqual(dict(os.environ), told)
        with unittest.mock.patch.dict(os.environ, {}, clear=True):
            msrun._tell_place(types.SimpleNamespace(rank=0, ranks=1, local_rank=0))
            self.assertEqual(dict(os.environ), {})
