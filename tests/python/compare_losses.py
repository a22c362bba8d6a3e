"""Checks that RANKS processes printed the losses of one process with as many ranks: compare_losses.py PROCESSES ONE
RANKS [TOLERANCE]. Lines may be joined where processes write at the same time."""

import re
import sys
from collections import Counter

LINE = re.compile(r"epoch: (\d+) step: (\d+), loss is (\d+\.\d+(?:e-?\d+)?)")


def printed(path):
    with open(path) as file:
        return [(int(epoch), int(step), float(loss)) for epoch, step, loss in LINE.findall(file.read())]


processes, one, ranks = printed(sys.argv[1]), printed(sys.argv[2]), int(sys.argv[3])
assert one, "no losses"
assert Counter(line[:2] for line in processes) == {line[:2]: ranks for line in one}, processes
tolerance = float(sys.argv[4]) if len(sys.argv) > 4 else 1e-5
expected = {line[:2]: line[2] for line in one}
for epoch, step, loss in processes:
    assert abs(loss - expected[epoch, step]) <= tolerance * abs(loss), (epoch, step, loss, expected[epoch, step])
print(f"{len(one)} losses, the same on {ranks} processes and in one")
