#!/usr/bin/env python3
"""Prints type stubs of the extension module partita._core, from the signatures that it documents:
core_stubs.py > python/partita/_core.pyi. A test compares them with the module."""
import inspect
import re
import sys

HEADER = '''"""The library behind the package: written by tools/core_stubs.py."""

from typing import Any, Callable, ClassVar, Dict, List, Optional, Set, Tuple, Union

import numpy
import numpy.typing
'''


def typed(text: str) -> str:
    """The types of a signature as stubs write them; those of C++ that Python does not see are Any."""
    text = text.replace("partita._core.", "").replace("handle", "Any").replace("capsule", "Any")
    text = re.sub(r"numpy\.ndarray(\[[^\]]*\])?", "numpy.typing.NDArray[Any]", text)
    text = re.sub(r"(?<=[ \[(])function(?=[,\]) ])", "Callable[..., Any]", text)
    return re.sub(r"[\w:]+::[\w:<>, *]+", "Any", text)


def signature(function) -> str | None:
    """"(self: Model, arg0: int) -> int" of a function of pybind11; of an overloaded one "(*args: Any) -> Any"."""
    lines = (function.__doc__ or "").split("\n")
    name = getattr(function, "__name__", "")
    if len(lines) > 1 and "Overloaded function" in function.__doc__:
        return "(*args: Any, **kwargs: Any) -> Any"
    match = re.match(rf"{re.escape(name)}(\(.*\) -> .*)$", lines[0])
    return typed(match[1]) if match else None


def class_stub(kind) -> list[str]:
    lines = []
    for name, member in sorted(vars(kind).items()):
        if isinstance(member, property):
            made = re.search(r"-> (.*)$", (member.fget.__doc__ or "").split("\n")[0])
            lines += ["    @property", f"    def {name}(self) -> {typed(made[1]) if made else 'Any'}: ..."]
        elif isinstance(member, kind):  # of an enumeration
            lines.append(f"    {name}: ClassVar[{kind.__name__}]")
        elif callable(member) and (name == "__init__" or not name.startswith("_")):
            function = getattr(kind, name)
            text = signature(function)
            if text is None and name == "__init__":
                continue  # Python makes none
            text = re.sub(r"^\(self: [\w.]+", "(self", text or "(self, *args: Any, **kwargs: Any) -> Any")
            if inspect.isbuiltin(function) or isinstance(vars(kind)[name], staticmethod):
                lines.append("    @staticmethod")
            lines.append(f"    def {name}{text}: ...")
    return lines or ["    ..."]


def module_stub(module, name: str) -> str:
    """Stub of a module. The modules within it become classes."""
    lines = []
    for key, member in sorted(vars(module).items()):
        if key.startswith("_"):
            continue
        if inspect.isclass(member):
            bases = [base.__name__ for base in member.__bases__ if base.__name__ not in ("object", "pybind11_object")]
            lines += ["", f"class {key}({', '.join(bases)}):" if bases else f"class {key}:", *class_stub(member)]
        elif inspect.ismodule(member):
            lines += ["", f"class {key}:", *within(member)]
        elif callable(member):
            lines += ["", f"def {key}{signature(member) or '(*args: Any, **kwargs: Any) -> Any'}: ..."]
        else:
            lines += ["", f"{key}: {type(member).__name__}"]
    return HEADER + "\n".join(lines) + "\n"


def within(module) -> list[str]:
    lines = []
    for key, member in sorted(vars(module).items()):
        if key.startswith("_"):
            continue
        if inspect.isclass(member):
            lines += [f"    class {key}:", *("    " + line for line in class_stub(member))]
        elif callable(member):
            lines += ["    @staticmethod", f"    def {key}{signature(member) or '(*args: Any, **kwargs: Any) -> Any'}: ..."]
    return lines or ["    ..."]


def stubs() -> str:
    from partita import _core

    return module_stub(_core, "_core")


if __name__ == "__main__":
    sys.stdout.write(stubs())
