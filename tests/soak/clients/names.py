"""The names of MindSpore that libraries use, which of them are here, and which of these have calls that are compared.

names.py [--kept-back NAMES] [--missing FILE] NAME=FOLDER ...

Each NAME=FOLDER is a library. Prints a table with a line for each: its scripts; those whose names are all here, of
those of 2.10; its names; those that 2.10 has; those that are here, with their share, by names and by uses (a script
that has a name uses it once); and those here that a recorded call of tests/python/surface or a random call has. The
names of 2.10 are those of the package `mindspore` where it is installed, as in the environment of the comparisons.
Libraries that are kept back (names with commas) are counted together, too. --missing writes the names that are not
here, with how many scripts and which libraries use them."""

import argparse
import collections
import glob
import importlib
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [TESTS, os.path.join(HERE, "..", "mindspore")]

import count_names  # noqa: E402

_CALLED = re.compile(r"\b(?:ms|mnp|ops|nn|msd|msb|linalg)\.[A-Za-z_.0-9]+|\)\.([a-z_0-9]+)\(")


def scripts_of(folder):
    """{path of a script: names of MindSpore in it}; scripts that cannot be read, or have none, are left out."""
    found = {}
    for path in glob.glob(os.path.join(folder, "**", "*.py"), recursive=True):
        try:
            with open(path, encoding="utf-8") as script:
                names = count_names.names_of(script.read())
        except (SyntaxError, ValueError, OSError):
            continue
        if names:
            found[path] = names
    return found


def object_of(system, name):
    """The object with a dotted name, as `from MODULE import NAME` finds it: the longest module that there is, and the
    rest as attributes. Raises ImportError or AttributeError if there is none."""
    parts = [system, *name.split(".")]
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ImportError(f"[names] no such name, got {name!r}, expected one of {system}")


def print_there(system):
    """Prints those of the names on standard input that are there; those of `partita` under the name of the other."""
    if system == "partita":
        importlib.import_module("partita.msrun").install()
    found = []
    for name in json.load(sys.stdin):
        try:
            object_of("mindspore", name)
        except Exception:  # of either system: a name that cannot be used
            continue
        found.append(name)
    print(json.dumps(found))


def there_in(system, names):
    """Returns those of the names that a system has, asked in a process of its own."""
    made = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--there", system], input=json.dumps(sorted(names)),
        capture_output=True, text=True, check=True, env={**os.environ, "GLOG_v": "3"},
    )  # fmt: skip
    return set(json.loads(made.stdout.splitlines()[-1]))


def compared_names():
    """(names that recorded calls have, names that random calls have), by their last parts."""
    import common_names

    recorded, drawn = set(), set()
    for file in glob.glob(os.path.join(TESTS, "surface", "*.txt")):
        with open(file) as lines:
            recorded.update((found[1] or found[0]).split(".")[-1] for found in _CALLED.finditer(lines.read()))
    for names in common_names.covered_names().values():
        drawn |= names
    return recorded, drawn


def share(part, whole):
    return f"{part} ({part / whole:.1%})" if whole else "0"


class Counts:
    """The names that the scripts of one or more libraries use."""

    def __init__(self, scripts):
        self.scripts = scripts
        self.names = set().union(*scripts.values()) if scripts else set()

    def row(self, title, documented, here, called):
        """A line of the table, of names that 2.10 has, that are here, and that calls are compared of."""
        known = self.names & documented
        uses = collections.Counter(name for names in self.scripts.values() for name in names if name in documented)
        complete = sum(not (names & documented) - here for names in self.scripts.values())
        compared = sum(name.split(".")[-1] in called for name in known & here)
        cells = [
            title, share(complete, len(self.scripts)).replace("(", f"of {len(self.scripts)} ("), str(len(self.names)),
            str(len(known)), share(len(known & here), len(known)),
            share(sum(uses[name] for name in known & here), sum(uses.values())), share(compared, len(known & here)),
        ]  # fmt: skip
        return "| " + " | ".join(cells) + " |"


def write_missing(file, libraries, documented, here):
    """Writes a line for each name that is not here: scripts, `in` where 2.10 has it, the name, libraries."""
    uses, users = collections.Counter(), collections.defaultdict(set)
    for library, counts in libraries.items():
        for names in counts.scripts.values():
            for name in names - here:
                uses[name] += 1
                users[name].add(library)
    with open(file, "w") as out:
        for name, count in sorted(uses.items(), key=lambda one: (-one[1], one[0])):
            kind = "in" if name in documented else "not there"
            out.write(f"{count}\t{kind}\t{name}\t{','.join(sorted(users[name]))}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kept-back", default="", help="names of libraries that are counted together, with commas")
    parser.add_argument("--missing", help="file for the names that are not here")
    parser.add_argument("libraries", nargs="+", metavar="NAME=FOLDER")
    options = parser.parse_args()
    libraries = {}
    for one in options.libraries:
        name, _, folder = one.partition("=")
        libraries[name] = Counts(scripts_of(folder))
    names = set().union(*(counts.names for counts in libraries.values()))
    documented, here = there_in("mindspore", names), there_in("partita", names)
    recorded, drawn = compared_names()
    together = {"all": list(libraries), "kept back": options.kept_back.split(",") if options.kept_back else []}
    print(f"MindSpore has {len(documented)} of {len(names)} names, {len(documented & here)} of these are here\n")
    print("| library | scripts complete | names | in 2.10 | here | uses here | compared by calls |")
    print("|---|---|---|---|---|---|---|")
    for name, counts in libraries.items():
        print(counts.row(name, documented, here, recorded | drawn))
    for title, members in together.items():
        if members:
            scripts = {f"{one} {path}": used for one in members for path, used in libraries[one].scripts.items()}
            print(Counts(scripts).row(title, documented, here, recorded | drawn))
    callable_here = {name.split(".")[-1] for name in documented & here}
    print(
        f"\n{len(callable_here)} last parts of names here: {len(callable_here & recorded)} in recorded calls, "
        f"{len(callable_here & drawn)} in random calls, {len(callable_here & (recorded | drawn))} in either"
    )
    if options.missing:
        write_missing(options.missing, libraries, documented, here)


if __name__ == "__main__" and sys.argv[1:2] == ["--there"]:
    print_there(sys.argv[2])
elif __name__ == "__main__":
    main()
