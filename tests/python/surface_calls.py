"""Calls of documented functions, and texts of their results and parameters, that both systems make: the kept ones are
written by tests/soak/mindspore/make_surface.py."""

import importlib
import inspect
import os

import numpy as np


# Modules that not every import of the system imports.
_MODULES = ("_extends.parse.trope", "dataset.audio", "parallel._cost_model_context")


def operands(system):
    """The names that calls use."""
    for name in _MODULES:
        importlib.import_module(f"{system.__name__}.{name}")

    def tensor(*rows, dtype="f4"):
        return system.Tensor(np.array(rows[0] if len(rows) == 1 else rows, dtype))

    def filled(cell):
        for one in cell.get_parameters():
            one.set_data(tensor((np.arange(one.size).reshape(one.shape) % 7 - 3) / 7))
        return cell

    return {
        "__name__": "surface_calls",
        "filled": filled,
        "ms": system,
        "np": np,
        "ops": system.ops,
        "nn": system.nn,
        "mnp": importlib.import_module(system.__name__ + ".numpy"),
        "Tensor": system.Tensor,
        "msd": importlib.import_module(system.__name__ + ".nn.probability.distribution"),
        "msb": importlib.import_module(system.__name__ + ".nn.probability.bijector"),
        "linalg": importlib.import_module(system.__name__ + ".scipy.linalg"),
        "scipy_ops": importlib.import_module(system.__name__ + ".scipy.ops"),
        "spd": tensor([4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]),
        "square": tensor([2.0, 1.0, 0.5], [0.5, 3.0, -1.0], [1.0, -1.5, 4.0]),
        "tall": tensor([1.0, 2.0], [3.0, -1.0], [0.5, 2.5], [-2.0, 1.0]),
        "batch": tensor([[2.0, 1.0], [0.5, 3.0]], [[1.0, -2.0], [3.0, 1.5]]),
        "x": tensor([1.5, -2.0, 0.5], [-0.5, 2.0, 2.0]),
        "y": tensor([2.0, -1.0, 3.0], [1.0, 2.0, -2.0]),
        "p": tensor([0.5, 2.0, 1.0], [1.5, 0.25, 3.0]),
        "d": tensor([0.5, 2.0, 1.0], [1.5, 0.25, 3.0], dtype="f8"),
        "h": tensor([1.5, -2.0, 0.5], [-0.5, 2.0, 2.0], dtype="f2"),
        "i": tensor([3, -2, 5], [-7, 2, 5], dtype="i4"),
        "j": tensor([2, 3, 1], [4, 2, 3], dtype="i4"),
        "l": tensor([3, -2, 5], [-7, 2, 5], dtype="i8"),
        "u": tensor([3, 200, 5], [7, 2, 100], dtype="u1"),
        "b": tensor([True, False, True], [False, False, True], dtype="?"),
        "v": tensor(1.0, 2.0, 3.0),
        "s": system.Tensor(np.float32(2.5)),
        "n": system.Tensor(np.int32(3)),
        "ids": tensor(2, 0, 1, dtype="i4"),
        "logits": tensor([1.0, 2.0, 0.5], [0.1, -1.0, 2.0], [0.3, 0.3, -0.5], [2.0, 1.0, 1.0]),
        "labels": tensor(2, 0, 1, 1, dtype="i4"),
        "hot": tensor([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]),
        "images": system.Tensor(np.arange(2 * 3 * 6 * 6, dtype="f4").reshape(2, 3, 6, 6) % 17 - 8),
        "cube": system.Tensor(np.arange(24, dtype="f4").reshape(2, 3, 4) % 7 - 3),
        "gradient": lambda function, *args: system.grad(function, tuple(range(len(args))))(*args),
    }


def lines_of(path):
    """The lines of a file that are neither empty nor comments."""
    with open(path) as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def lists(ending):
    """The files of the folder `surface` with an ending, by their areas: `.txt` has calls, `.results` what they gave,
    `.torch` what they give with PyTorch, `.types` the types and shapes that are inferred for these."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "surface")
    names = sorted(name for name in os.listdir(folder) if name.endswith(ending))
    return {name[: -len(ending)]: os.path.join(folder, name) for name in names}


def result_of(system, call):
    """The text of what a call gives, or "refused" and the error."""
    try:
        return described(eval(call, operands(system)))
    except Exception as error:  # of either system
        text = (str(error).strip().splitlines() or [""])[0]
        return f"refused {type(error).__name__}: {text[:100]}"


def described(value):
    """The text of a result: its type, its shape, its numbers, of which many are shortened to the first ones."""
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return f"{kind}({', '.join(described(one) for one in value)})"
    if not hasattr(value, "asnumpy"):
        return f"{type(value).__name__} {value}"
    array = value.asnumpy().reshape(-1)
    numbers = " ".join(_number(one) for one in array[:_FIRST].tolist())
    rest = f" .. {_number(float(array.astype('f8').sum()))}" if array.size > _FIRST else ""
    return f"{value.dtype}{list(value.shape)} {numbers}{rest}".rstrip()


_FIRST = 16


def _number(value):
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)


def are_equal(got, expected):
    """Whether two texts of results have the same words, and numbers within rounding."""
    a, b = (text.replace(",", " ").replace("(", " ").replace(")", " ").split() for text in (got, expected))
    return len(a) == len(b) and all(one == other or _near(one, other) for one, other in zip(a, b))


def _near(one, other):
    try:
        return abs(float(one) - float(other)) <= 2e-5 * max(1.0, abs(float(other)))
    except ValueError:
        return False


def parameters_of(found):
    """The text of the parameters of a function or a class, "" of other values, or "(..)" of unknown ones."""
    if not callable(found):
        return ""
    function = found.__init__ if inspect.isclass(found) else found
    try:
        parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    except (TypeError, ValueError):
        return "(..)"
    texts = []
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        texts.append(star + one.name + ("" if one.default is one.empty else f"={_default(one.default)}"))
    return f"({', '.join(texts)})"


def _default(value):
    text = repr(value)
    is_type = type(value).__module__ != "builtins"  # an element type, which each system prints in its own way
    return text.rpartition(".")[2].lower() if is_type else text
