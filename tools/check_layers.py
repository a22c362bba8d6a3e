#!/usr/bin/env python3
"""Checks that every source file includes only what its folder may see.

The folders stand in the order of the flow (docs/internals/overview.md); a folder sees itself and the folders
listed for it, as the table of src/README.md says. The modules of the Python package are checked by
python_layers.py. Exit code 1 and one line per violation."""
import pathlib
import re
import sys

import python_layers

ALLOWED = {
    "base": [],
    "sharding": ["base"],
    "cluster": ["base", "sharding"],
    "graph": ["base", "sharding"],
    "ops": ["base", "sharding", "graph"],
    "network": ["base", "sharding", "graph", "ops"],
    "autodiff": ["base", "sharding", "graph", "ops"],
    "lowering": ["base", "sharding", "cluster", "graph"],
    "pipeline": ["base"],
    "plan": ["base", "sharding", "graph", "lowering", "pipeline"],
    "partition": ["base", "sharding", "graph", "lowering"],
    "schedule": ["base", "sharding", "graph", "lowering", "pipeline", "partition"],
    "simulate": ["base", "sharding", "cluster", "graph", "lowering", "pipeline", "partition", "schedule"],
    "device": ["base", "sharding", "graph", "ops", "lowering"],
    "comm": ["base"],
    "execute": ["base", "sharding", "graph", "lowering", "pipeline", "partition", "schedule", "device", "comm"],
    "data": ["base"],
    "launch": ["base", "comm"],
    "job": ["base", "sharding", "graph", "ops", "network", "autodiff", "lowering", "plan", "schedule", "device", "comm", "data",
            "launch"],
    "planning": ["base", "sharding", "cluster", "graph", "autodiff", "lowering", "pipeline", "plan", "partition", "schedule", "simulate", "job"],
    "explain": ["base", "sharding", "cluster", "graph", "autodiff", "lowering", "pipeline", "plan", "partition", "planning"],
    "checkpoint": ["base", "sharding", "graph", "network", "lowering", "partition", "schedule", "device", "comm", "execute", "launch"],
    "training": ["base", "sharding", "cluster", "graph", "ops", "network", "autodiff", "lowering", "pipeline", "plan", "partition", "schedule",
                 "simulate", "device", "comm", "execute", "data", "launch", "job", "planning", "checkpoint"],
    "zoo": ["base", "sharding", "graph", "ops", "network", "autodiff", "lowering", "plan", "data", "launch", "job"],
    "calibrate": ["base", "sharding", "cluster", "graph", "ops", "network", "autodiff", "lowering", "plan",
                  "partition", "schedule", "simulate", "device", "comm", "execute", "data", "launch", "job", "planning", "training", "zoo"],
    "report": ["base", "graph", "data", "launch", "training"],
    "cli": ["base", "sharding", "cluster", "graph", "ops", "network", "autodiff", "lowering", "pipeline", "plan", "partition",
            "schedule", "simulate", "device", "comm", "execute", "data", "launch", "job", "planning", "explain", "checkpoint", "training", "zoo", "calibrate", "report"],
}
COMPILE = {"compile.h", "compile.cpp"}  # the flow itself: sees every stage


def check_table(readme: pathlib.Path) -> list[str]:
    """The last column of the table of folders has what ALLOWED has."""
    rows = re.findall(r"^\|[ \d]*\| `(\w+)` \|.*\| ([\w, ]*)\|$", readme.read_text(), re.M)
    written = {folder: ["base", *filter(None, re.split(r"[, ]+", others))] for folder, others in rows}
    expected = {folder: ["base", *(other for other in allowed if other != "base")]
                for folder, allowed in ALLOWED.items()}
    return [f"README.md: row of '{folder}': got {written.get(folder)}, expected {allowed}"
            for folder, allowed in expected.items() if written.get(folder) != allowed]


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    faults = check_table(root / "README.md") + python_layers.check(root.parent)
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cpp", ".cu"):
            continue
        relative = path.relative_to(root)
        if relative.name in COMPILE and len(relative.parts) == 1:
            continue
        folder = relative.parts[0]
        if folder not in ALLOWED:
            faults.append(f"{relative}: folder '{folder}' is not in the list of layers")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if not match:
                continue
            target = match.group(1).split("/")[0]
            if match.group(1) == "compile.h":
                if folder not in ("job", "planning", "checkpoint", "training", "cli"):
                    faults.append(f"{relative}:{number}: {folder} must not include compile.h")
            elif target != folder and target not in ALLOWED[folder]:
                # A unit test, and what tests share, may use the registry of ops.
                if not ((path.name.endswith("_test.cpp") or path.name.startswith("test_")) and target in ALLOWED):
                    faults.append(f"{relative}:{number}: {folder} must not include {target}")
    print("\n".join(faults) if faults else "layers: ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
