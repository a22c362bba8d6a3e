"""Scripts under `partita.msrun`."""

import os
import subprocess
import sys
import tempfile
import textwrap

from support import Case

import partita as ms
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
