#!/usr/bin/env python3
"""Checks that every public name of the Python package says what it is, and that the most used ones show a call.

    tools/check_docstrings.py       lists the names without a docstring or an example; fails when there are any

It reads the package that `import partita` finds, because loops make many of its names. A name needs a docstring of its
own with a whole sentence or a formula; one that its class inherits does not count. The fifty functions and classes that
most scripts use, by `tests/python/used_names.txt`, need an example that begins with `>>>`;
`tests/python/test_examples_of_names.py` runs these. The hundred and twenty functions and ops of tensors in `ops` that
most scripts use say something about shapes and, where they refuse operands that are no tensors, about errors; `def`s
among them are annotated. A finding is `name: what is missing`."""
import contextlib
import importlib
import io
import inspect
import pathlib
import re
import sys
from collections.abc import Iterator

PACKAGE = "partita"
MODULES = """
    nn ops mint mint.nn mint.nn.functional mint.linalg mint.special mint.optim numpy train dataset dataset.vision
    dataset.transforms dataset.text dataset.audio common.initializer
    """.split()
CLASSES = ["nn.Cell", "nn.Optimizer", "train.Model", "train.Callback", "dataset.Dataset", "Tensor", "Parameter"]
MOST_USED, MOST_USED_OPS = 50, 120
USED = pathlib.Path(__file__).resolve().parent.parent / "tests" / "python" / "used_names.txt"
SHAPES = re.compile(r"\b(shapes?|sizes?|ax[ei]s|dimensions?|broadcasts?|each element)\b|\w\[|\[[a-z.]")
ERRORS = re.compile(r"\b(Raises|raises)\s+\w+Error\b")
FORMULA = re.compile(r"[=+*/^|<>()\[\]-]")


def found(name: str) -> object:
    """The object with a dotted name in the package: of a module where a function has the name of the module, too."""
    value, path = importlib.import_module(PACKAGE), PACKAGE
    for part in filter(None, name.split(".")):
        value = getattr(value if hasattr(value, part) else sys.modules[path], part)
        path += "." + part
    return value


def docstring_of(value: object) -> str:
    """The docstring that a class, function or method has itself; "" without one, and of what dataclasses write."""
    text = vars(value).get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", None)
    if isinstance(value, type) and (text or "").startswith(value.__name__ + "(") and text.endswith(")"):
        return ""
    return inspect.cleandoc(text) if text else ""


def is_whole(text: str) -> bool:
    """Whether a docstring has a sentence, and at least three words or a formula."""
    return bool(re.search(r"[.?!](?=\s|$)", text)) and (len(text.split()) >= 3 or bool(FORMULA.search(text)))


def is_own(value: object) -> bool:
    """Whether the package defines a value: a class or a function, no module, number or function of Python."""
    if inspect.ismodule(value) or not callable(value):
        return False
    return str(getattr(value, "__module__", "")).split(".")[0] == PACKAGE


def public_names() -> Iterator[tuple[str, object]]:
    """(dotted name, value) of functions and classes of the modules, and of methods of the classes; each value once."""
    seen = set()
    for prefix in ["", *MODULES]:
        owner = found(prefix)
        for name in dir(owner):
            if name.startswith("_"):
                continue
            value = getattr(owner, name)
            if is_own(value) and id(value) not in seen:
                seen.add(id(value))
                yield f"{prefix}.{name}".lstrip("."), value
    for prefix in CLASSES:
        for name, value in inspect.getmembers(found(prefix), inspect.isfunction):
            if not name.startswith("_") and is_own(value):
                yield f"{prefix}.{name}", value


def used_names() -> list[str]:
    """The functions and classes that most scripts use, the first of the names that one value has."""
    names, seen = [], set()
    for line in USED.read_text().splitlines():
        if line.startswith("#") or len(names) == MOST_USED:
            continue
        name = line.split()[1]
        value = found(name)
        if is_own(value) and id(value) not in seen:
            seen.add(id(value))
            names.append(name)
    return names


def used_ops() -> list[str]:
    """The functions and ops of tensors in `ops` that most scripts use."""
    primitive, names = found("ops.Primitive"), []
    for line in USED.read_text().splitlines():
        name = line.split()[1]
        if line.startswith("#") or not name.startswith("ops."):
            continue
        value = found(name)
        is_op = isinstance(value, type) and issubclass(value, primitive) and value is not primitive
        if is_own(value) and (is_op or inspect.isfunction(value)):
            names.append(name)
    return names[:MOST_USED_OPS]


def refuses(value: object) -> bool:
    """Whether a function, or an op without options, refuses objects that are no tensors by an error of the package."""
    for count in range(1, 4):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                function = value() if isinstance(value, type) else value
                function(*[object()] * count)
        except Exception as error:  # of another number of operands, too, which says nothing
            if str(error).startswith("["):
                return True
    return False


def faults_of_op(name: str) -> Iterator[str]:
    """The findings of the docstring and the annotations of a function or an op of tensors."""
    value = found(name)
    text = docstring_of(value)
    if not SHAPES.search(text):
        yield f"{name}: no word on shapes"
    if not ERRORS.search(text) and refuses(value):
        yield f"{name}: no word on the errors that it raises"
    if inspect.isfunction(value):
        bare = [one for one in [*inspect.signature(value).parameters, "return"] if one not in value.__annotations__]
        if bare:
            yield f"{name}: no annotation of {', '.join(bare)}"


def faults() -> list[str]:
    """The findings, one a line."""
    missing = [f"{name}: no docstring of its own with a whole sentence"
               for name, value in public_names() if not is_whole(docstring_of(value))]
    missing += [f"{name}: no example with >>>" for name in used_names() if ">>> " not in docstring_of(found(name))]
    return missing + [fault for name in used_ops() for fault in faults_of_op(name)]


def main() -> int:
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 64
    try:
        importlib.import_module(PACKAGE)
    except ImportError as error:
        print(f"[check_docstrings] the package cannot be imported, got {error}, expected {PACKAGE} in PYTHONPATH",
              file=sys.stderr)
        return 69
    lines = faults()
    print("\n".join(lines + [f"{len(lines)} findings"] if lines else ["docstrings: ok"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
