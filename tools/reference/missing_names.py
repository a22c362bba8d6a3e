#!/usr/bin/env python3
"""Writes docs/reference/missing.md: the public names of MindSpore that the package does not have, with what to use.
They are those of tests/python/api_names.txt.

usage: missing_names.py [--check], with the package in PYTHONPATH"""

import importlib
import pathlib
import sys
import textwrap

from partita import _hints

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, NAMES = ROOT / "docs" / "reference" / "missing.md", ROOT / "tests" / "python" / "api_names.txt"
HEAD = """# Names that are not there

This page lets you look up which public names of MindSpore 2.10 the package does not have, and what to use instead. A
name that is not there says the same when a script asks for it. `tools/reference/missing_names.py` writes the page from
the names that MindSpore lists in its `__all__`.

| module | there | of |
|---|---|---|
"""
TORCH = """
## Names of PyTorch

Scripts that come from PyTorch ask for other names. The error says what to use:

| name | use |
|---|---|
"""
END = """
## See also

- [Where Python differs](mindspore.md)
- [Names of the package](python.md)
"""


def recorded():
    """The names of each module, by the name of the module in the package."""
    lines = [line for line in NAMES.read_text().splitlines() if line and not line.startswith("#")]
    pairs = (line.split(": ") for line in lines)
    return {"" if module == "mindspore" else module: names.split() for module, names in pairs}


def is_there(module, name):
    """Whether the package has a name that is more than a refusal."""
    try:
        found = getattr(importlib.import_module(f"partita.{module}" if module else "partita"), name)
    except (ImportError, AttributeError):
        return False
    return not (getattr(found, "__doc__", None) or "").startswith("Not there")


def _own_names(missing):
    """The text of the missing names of a module: those with something to use first."""
    text, others = "", []
    for reason in sorted({reason for _, reason in missing if reason}):
        names = ", ".join(f"`{name}`" for name, one in missing if one == reason)
        text += f"- {names}: {reason}.\n"
    others = [name for name, reason in missing if not reason]
    if others:
        text += ("\n" if text else "") + "Not there yet:\n\n```\n"
        text += textwrap.fill(" ".join(others), 118, break_on_hyphens=False) + "\n```\n"
    return text


def page():
    table, sections = "", ""
    for module, names in recorded().items():
        missing = [(name, _hints.of_name(module, name)) for name in names if not is_there(module, name)]
        table += f"| `mindspore{'.' if module else ''}{module}` | {len(names) - len(missing)} | {len(names)} |\n"
        if missing:
            sections += f"\n## mindspore{'.' if module else ''}{module}\n\n" + _own_names(missing)
    torch = "".join(
        f"| `{where + '.' if where else 'torch.'}{name}` | {hint} |\n"
        for where, hints in _hints.OF_TORCH.items()
        for name, hint in sorted(hints.items())
    )
    return HEAD + table + sections + TORCH + torch + END


def main():
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            print("missing names: ok")
            return 0
        print("docs/reference/missing.md is not current: run tools/reference/missing_names.py")
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
