"""Scripts set locales. What the library reads and prints stays the same."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = """
import locale, os, sys
import numpy as np
if sys.argv[2]:
    locale.setlocale(locale.LC_ALL, sys.argv[2])
    assert locale.localeconv()["decimal_point"] != "."
import partita as ms
from partita import dataset as ds, nn, train
from support import Small, labelled

def model():
    net = Small()
    update = nn.Momentum(net.trainable_params(), 0.0125, 0.9)
    return net, train.Model(net, nn.CrossEntropyLoss(), update, metrics={"acc"})

rows = ds.NumpySlicesDataset(labelled(64), ["data", "label"], shuffle=False).batch(16)
ms.set_seed(1)
net, trained = model()
trained.train(2, rows, callbacks=[train.LossMonitor()])
path = os.path.join(sys.argv[1], "net.ckpt")
ms.save_checkpoint(net, path)
other, again = model()
ms.load_param_into_net(other, ms.load_checkpoint(path))
print(again.eval(rows))
again.train(1, rows, callbacks=[train.LossMonitor()])
print(repr([float(np.sum(p.asnumpy())) for p in other.trainable_params()]))
"""


class Locales(unittest.TestCase):
    def printed(self, folder, name):
        environment = {**os.environ, "LOCPATH": folder}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, folder, name], env=environment, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipUnless(shutil.which("localedef"), "no localedef makes locales")
    def test_numbers_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            expected = self.printed(folder, "")
            self.assertIn("loss is", expected)
            for name in ("de_DE", "ps_AF"):
                made = os.path.join(folder, name + ".UTF-8")
                subprocess.run(["localedef", "-c", "-i", name, "-f", "UTF-8", made], capture_output=True, check=False)
                if not os.path.isdir(made):
                    self.skipTest(f"no sources of {name}")
                self.assertEqual(self.printed(folder, name + ".UTF-8"), expected, name)


if __name__ == "__main__":
    unittest.main()
