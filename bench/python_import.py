"""The processor time of `import partita` next to that of `import numpy`, which it includes.

    PYTHONPATH=build/release/python /usr/bin/python3 bench/python_import.py [RUNS=5]

Prints the least of the runs, in seconds, without the start of the interpreter.
"""

import os
import subprocess
import sys


def processor_seconds(statement, runs):
    """Return the least processor time of `runs` processes that run the statement."""
    found = []
    for _ in range(runs):
        child = subprocess.Popen([sys.executable, "-c", statement])
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            raise SystemExit(f"{statement}: exit status {status}")
        found.append(usage.ru_utime + usage.ru_stime)
    return min(found)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    nothing = processor_seconds("pass", runs)
    numpy = processor_seconds("import numpy", runs) - nothing
    seconds = processor_seconds("import partita", runs) - nothing
    print(f"import partita: {seconds:.2f} s, {seconds / numpy:.1f} times numpy's {numpy:.2f} s")


if __name__ == "__main__":
    main()
