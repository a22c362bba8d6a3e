"""The names of MindSpore that libraries use, which of them are here, and for how many of these equal calls speak.

names.py [--kept-back NAMES] [--equal FILE]... [--missing FILE] [--short FILE] NAME=FOLDER ...

Each NAME=FOLDER is a library. Prints a table with a line for each: its scripts; those whose names are all here, of
those of 2.10; the names that 2.10 has; those that are here, with their share, by names and by uses (a script that has
a name uses it once); and those that count, by names and by uses. Libraries that are kept back (names with commas) are
counted together, too. A function or a layer counts with five equal calls: of those recorded in tests/python/surface,
and of the lines of FILE, which compare_calls.py writes. A module, a type or a number counts if it is here with the same
value, and what is neither (a data set, a callback, a setting, a training, a draw) if a test of tests/python has its
name. What is imported alone, and refuses to be used, is here and does not count.

--missing writes the names that are not here, --short those that are here and do not count; both with how many scripts
and which libraries use them. Needs a Python that has both systems."""

import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [TESTS, HERE]

import called_names  # noqa: E402
import count_names  # noqa: E402

LEAST = 5  # equal calls of a name that counts


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


def asked(system, names, calls=()):
    """Returns the answer of `called_names` about names and calls, in a process of its own."""
    made = subprocess.run(
        [sys.executable, "-W", "ignore", called_names.__file__, system], capture_output=True, text=True, check=True,
        input=json.dumps({"names": sorted(names), "calls": list(calls)}), env={**os.environ, "GLOG_v": "3"},
    )  # fmt: skip
    return json.loads(made.stdout.splitlines()[-1])


def equal_calls(files):
    """The recorded calls whose results are the same here, and the lines of files."""
    import surface_calls

    import partita

    found = []
    for path in (*surface_calls.lists(".results").values(), *surface_calls.lists(".torch").values()):
        for line in surface_calls.lines_of(path):
            call, expected = line.split("\t")
            if surface_calls.are_equal(surface_calls.result_of(partita, call), expected):
                found.append(call)
    for path in files:
        found += surface_calls.lines_of(path)
    return sorted(set(found))


def tested_words():
    """The words of the tests and of the calls that they compare; lists of names are left out."""
    words = set()
    for path in glob.glob(os.path.join(TESTS, "**", "*.*"), recursive=True):
        if path.endswith((".py", ".txt", ".sh")) and not path.endswith("_names.txt"):
            with open(path, encoding="utf-8") as file:
                words.update(re.findall(r"\w+", file.read()))
    return words


class Evidence:
    """The names of both systems with their equal calls. `there` and `here`: answers of `called_names`, one of each."""

    def __init__(self, there, here, calls, words):
        self.there, self.here, self._words = there, here, words
        self.calls, self.gradients = collections.Counter(), collections.Counter()
        for text, groups in zip(calls, there["calls"]):
            self.calls.update(groups)
            self.gradients.update(groups if "gradient(" in text else ())

    @property
    def documented(self):
        return set(self.there["groups"])

    @property
    def common(self):
        return self.documented & set(self.here["groups"])

    def calls_of(self, name):
        """(equal calls, equal gradients)."""
        group = self.there["groups"][name]
        return self.calls[group], self.gradients[group]

    def counts(self, name):
        """Whether a name of both systems counts."""
        if name in self.here["refused"]:
            return False
        kind = self.there["kinds"][name]
        if kind == "value":
            return self.there["values"][name] == self.here["values"].get(name, "")
        if kind == "other":
            return name.split(".")[-1] in self._words
        return self.calls_of(name)[0] >= LEAST


def share(part, whole):
    return f"{part} ({part / whole:.1%})" if whole else "0"


class Counts:
    """The names that the scripts of one or more libraries use."""

    def __init__(self, scripts):
        self.scripts = scripts
        self.names = set().union(*scripts.values()) if scripts else set()

    def row(self, title, evidence, counting):
        """A line of the table; `counting` are the names that count."""
        documented, here = evidence.documented, evidence.common
        known = self.names & documented
        uses = collections.Counter(name for names in self.scripts.values() for name in names if name in documented)
        complete = sum(not (names & documented) - here for names in self.scripts.values())
        cells = [title, share(complete, len(self.scripts)).replace("(", f"of {len(self.scripts)} ("), str(len(known))]
        for part in (here, counting):
            cells.append(share(len(known & part), len(known)))
            cells.append(share(sum(uses[name] for name in known & part), sum(uses.values())))
        return "| " + " | ".join(cells) + " |"


def write_uses(file, libraries, names, text_of):
    """Writes a line for each of some names: the scripts that use it, `text_of` it, the name, the libraries."""
    uses, users = collections.Counter(), collections.defaultdict(set)
    for library, counts in libraries.items():
        for used in counts.scripts.values():
            for name in used & names:
                uses[name] += 1
                users[name].add(library)
    with open(file, "w") as out:
        for name, count in sorted(uses.items(), key=lambda one: (-one[1], one[0])):
            out.write(f"{count}\t{text_of(name)}\t{name}\t{','.join(sorted(users[name]))}\n")


def print_table(libraries, kept_back, evidence, counting):
    together = {"all": list(libraries), "kept back": kept_back.split(",") if kept_back else []}
    print("| library | scripts complete | in 2.10 | here | uses here | counted | uses counted |")
    print("|---|---|---|---|---|---|---|")
    for name, counts in libraries.items():
        print(counts.row(name, evidence, counting))
    for title, members in together.items():
        if members:
            scripts = {f"{one} {path}": used for one in members for path, used in libraries[one].scripts.items()}
            print(Counts(scripts).row(title, evidence, counting))
    print()
    for kind in ("function", "layer", "value", "other"):
        names = {name for name in evidence.common if evidence.there["kinds"][name] == kind}
        text = f"{kind}: {share(len(names & counting), len(names))} of {len(names)} names count"
        if kind in ("function", "layer"):
            differentiated = sum(evidence.calls_of(name)[1] > 0 for name in names & counting)
            text += f", {differentiated} with an equal gradient among the calls"
        print(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kept-back", default="", help="names of libraries that are counted together, with commas")
    parser.add_argument("--equal", action="append", default=[], help="file of random calls that are equal")
    parser.add_argument("--missing", help="file for the names that are not here")
    parser.add_argument("--short", help="file for the names here that do not count")
    parser.add_argument("libraries", nargs="+", metavar="NAME=FOLDER")
    options = parser.parse_args()
    libraries = {}
    for one in options.libraries:
        name, _, folder = one.partition("=")
        libraries[name] = Counts(scripts_of(folder))
    names, calls = set().union(*(counts.names for counts in libraries.values())), equal_calls(options.equal)
    evidence = Evidence(asked("mindspore", names, calls), asked("partita", names), calls, tested_words())
    counting = {name for name in evidence.common if evidence.counts(name)}
    print(
        f"MindSpore has {len(evidence.documented)} of {len(names)} names, {len(evidence.common)} of these are here, "
        f"{len(counting)} count; {len(calls)} equal calls\n"
    )
    print_table(libraries, options.kept_back, evidence, counting)
    if options.missing:
        missing = names - set(evidence.here["groups"])
        write_uses(options.missing, libraries, missing, lambda one: "in" if one in evidence.documented else "not there")
    if options.short:
        write_uses(
            options.short, libraries, evidence.common - counting,
            lambda one: f"{evidence.there['kinds'][one]}\t{evidence.calls_of(one)[0]}",
        )  # fmt: skip


if __name__ == "__main__":
    main()
