"""Random calls of documented functions in both systems.

compare_calls.py [--seed N] [--calls N | --each N] [--show] [--kept FOLDER] [--only NAMES] [--equal FILE]

Counts calls that MindSpore carries out: those with an equal result, those that are refused here, listed deviations of
tests/python/mindspore_deviations.txt, and those that are silently different, which are printed. Ends with 1 when one is
silently different, or when less than 98 % of those that both carry out are equal, or more than 12 % are refused here.
With --each N every name with a template has N calls. --equal writes the calls that are equal to a file, from which
../clients/names.py counts names.

Each system has processes of its own, of 300 calls each; a call that ends its process counts as refused. Results of
MindSpore are kept in FOLDER, from which a second comparison takes them."""

import argparse
import collections
import hashlib
import itertools
import os
import pickle
import re
import subprocess
import sys
import tempfile

import numpy as np
import random_calls

FOLDER = os.path.dirname(os.path.abspath(__file__))
DEVIATIONS = os.path.join(FOLDER, "..", "..", "python", "mindspore_deviations.txt")
CHUNK = 300
_KINDS = ("equal", "refused", "listed", "different", "refused there", "refused by both")
# MindSpore computes some functions of float64 in float32.
_TOLERANCE = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-5}


def same(got, expected, tolerance=None):
    """Whether two results are equal. `tolerance`: that of the operands, if it is larger than that of the results."""
    if type(got) is not type(expected):
        return False
    if isinstance(got, list):
        return len(got) == len(expected) and all(same(one, other, tolerance) for one, other in zip(got, expected))
    if isinstance(got, float):
        return bool(np.isclose(got, expected, max(2e-5, tolerance or 0.0), 1e-7, equal_nan=True))
    if isinstance(got, str):
        return got == expected
    (type_got, a), (type_expected, b) = got, expected
    if type_got != type_expected or a.shape != b.shape:
        return False
    tolerance = max(_TOLERANCE.get(a.dtype, 0.0), tolerance or 0.0 if a.dtype.kind == "f" else 0.0)
    scale = max(1.0, float(np.abs(np.where(np.isfinite(b), b, 0)).max(initial=0)) if b.dtype.kind == "f" else 1.0)
    return bool(np.allclose(a.astype("f8"), b.astype("f8"), tolerance, tolerance * scale, equal_nan=True))


def deviations():
    """Patterns of calls that are listed as different, with a reason."""
    with open(DEVIATIONS) as file:
        lines = [line.split(" | ") for line in file if line.startswith("call ")]
    return [re.compile(parts[0][5:].strip()) for parts in lines]


def read(file):
    """{line of a call: (result, error)} that a process wrote, the last one may be cut off."""
    found = {}
    with open(file, "rb") as results:
        while True:
            try:
                line, made, error = pickle.load(results)
            except (EOFError, pickle.UnpicklingError):
                return found
            found[line] = made, error


def evaluated(system, calls, folder):
    """(result, error) of each call, of processes of this system."""
    digest = hashlib.sha256("\n".join(calls).encode()).hexdigest()[:16]
    kept = os.path.join(folder, f"{system}_{digest}.pickle")
    if system == "mindspore" and os.path.exists(kept) and len(read(kept)) == len(calls):
        found = read(kept)
        return [found[i] for i in range(len(calls))]
    texts = os.path.join(folder, f"{system}_{digest}.txt")
    with open(texts, "w") as file:
        file.write("\n".join(calls))
    open(kept, "wb").close()
    found, worker = {}, os.path.join(FOLDER, "evaluate_calls.py")
    while len(found) < len(calls):
        ended = subprocess.run(
            [sys.executable, worker, system, texts, kept, str(len(found))], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        found = read(kept)
        if len(found) < len(calls):  # the next call ended the process
            print(f"{system} ended with {ended.returncode}: {calls[len(found)]}\n    {ended.stderr.decode()[-300:]}")
            with open(kept, "ab") as file:
                pickle.dump((len(found), None, f"ended its process with {ended.returncode}"), file)
            found = read(kept)
    return [found[i] for i in range(len(calls))]


def _arrays(made):
    """The arrays of a plain result, flat."""
    if isinstance(made, list):
        return [array for one in made[1:] for array in _arrays(one)]
    return [made[1]] if isinstance(made, tuple) else []


def _are_near(gradient, slopes):
    largest = float(np.nanmax(np.abs(slopes), initial=1.0))
    return bool(np.allclose(gradient, slopes, 0.02, 0.02 * largest, equal_nan=True))


class Comparison:
    """Counts of calls by what they gave, and prints of those that differ."""

    def __init__(self, listed, shows_refused):
        self._listed, self._shows_refused = listed, shows_refused
        self.counts, self.used = collections.Counter(), collections.Counter()
        self.gradients, self.equal = [], []

    def add(self, call, expected, got):
        (made_there, refused_there), (made, refused) = expected, got
        if refused_there is not None:
            kind = "refused by both" if refused else "refused there"
        else:
            digits = _TOLERANCE[np.dtype(np.float16)] if '"f2"' in call else None
            kind = "refused" if refused else "equal" if same(made, made_there, digits) else "different"
        matching = [one.pattern for one in self._listed if one.search(call)] if kind == "different" else []
        if matching:
            kind = "listed"
            self.used[matching[0]] += 1
        self.counts[kind] += 1
        if kind == "equal":
            self.equal.append(call)
        if kind == "refused" and self._shows_refused:
            print(f"refused: {call}\n    {refused}")
        if kind == "listed" and self._shows_refused:
            print(f"listed: {call}\n    {made}\n    instead of {made_there}")
        if kind in ("different", "listed") and call.startswith("gradient("):
            self.gradients.append((call, made))
        if kind == "different":
            print(f"different: {call}\n    {made}\n    instead of {made_there}")

    def check_gradients(self, folder):
        """Compares the gradients that differ, listed or not, with central differences, and prints those that are other
        than these."""
        if not self.gradients:
            return
        slopes = evaluated("partita-differences", [call for call, _ in self.gradients], folder)
        for (call, made), (expected, refused) in zip(self.gradients, slopes):
            found = _arrays(made)[: len(_arrays(expected))] if refused is None else []
            good = refused is None and all(map(_are_near, found, _arrays(expected)))
            self.counts["confirmed" if good else "unlike differences"] += 1
            if not good:
                print(f"gradient unlike central differences: {call}\n    {made}\n    {expected} {refused or ''}")

    @property
    def carried_out(self):
        """How many calls MindSpore carried out."""
        return sum(self.counts[kind] for kind in ("equal", "refused", "listed", "different"))

    def summary(self, title):
        counts, both = self.counts, self.carried_out - self.counts["refused"]
        print(
            f"{title}: {sum(counts[kind] for kind in _KINDS)} calls, {both} carried out by both, "
            f"{counts['equal']} of them equal "
            f"({counts['equal'] / both:.2%}), {counts['listed']} listed as different, {counts['different']} silently "
            f"different; {counts['refused']} refused here alone, {counts['refused there']} there alone, "
            f"{counts['refused by both']} by both"
        )
        print(
            f"    {counts['confirmed']} gradients that differ are those of central differences, "
            f"{counts['unlike differences']} are not"
        )
        for pattern, count in self.used.most_common():
            print(f"    {count} of the listed: {pattern}")
        refused = counts["refused"] / self.carried_out
        return counts["different"] == 0 and counts["equal"] / both >= 0.98 and refused <= 0.12


def chunks_of(drawn, each):
    """Lists of calls: without end, or `each` calls of every name."""
    calls = drawn.each(each) if each else iter(drawn.draw, None)
    while chunk := list(itertools.islice(calls, CHUNK)):
        yield chunk


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--show", action="store_true", help="print refused and listed calls, too")
    parser.add_argument("--kept", help="folder of results of MindSpore")
    parser.add_argument("--only", help="names that calls are drawn of, as a regular expression, such as ^numpy")
    parser.add_argument("--each", type=int, help="number of calls of every name with a template, instead of --calls")
    parser.add_argument("--equal", help="file for the calls that are equal")
    options = parser.parse_args()
    drawn, found = random_calls.Calls(options.seed, options.only), Comparison(deviations(), options.show)
    with tempfile.TemporaryDirectory() as made:
        folder = options.kept or made
        for chunk in chunks_of(drawn, options.each):
            there, here = (evaluated(system, chunk, folder) for system in ("mindspore", "partita"))
            for call, expected, got in zip(chunk, there, here):
                if options.each or found.carried_out < options.calls:
                    found.add(call, expected, got)
            sys.stdout.flush()
            if not options.each and found.carried_out >= options.calls:
                break
        found.check_gradients(folder)
    if options.equal:
        with open(options.equal, "w") as out:
            out.writelines(call + "\n" for call in found.equal)
    sys.exit(0 if found.summary(f"random calls, seed {options.seed}") else 1)


if __name__ == "__main__":
    main()
