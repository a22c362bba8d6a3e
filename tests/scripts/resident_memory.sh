#!/usr/bin/env bash
# What a training has in memory is its arenas, 5 % and 64 MiB.
set -euo pipefail
export OMP_NUM_THREADS=1
/usr/bin/python3 - build/release/partita <<'PYTHON'
import re
import resource
import subprocess
import sys

MIB = 2**20


def resident(arguments):
    """Bytes of the arenas, and the most that the process had; children of this process grow."""
    command = [sys.argv[1], "train", "--threads", "1", "--no-eval", "--verbose", "--steps", "2", *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    amount, unit = re.search(r"memory: ([0-9.]+) (\w+) of each rank", output).groups()
    arena = float(amount) * {"KiB": 2**10, "MiB": MIB, "GiB": 2**30}[unit]
    return arena, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


gpt = "gpt:layers=6,hidden=384,heads=6,seq=256"
for ranks, arguments in [
    (4, [gpt, "--batch", "8", "--ranks", "4", "--zero", "3", "--micro-batches", "2"]),
    (1, [gpt, "--batch", "16", "--ranks", "1"]),
]:
    arena, most = resident(arguments)
    allowed = 1.05 * ranks * arena + 64 * MIB
    print(f"{ranks} ranks: arenas of {ranks * arena / MIB:.0f} MiB, {most / MIB:.0f} MiB resident")
    if most > allowed:
        sys.exit(f"got {most / MIB:.0f} MiB, expected at most {allowed / MIB:.0f} MiB: {' '.join(arguments)}")
PYTHON
echo "resident memory: passed"
