#!/usr/bin/env python3
"""Checks the imports of the Python package: each module imports only what stands before it in LAYERS, modules import
each other in no circle, and imports inside functions are those of LATE.

Every import statement counts, also inside functions and under TYPE_CHECKING. To import a.b is to run a/__init__.py
first, so it is an import of both, except from within a. Names that are put together (`import_module`) cannot be
followed: the layer `package` alone may import so, and `_later`, which imports what the tables of a package
(`ops/later.py`) have of its own modules, and `_places`, which imports modules within a module.
`tools/check_layers.py` runs this as a part of its own."""
import ast
import pathlib
import sys

PACKAGE = "partita"
HEADING = "## Layers"
# The parts of the package in the order of the flow, as the table of python/README.md has them: (layer, its modules and
# packages). A part sees itself, those before it in its line, and all lines above.
LAYERS = (
    ("base", "_waiting _core _exit _warnings _hints _places _names _later _captured _current _ranks _devices version"
        " _described _sliced"),
    ("settings", "context _streams _memory device_context"),
    ("values", "common _layout _loss_scale _precision _checkparam _check_jit_forbidden_api"),
    ("tracing", "_own_gradient _trace _mapping"),
    ("ranks", "communication"),
    ("programs", "_parallelism _structure _executable _fresh _steps _program"),
    ("functions", "ops"),
    ("cells", "nn"),
    ("rows", "mindrecord dataset"),
    ("training", "train"),
    ("names", "planning parallel amp boost experimental hal mint numpy profiler runtime utils _c_dataengine _c_expression"
        " _extends log scipy _installed multiprocessing graph rewrite safeguard tools __main__"),
    ("package", "__init__ msrun"),
)
# Imports inside functions, each with its reason: (module, what it imports).
LATE = {
    ("train.program", "networkx"): "optional, and only graphs that are asked for need it",
    ("dataset.image_sources", "scipy"): "optional, and only files of MATLAB need it",
    ("dataset.text.tokenizers", "jieba"): "optional, and only JiebaTokenizer needs it",
    ("dataset.text.tokenizers", "regex"): "optional, and only patterns with classes of Unicode need it",
    ("mindrecord.converters", "PIL"): "optional, and only images of MNIST need it",
    ("dataset.vision.pillow", "PIL"): "optional, and only images of Pillow need it",
}


def modules_of(root: pathlib.Path) -> dict[str, str]:
    """{dotted name in the package: source}; a package's own file is `name.__init__`."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        found[".".join(path.relative_to(root).with_suffix("").parts)] = path.read_text()
    return found


def _statements(tree: ast.AST, inside: bool = False):
    """(import statement, whether a function has it)."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, inside
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _statements(node, inside or is_function)


def _dynamic(tree: ast.AST) -> list[int]:
    """Lines that import by a function."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = ((call, getattr(call.func, "id", getattr(call.func, "attr", ""))) for call in calls)
    return [call.lineno for call, name in names if name in ("import_module", "__import__")]


def _named(node: ast.Import | ast.ImportFrom, module: str) -> list[str]:
    """Dotted names that a statement imports; of `from a import b` a.b, which may be a module."""
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    begin = node.module or ""
    if node.level:
        parts = [PACKAGE, *module.split(".")]
        begin = ".".join([*parts[: len(parts) - node.level], *filter(None, [begin])])
    return [f"{begin}.{one.name}" for one in node.names]


def _targets(name: str, module: str, modules: dict[str, str]) -> list[str]:
    """The modules of the package that run when `module` imports a dotted name."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in modules and ".".join([*parts, "__init__"]) not in modules:
        parts = parts[:-1]  # a name in a module
    found = []
    for end in range(1, len(parts) + 1):
        dotted = ".".join(parts[:end])
        if f"{dotted}.__init__" not in modules:
            found.append(dotted)
        elif end == len(parts) or not module.startswith(f"{dotted}."):
            found.append(f"{dotted}.__init__")
    return found or ["__init__"]


def _circle(edges: dict[str, dict[str, int]]) -> list[str]:
    """The modules of a circle of imports, the first one again at its end; empty where there is none."""
    done, path = set(), []

    def visit(module):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        for target in edges.get(module, {}):
            found = visit(target)
            if found:
                return found
        done.add(path.pop())
        return []

    for module in edges:
        found = visit(module)
        if found:
            return found
    return []


def faults_of(modules: dict[str, str]) -> list[str]:
    """Returns the faults of the imports of modules, one line for each."""
    parts = [part for _, line in LAYERS for part in line.split()]
    order = {part: i for i, part in enumerate(parts)}
    modules = {"_core": "", **modules}  # the extension module
    faults, edges = [], {}
    for module, source in modules.items():
        own = module.split(".")[0]
        if own not in order:
            faults.append(f"{module}: '{own}' is not in the list of layers")
            continue
        edges[module], tree = {}, ast.parse(source)
        if own not in [*LAYERS[-1][1].split(), "_later", "_places"]:
            faults += [f"{module}:{line}: an import by a function, which cannot be checked" for line in _dynamic(tree)]
        for node, inside in _statements(tree):
            for name in _named(node, module):
                root = name.split(".")[0]
                if inside and (module, root) not in LATE:
                    faults.append(f"{module}:{node.lineno}: an import of {name} inside a function")
                if root != PACKAGE:
                    continue
                for target in _targets(name, module, modules):
                    if target == module:  # a package that imports a name of its own module
                        continue
                    edges[module].setdefault(target, node.lineno)
                    part = target.split(".")[0]
                    if part != own and order.get(part, len(order)) > order[own]:
                        faults.append(f"{module}:{node.lineno}: {own} must not import {part}, which stands after it")
    circle = _circle(edges)
    if circle:
        faults.append("circle of imports: " + " -> ".join(circle))
    return list(dict.fromkeys(faults))


def table_faults(page: str) -> list[str]:
    """Differences between LAYERS and the table of a page, whose rows are | layer | `part`, `part` | what it has |."""
    section = page.partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    written = {layer.strip(): parts.replace("`", "").replace(",", " ").split() for layer, parts in rows}
    return [
        f"python/README.md: row of '{layer}': got {written.get(layer)}, expected {line.split()}"
        for layer, line in LAYERS
        if written.get(layer) != line.split()
    ]


def check(repository: pathlib.Path) -> list[str]:
    """All faults of the package of a repository."""
    page = (repository / "python" / "README.md").read_text()
    return table_faults(page) + faults_of(modules_of(repository / "python" / PACKAGE))


if __name__ == "__main__":
    found = check(pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(found) if found else "layers of Python: ok")
    sys.exit(1 if found else 0)
