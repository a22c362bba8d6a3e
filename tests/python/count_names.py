"""The names of the documented system that scripts use, and which of them are not in the package:
count_names.py FOLDER_OF_SCRIPTS counts those of scripts; count_names.py LIST those of a file with one a line.
count_names.py FOLDER_OF_SCRIPTS --least N prints the names that at least N scripts use, each after their number."""

import ast
import collections
import importlib
import os
import sys

SYSTEM = "mindspore"


def names_of(source):
    """The dotted names of the system in a script, without its own name in front."""
    tree, short, found = ast.parse(source), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == SYSTEM:
                    short[one.asname or SYSTEM] = one.name if one.asname else SYSTEM
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == SYSTEM:
            for one in node.names:
                short[one.asname or one.name] = f"{node.module}.{one.name}"
                found.add(f"{node.module}.{one.name}")
    for node in ast.walk(tree):
        path, inner = [], node
        while isinstance(inner, ast.Attribute):
            path.append(inner.attr)
            inner = inner.value
        if path and isinstance(inner, ast.Name) and inner.id in short:
            found.add(".".join([short[inner.id], *reversed(path)]))
    # A longer name has the shorter ones in it: those of modules alone are not counted.
    return {one.partition(".")[2] for one in found} - {""}


def resolved(name, system="partita"):
    """Returns the object with a dotted name in a system. Raises ImportError or AttributeError if there is none."""
    found = importlib.import_module(system)
    for part in filter(None, name.split(".")):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")
    return found


def is_there(name, system="partita"):
    """Whether something has a dotted name in a system."""
    try:
        resolved(name, system)
    except (ImportError, AttributeError):
        return False
    return True


def names_in(path):
    """The names that a list has at the ends of its lines, or those that the scripts of a folder use."""
    if os.path.isfile(path):
        with open(path) as file:
            return {line.split()[-1] for line in file if line.strip() and not line.startswith("#")}
    names = set()
    for folder, _, files in os.walk(path):
        for file in sorted(files):
            if file.endswith(".py"):
                with open(os.path.join(folder, file)) as script:
                    names |= names_of(script.read())
    return names


def used_by(folder):
    """How many scripts use each name; names in a script that cannot be read are not counted."""
    counts = collections.Counter()
    for path, _, files in os.walk(folder):
        for file in files:
            if file.endswith(".py"):
                with open(os.path.join(path, file), encoding="utf-8") as script:
                    try:
                        counts.update(names_of(script.read()))
                    except (SyntaxError, UnicodeDecodeError):
                        continue
    return counts


if __name__ == "__main__" and sys.argv[2:3] == ["--least"]:
    for used, count in sorted(used_by(sys.argv[1]).items(), key=lambda one: (-one[1], one[0])):
        if count >= int(sys.argv[3]):
            print(count, used)
elif __name__ == "__main__":
    all_names = names_in(sys.argv[1])
    missing = sorted(name for name in all_names if not is_there(name))
    print(f"{len(all_names) - len(missing)} of {len(all_names)} names; not there: {', '.join(missing) or 'none'}")
