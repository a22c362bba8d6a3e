#!/usr/bin/env python3
"""Writes docs/reference/python.md from the package: its modules, classes and functions with their parameters.

usage: python_names.py [--check], with the package in PYTHONPATH"""

import importlib
import inspect
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"
MODULES = ("partita", "partita.nn", "partita.train", "partita.ops", "partita.mint", "partita.mint.nn",
           "partita.mint.nn.functional", "partita.dataset", "partita.dataset.transforms", "partita.dataset.vision",
           "partita.parallel", "partita.parallel.nn", "partita.communication", "partita.amp", "partita.runtime",
           "partita.numpy", "partita.scipy.linalg", "partita.mint.optim", "partita.mint.linalg", "partita.mint.special",
           "partita.mint.distributed", "partita.experimental.optim", "partita.experimental.optim.lr_scheduler",
           "partita.dataset.text", "partita.dataset.audio", "partita.nn.probability.distribution")  # fmt: skip
HEAD = """# Python names

This page lists the names of the package `partita` with their parameters. They are those of MindSpore's interface;
[Where it differs](mindspore.md) lists the differences. The page is written by
`tools/reference/python_names.py`. `partita.ops.registry` has every op of the library by its own name besides.
"""


def signature_of(value):
    """Returns the parameters of a function, or of the constructor of a class, without types."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(..)"
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    shown = []
    for one in parameters:
        if one.default is not one.empty and not isinstance(one.default, (int, float, str, bool, tuple, type(None))):
            one = one.replace(default=inspect.Parameter.empty)
            shown.append(f"{one.name}=..")
        else:
            shown.append(str(one))
    return f"({', '.join(shown)})"


def page():
    text = HEAD
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        callables, others = [], []
        for name in sorted(dir(module), key=str.lower):
            value = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(value):
                continue
            if inspect.isclass(value) or inspect.isroutine(value):
                owner = getattr(value, "__module__", "") or ""
                if owner.startswith("partita") or owner == "":
                    callables.append(f"{name}{signature_of(value)}")
            elif getattr(value, "__module__", "partita").startswith("partita"):
                others.append(name)
        if not callables and not others:
            continue
        text += f"\n## {module_name}\n\n```\n" + "\n".join(callables) + "\n```\n"
        if others:
            text += "\nAnd " + ", ".join(f"`{name}`" for name in others) + ".\n"
    return text + "\n## See also\n\n- [Python](../guide/python.md)\n"


def main():
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() == page():
            print("names of Python: ok")
            return 0
        print("docs/reference/python.md does not have the names of the package: run tools/reference/python_names.py")
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
