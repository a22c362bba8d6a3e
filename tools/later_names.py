#!/usr/bin/env python3
"""Writes the names of the modules of python/partita/ops/later.py and nn/later.py, whose keys say which modules are
imported when one of their names is first asked for.

    PYTHONPATH=build/release/python python3 tools/later_names.py [--check]    1 if the file is not current

A module that is added gets an empty text first."""

import importlib
import pathlib
import sys
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "partita"
HEAD = '''"""The names of the modules of {} that are imported when one of them is first asked for: written by
tools/later_names.py."""

'''


def exported(module):
    """The names that a module exports."""
    return importlib.import_module(f"partita.{module}").__all__


def table(package, name, keys, names_of):
    lines = [f"{name} = {{\n"]
    for key in sorted(keys):
        names = sorted(names_of(f"{package}.{key}"))
        text = textwrap.wrap(" ".join(names), 108, break_on_hyphens=False)
        lines.append(f'    "{key}": "{text[0]}"' if len(text) == 1 and len(key) + len(text[0]) < 105 else f'    "{key}": (')
        if lines[-1].endswith("("):
            lines[-1] += "\n" + "\n".join(f'        "{row} "' for row in text[:-1])
            lines[-1] += ("\n" if text[:-1] else "") + f'        "{text[-1]}"\n    )'
        lines[-1] += ",\n"
    return "".join(lines) + "}\n"


def methods(module):
    """The methods of tensors that a module has."""
    made = importlib.import_module(f"partita.{module}")
    return [name for one in made.CLASSES for name, value in vars(one).items() if callable(value)]


def text_of(package):
    """The text of the file of a package."""
    later = importlib.import_module(f"partita.{package}.later")
    made = HEAD.format(package)
    for name in ("FUNCTIONS", "INNER", "OBJECTS", "LAYERS"):
        if hasattr(later, name):
            made += table(package, name, getattr(later, name), exported)
    if hasattr(later, "METHODS"):
        made += "# Methods of tensors that become theirs when one of them is first called.\n"
        made += table(package, "METHODS", later.METHODS, methods)
    return made


def main():
    made = {PACKAGE / package / "later.py": text_of(package) for package in ("ops", "nn")}
    if sys.argv[1:] == ["--check"]:
        current = all(path.read_text() == text for path, text in made.items())
        print("later names: ok" if current else "later.py is not current: run tools/later_names.py")
        return not current
    for path, text in made.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
