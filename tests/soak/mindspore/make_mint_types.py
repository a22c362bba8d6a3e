"""Records the element types and shapes that MindSpore's compiler infers for calls of `mint` which it cannot run on a
CPU: of the calls of tests/python/surface/AREA.torch, whose numbers are PyTorch's. Writes surface/AREA.types; calls of
functions that are made within them, and those that the compiler refuses, are left out.

make_mint_types.py [AREA ..], after make_mint.py, with the Python of an environment that compare.sh describes, in the
folder of the repository; tests/python is on its path."""

import ast
import importlib
import os
import sys
import tempfile

import mindspore
import surface_calls

FOLDER = "tests/python/surface/"
_MODULE = "inferred_calls"
_HEAD = "import mindspore as ms\nimport numpy as np\nfrom mindspore import nn, ops\n"
# What a compiled function can give back of a result: constants, so that no kernel is asked for.
_BODY = """
def call_{number}({parameters}):
    result = {call}
    if isinstance(result, (tuple, list)):
        found = ()
        for one in result:
            found = found + ((one.dtype, one.shape),)
        return found
    return ((result.dtype, result.shape),)
"""


class Arguments(ast.NodeTransformer):
    """Puts names in place of the tensors that a call makes, and lists these and the operands that it uses."""

    def __init__(self, operands):
        self._operands, self.values = operands, {}

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "Tensor":
            name = f"made_{len(self.values)}"
            self.values[name] = eval(ast.unparse(node), self._operands)
            return ast.Name(name, ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node):
        if isinstance(self._operands.get(node.id), mindspore.Tensor):
            self.values[node.id] = self._operands[node.id]
        return node


def is_plain(call):
    """Whether a call has no function within it."""
    names = {one.id for one in ast.walk(ast.parse(call, mode="eval")) if isinstance(one, ast.Name)}
    return "lambda" not in call and not names & {"gradient", "filled", "type"}


def inferred(calls, folder):
    """{call: text of types and shapes} of those that the compiler takes."""
    sources, given = [_HEAD], []
    for number, call in enumerate(calls):
        arguments = Arguments(surface_calls.operands(mindspore))
        text = ast.unparse(arguments.visit(ast.parse(call, mode="eval")))
        sources.append(_BODY.format(number=number, parameters=", ".join(arguments.values), call=text))
        given.append(list(arguments.values.values()))
    with open(os.path.join(folder, f"{_MODULE}.py"), "w") as file:
        file.writelines(sources)
    sys.path.insert(0, folder)
    sys.modules.pop(_MODULE, None)
    importlib.invalidate_caches()
    module, found = importlib.import_module(_MODULE), {}
    for number, (call, values) in enumerate(zip(calls, given)):
        try:
            parts = mindspore.jit(getattr(module, f"call_{number}"))(*values)
            found[call] = " ".join(f"{kind}{list(shape)}" for kind, shape in parts)
        except Exception as error:  # of the compiler
            print(f"{call}: {(str(error).strip().splitlines() or [''])[0][:150]}")
    return found


def write(area, path):
    calls = [line.split("\t")[0] for line in surface_calls.lines_of(path)]
    with tempfile.TemporaryDirectory() as folder:
        found = inferred([call for call in calls if is_plain(call)], folder)
    with open(f"{FOLDER}{area}.types", "w") as out:
        out.write(f"# Inferred by MindSpore {mindspore.__version__}: made by make_mint_types.py.\n")
        out.writelines(f"{call}\t{text}\n" for call, text in found.items())


mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU")
for area, path in surface_calls.lists(".torch").items():
    if not sys.argv[1:] or area in sys.argv[1:]:
        write(area, path)
