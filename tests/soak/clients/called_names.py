"""The names that calls have, by their objects: called_names.py SYSTEM reads {"names": [..], "calls": [..]} on
standard input and prints {"kinds": {name: kind}, "groups": {name: group}, "values": {name: text}, "refused": [name,
..], "calls": [[group, ..], ..]}. `values` has the numbers, the texts and the element types among the names; `refused`
those that say of themselves that they are not there.

A group is all names of one object; a method of tensors is `Tensor.NAME`, and a constructor or a call is its class.
Kinds: `function` (of tensors, with Primitives and methods of tensors), `layer`, `value` (a module, a type, a number),
`other` (whatever else can be called: data sets, optimizers, callbacks, settings; and random draws, communication,
trainings, bases and what has no kernel on a CPU, of which equal calls tell nothing: see common_names)."""

import ast
import importlib
import inspect
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mindspore"))

import common_names  # noqa: E402

# The names of surface_calls.operands and of evaluate_calls.names_of.
ROOTS = {
    "ms": "", "ops": "ops", "nn": "nn", "mnp": "numpy", "Tensor": "Tensor", "msd": "nn.probability.distribution",
    "msb": "nn.probability.bijector", "linalg": "scipy.linalg", "scipy_ops": "scipy.ops",
}  # fmt: skip
_OF_TENSORS = ("ops.", "numpy.", "mint.", "scipy.", "Tensor.")
_OF_CLASSES = (".__init__", ".__call__", ".construct")
_BY_TESTS = common_names.counted_by_tests()
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul", ast.Pow: "pow",
    ast.FloorDiv: "floordiv", ast.Mod: "mod",
}  # fmt: skip


def object_of(system, name):
    """The object with a dotted name, as `from MODULE import NAME` finds it: the longest module that there is, and the
    rest as attributes; a class for its constructor and its call. Raises ImportError or AttributeError if there is
    none."""
    found = _attribute_of(system, name)
    owner = name.rpartition(".")[0]
    if name.endswith(_OF_CLASSES) and inspect.isclass(_attribute_of(system, owner)):
        return _attribute_of(system, owner)
    return found


def _attribute_of(system, name):
    parts = [system, *filter(None, name.split("."))]
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ImportError(f"[names] no such name, got {name!r}, expected one of {system}")


def names_in_call(text):
    """The dotted names of a call, without the system's own, each once; longer ones only."""
    found = set()

    def visit(node):
        path, inner = [], node
        while isinstance(inner, ast.Attribute):
            path.append(inner.attr)
            inner = inner.value
        if path and isinstance(inner, ast.Name) and inner.id in ROOTS:
            found.add(".".join(filter(None, [ROOTS[inner.id], *reversed(path)])))
            return
        if isinstance(node, ast.Name) and node.id in ROOTS:
            found.add(ROOTS[node.id])
        if isinstance(node, ast.Attribute):
            found.add(f"Tensor.{node.attr}")
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            found.add(f"Tensor.__{_OPERATORS[type(node.op)]}__")
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(text.strip(), mode="eval"))
    return found


def kind_of(system, name, found):
    """The kind of an object of the documented system."""
    if callable(found) and name.split(".")[-1] in _BY_TESTS:
        return "other"
    cell, optimizer = system.nn.Cell, (system.nn.Optimizer, system.experimental.optim.Optimizer)
    if inspect.ismodule(found) or not callable(found):
        return "value"
    if inspect.isclass(found) and issubclass(found, cell):
        return "other" if issubclass(found, optimizer) else "layer"
    if inspect.isclass(found):
        return "function" if issubclass(found, system.ops.Primitive) else "other"
    return "function" if name.startswith(_OF_TENSORS) else "other"


def value_of(system, found):
    """The text of a number, a text or an element type, "" of other values."""
    plain = isinstance(found, (bool, int, float, str)) or isinstance(found, system.Type)
    return str(found) if plain else ""


def is_refused(found):
    """Whether a class or a function is imported alone, and refuses to be used."""
    return callable(found) and (getattr(found, "__doc__", None) or "").startswith("Not there")


class Groups:
    """Numbers of objects, one for all names of each."""

    def __init__(self, system):
        self._system, self._numbers, self._kept, self._of = system, {}, [], {}

    def of(self, name):
        """The number of the object with a name, None if there is none."""
        if name not in self._of:
            try:
                found = object_of(self._system, name)
            except Exception:  # of either system: a name that cannot be used
                self._of[name] = None
                return None
            self._kept.append(found)  # so that no other object takes its place in memory
            self._of[name] = self._numbers.setdefault(id(found), len(self._numbers))
        return self._of[name]


def main():
    if sys.argv[1] == "partita":
        importlib.import_module("partita.msrun").install()
    asked, groups = json.load(sys.stdin), Groups("mindspore")
    system = importlib.import_module("mindspore")
    numbers = {name: groups.of(name) for name in asked["names"]}
    there = {name: number for name, number in numbers.items() if number is not None}
    kinds = {name: kind_of(system, name, object_of("mindspore", name)) for name in there}
    values = {name: value_of(system, object_of("mindspore", name)) for name in there if kinds[name] == "value"}
    refused = [name for name in there if is_refused(object_of("mindspore", name))]
    calls = [sorted({groups.of(one) for one in names_in_call(text)} - {None}) for text in asked["calls"]]
    print(json.dumps({"kinds": kinds, "groups": there, "values": values, "refused": refused, "calls": calls}))


if __name__ == "__main__":
    main()
