"""Lines that the scripts of this folder print, those of MindSpore in a file, and how far they are apart."""

import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "losses.txt")
SCRIPTS = """
    fcn ssd unet vae dcgan diffusion lstm_crf seq2seq gcn simclr distill mobilenetv3 pinn elbo
    """.split()
TOLERANCE = 1e-4
_LINE = re.compile(r"(step|value|weight) .*")


def run(name, command, steps, environment):
    """Runs a script and returns its output. Raises RuntimeError with the end of its output if it fails."""
    environment = {**os.environ, "PORTION_STEPS": str(steps), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [*command, os.path.join(HERE, name + ".py")], env=environment, capture_output=True, text=True, timeout=600
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-1500:]}")
    return done.stdout


def printed(name, command, steps=8, **environment):
    """The lines that a script prints."""
    return [line for line in run(name, command, steps, environment).splitlines() if _LINE.fullmatch(line)]


def printed_by_processes(name, count, steps=8, **environment):
    """For each of the processes that mpirun starts the lines that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        launcher = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--output-filename", folder, "-n", str(count)]
        environment = {"PORTION_RANKS": str(count), "OMP_NUM_THREADS": "1", **environment}
        run(name, [*launcher, *PARTITA], steps, environment)
        found = []
        for path in sorted(glob.glob(os.path.join(folder, "*", "rank.*", "stdout"))):
            with open(path) as file:
                found.append([line for line in file.read().splitlines() if _LINE.fullmatch(line)])
    return found


def kept():
    """{script: the lines that MindSpore printed}."""
    found, lines = {}, []
    with open(FILE) as file:
        for line in file:
            if line.startswith("["):
                lines = found[line.strip()[1:-1]] = []
            elif not line.startswith("#"):
                lines.append(line.rstrip("\n"))
    return found


def keep(found):
    with open(FILE, "w") as out:
        out.write("# What MindSpore 2.10 prints on a CPU: made by compare.py --write.\n")
        for name, lines in found.items():
            out.write("".join(line + "\n" for line in [f"[{name}]", *lines]))


def difference(got, expected):
    """The largest relative difference of the numbers of two lines; infinity if something else differs. Sizes below 0.1
    count as 0.1, except those of losses. A parameter may have a longer name in one of them."""
    first, second = got.split(), expected.split()
    if len(first) != len(second) or first[0] != second[0]:
        return float("inf")
    least, worst = (1e-9 if first[0] == "step" else 0.1), 0.0
    for one, other in zip(first[1:], second[1:]):
        try:
            a, b = float(one), float(other)
        except ValueError:
            if not (one.endswith(other) or other.endswith(one)):
                return float("inf")
            continue
        worst = max(worst, abs(a - b) / max(abs(b), least))
    return worst


def compared(got, expected):
    """(the largest difference, the lines that differ by more than the tolerance)."""
    if len(got) != len(expected):
        return float("inf"), [(f"{len(got)} lines", f"{len(expected)} lines")]
    pairs = [(difference(a, b), a, b) for a, b in zip(got, expected)]
    return max(one[0] for one in pairs), [one[1:] for one in pairs if not one[0] <= TOLERANCE]


PARTITA = [sys.executable, "-m", "partita.msrun"]
