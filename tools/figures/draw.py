#!/usr/bin/env python3
"""Draws the figures of the documentation from what Partita prints.

usage: draw.py PARTITA [NAME..]     writes docs/figures/NAME.svg; without names all of them
       draw.py --check              every figure is there, well-formed, and used by a page

Each figure is a module of this folder with draw(run), where run(words..) gives what the command prints."""

import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "figures"
FIGURES = ("plan_page", "three_plans", "flow", "matmul_cuts", "propagated_mlp", "reshard_moves", "device_order",
           "pipeline_orders", "step_memory", "simulated_step", "all_reduce", "muon_curves")  # fmt: skip


def check():
    """Returns what is wrong with the figures, one text each."""
    faults = []
    pages = "".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    there = {path.stem for path in FOLDER.glob("*.svg")}
    faults += [f"docs/figures/{name}.svg is not there" for name in FIGURES if name not in there]
    faults += [f"docs/figures/{name}.svg is drawn by no script" for name in there.difference(FIGURES)]
    faults += [f"docs/figures/{name}.svg is on no page" for name in there if f"figures/{name}.svg" not in pages]
    for name in there:
        xml.dom.minidom.parse(str(FOLDER / f"{name}.svg"))
    return faults


def main():
    if sys.argv[1:] == ["--check"]:
        faults = check()
        print("\n".join(faults) if faults else f"figures: {len(FIGURES)}, ok")
        return 1 if faults else 0
    program, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or FIGURES
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:

            def run(*words, folder=folder):
                return subprocess.run([program, *words], cwd=folder, text=True, check=True, stdout=subprocess.PIPE,
                                      env=dict(os.environ, OMP_NUM_THREADS="1")).stdout

            run.folder = pathlib.Path(folder)
            (FOLDER / f"{name}.svg").write_text(importlib.import_module(name).draw(run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
