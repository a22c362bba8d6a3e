"""Runs the scripts of this folder and compares what they print: compare.py [--write] [--ranks] [SCRIPT ..].

With the Python of an environment that has MindSpore (MINDSPORE_PYTHON), each script runs unchanged under both systems;
without one, the lines are those of losses.txt, which --write renews. With --ranks four ranks, threads and processes,
are compared with one process by statistics of the global batch, and with each other by those of each rank. Needs
partita in PYTHONPATH. Ends with 1 when a script differs."""

import argparse
import os
import sys

from losses import PARTITA, SCRIPTS, compared, keep, kept, printed, printed_by_processes

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--write", action="store_true", help="write losses.txt")
parser.add_argument("--ranks", action="store_true", help="compare four ranks")
parser.add_argument("scripts", nargs="*", default=SCRIPTS)
flags = parser.parse_args()
THREADS = {"PORTION_RANKS": "4", "PARTITA_RANKS": "4"}
bad = []


def line(name, what, got, expected):
    worst, differing = compared(got, expected)
    print(f"{name:12} {what:36} {len(got):3} lines, the largest difference {worst:.1e}", flush=True)
    for one, other in differing:
        print(f"    {one}\n    {other}")
    if differing:
        bad.append(name)


def among_ranks(name):
    one = printed(name, PARTITA)
    line(name, "threads, global batch norm", printed(name, PARTITA, PORTION_BATCH_NORM="global", **THREADS), one)
    line(name, "processes, global batch norm", of_processes(name, PORTION_BATCH_NORM="global"), one)
    line(name, "processes and threads", of_processes(name), printed(name, PARTITA, **THREADS))


def of_processes(name, **environment):
    """The lines of the first of four processes; all have to print the same losses and weights."""
    first, *others = printed_by_processes(name, 4, **environment)
    for i, one in enumerate(others):
        if one != first:
            differing = [pair for pair in zip(one, first) if pair[0] != pair[1]]
            print(f"{name}: process {i + 1} prints something else: {differing[:2]}, {len(one)} of {len(first)} lines")
            bad.append(name)
    return first


if flags.ranks:
    for name in flags.scripts:
        try:
            among_ranks(name)
        except RuntimeError as error:
            print(error, flush=True)
            bad.append(name)
else:
    other = os.environ.get("MINDSPORE_PYTHON")
    found = {name: printed(name, [other]) for name in flags.scripts} if other else kept()
    if flags.write:
        keep({**(kept() if flags.scripts != SCRIPTS else {}), **found})
    for name in flags.scripts:
        line(name, "MindSpore" if other else "losses.txt", printed(name, PARTITA), found[name])
print(f"{len(flags.scripts)} scripts, {len(set(bad))} differ")
sys.exit(1 if bad else 0)
