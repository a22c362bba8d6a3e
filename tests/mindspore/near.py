"""Compares the losses that exchange.py printed: near.py FILE FILE.. Exit code 1 if any are further apart than 1e-5."""

import sys


def losses(path):
    with open(path) as file:
        lines = [line.split() for line in file]
    return {tuple(line[:2]): [float(one) for one in line[2:]] for line in lines if line}


first, *others = [losses(path) for path in sys.argv[1:]]
worst = 0.0
for case, expected in first.items():
    for path, other in zip(sys.argv[2:], others):
        got = other.get(case, [])
        apart = max((abs(a - b) for a, b in zip(got, expected)), default=float("inf"))
        apart = apart if len(got) == len(expected) else float("inf")
        worst = max(worst, apart)
        if not apart <= 1e-5:
            print(f"{' '.join(case)}: {path} has {got}, expected {expected}")
print(f"{len(first)} trainings, largest difference {worst:.3g}")
sys.exit(0 if first and worst <= 1e-5 else 1)
