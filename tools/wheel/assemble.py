"""Puts the Python files, the compiled modules and the command into a wheel for each Python.

    assemble.py BUILD HEADERS OUT

BUILD has the program and modules/X.Y; HEADERS a folder for each version X.Y; the wheels go to OUT.
"""

import os
import pathlib
import sys

from scikit_build_core.build import prepare_metadata_for_build_wheel
from wheel.wheelfile import WheelFile


def add_tree(archive, source, target):
    """Adds the files of a folder, without caches, in order of their names."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            archive.write(str(path), str(pathlib.PurePosixPath(target, path.relative_to(source))))


def write_wheel(build, version, metadata, out):
    """Writes the wheel for one Python and returns its path."""
    name = metadata.name.removesuffix(".dist-info")
    digits = version.replace(".", "")
    path = out / f"{name}-cp{digits}-cp{digits}-linux_x86_64.whl"
    tag = f"Wheel-Version: 1.0\nGenerator: partita\nRoot-Is-Purelib: false\nTag: cp{digits}-cp{digits}-linux_x86_64\n"
    with WheelFile(str(path), "w") as archive:
        add_tree(archive, pathlib.Path("python/partita"), "partita")
        (module,) = (build / "modules" / version).glob("_core*.so")
        archive.write(str(module), f"partita/{module.name}")
        archive.write(str(build / "partita"), f"{name}.data/scripts/partita")
        for file in sorted(metadata.rglob("*")):
            if file.is_file() and file.name not in ("WHEEL", "RECORD"):
                archive.write(str(file), f"{metadata.name}/{file.relative_to(metadata)}")
        archive.writestr(f"{metadata.name}/WHEEL", tag)
    return path


def main():
    """Writes a wheel for each version of HEADERS."""
    build, headers, out = map(pathlib.Path, sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    metadata = out / prepare_metadata_for_build_wheel(str(out))
    for version in sorted(os.listdir(headers), key=lambda text: [int(part) for part in text.split(".")]):
        print(write_wheel(build, version, metadata, out))


if __name__ == "__main__":
    main()
