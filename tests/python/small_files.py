"""Writes small files of MNIST and CIFAR-10: small_files.py FOLDER."""

import os
import shutil
import sys

from support import Folder

folder = Folder(96)
for name, part in (("mnist", "ubyte"), ("cifar", "bin")):
    os.makedirs(os.path.join(sys.argv[1], name))
    for file in os.listdir(folder.path):
        if file.endswith(part):
            shutil.copy(os.path.join(folder.path, file), os.path.join(sys.argv[1], name))
folder.close()
