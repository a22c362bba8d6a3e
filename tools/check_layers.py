#!/usr/bin/env python3
"""Checks that every source file includes only what stands below it.

The storeys of src are listed from the lowest to the highest, each with its folders in their order. A file includes
files of its own folder, of the folders before it in its storey, and of lower storeys. Files that stand in a storey
itself, such as compiler/compile.h, come after its folders. So no folders include each other in a circle, and nothing
in compiler includes runtime. Unit tests and what they share (x_test.cpp, test_x.h) may include anything, also headers
of tests. The table of src/README.md lists the same folders. python_layers.py checks the imports of the Python package.

Exit code 1 and one line per violation."""
import pathlib
import re
import sys

import python_layers

STOREYS = {
    "base": [],
    "ir": ["sharding", "graph", "ops", "optimizers", "orders", "kernels", "work"],
    "frontend": ["network", "data"],
    "compiler": ["autodiff", "plan", "evaluation", "search", "partition", "schedule", "emit"],
    "runtime": ["pjrt", "device", "comm", "trace", "execute", "launch", "checkpoint"],
    "job": [],
    "zoo": [],
    "planner": [
        "cluster",
        "simulation",
        "pricing/layers",
        "pricing/step",
        "pricing/search",
        "plan_file",
        "explain",
        "compiled",
    ],
    "training": ["report", "runs", "sweep"],
    "calibrate": [],
    "cli": [],
}
# "ir/sharding", .., "ir", "frontend/network", ..
ORDER = [place for storey, folders in STOREYS.items() for place in [*(f"{storey}/{name}" for name in folders), storey]]
SOURCES = (".h", ".cpp", ".cu")


def place_of(path: pathlib.PurePath) -> str | None:
    """The entry of ORDER in which a file of src stands, None if it has none."""
    folders = path.parts[:-1]
    if not folders or folders[0] not in STOREYS:
        return None
    if len(folders) == 1 or not STOREYS[folders[0]]:
        return folders[0]
    places = ["/".join(folders[:depth]) for depth in range(2, len(folders) + 1)]
    return next((place for place in places if place in ORDER), None)


def check_includes(root: pathlib.Path) -> list[str]:
    """Faults of the includes of all sources of `root`, the folder src."""
    faults = []
    for path in sorted(root.rglob("*")):
        if path.suffix not in SOURCES:
            continue
        relative = path.relative_to(root)
        place = place_of(relative)
        if place is None:
            faults.append(f"{relative}: its folder is in no list of a storey")
            continue
        is_test = path.stem.endswith("_test") or path.name.startswith("test_")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not match:
                continue
            if is_test and (root.parent / "tests" / match[1]).is_file():
                continue
            target = place_of(pathlib.PurePath(match[1]))
            if target is None or not (root / match[1]).is_file():
                faults.append(f"{relative}:{number}: got \"{match[1]}\", expected a path from src")
            elif ORDER.index(target) > ORDER.index(place) and not is_test:
                faults.append(f"{relative}:{number}: {place} must not include {target}")
    return faults


def check_table(readme: pathlib.Path) -> list[str]:
    """Faults of the first column of the table of src/README.md: the places that hold sources, in their order."""
    written = re.findall(r"^\| `([\w/]+)` \|", readme.read_text(), re.M)
    expected = [place for place in ORDER if any(child.suffix in SOURCES for child in (readme.parent / place).glob("*"))]
    return [] if written == expected else [f"README.md: got the folders {written}, expected {expected}"]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    faults = check_table(root / "README.md") + check_includes(root) + python_layers.check(root.parent)
    print("\n".join(faults) if faults else "layers: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
