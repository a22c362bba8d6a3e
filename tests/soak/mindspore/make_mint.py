"""Records what PyTorch gives for calls of `mint` that MindSpore cannot run on a CPU: of the lines of
tests/python/surface/mint.txt those that mint.results lacks. Writes tests/python/surface/mint.torch.

make_mint.py, after make_surface.py, with a Python that has PyTorch, in the folder of the repository; tests/python is on
its path."""

import inspect
import sys
import types

import numpy as np
import surface_calls
import torch

FOLDER = "tests/python/surface/"


class Made:
    """A layer in the mode that one begins with in MindSpore: as for evaluation."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if not (inspect.isclass(found) and issubclass(found, torch.nn.Module)):
            return found
        return lambda *args, **named: found(*args, **named).eval()


class Result:
    """A tensor with the names that `surface_calls.described` uses."""

    def __init__(self, tensor):
        self._array, self.shape = tensor.detach().numpy(), list(tensor.shape)
        self.dtype = str(tensor.dtype).rpartition(".")[2].capitalize().replace("Uint", "UInt")

    def asnumpy(self):
        return self._array


def as_results(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(as_results, value)) if type(value) in (tuple, list) else tuple(map(as_results, value))
    return Result(value) if isinstance(value, torch.Tensor) else value


def gradient(function, *args):
    tensors = [one.detach().clone().requires_grad_(True) for one in args]
    made = function(*tensors)
    outputs = [one for one in (made if isinstance(made, (tuple, list)) else [made]) if one.requires_grad]
    found = torch.autograd.grad(outputs, tensors, [torch.ones_like(one) for one in outputs])
    return tuple(found) if len(found) > 1 else found[0]


def filled(module):
    for one in module.parameters():
        values = (np.arange(one.numel()).reshape(one.shape) % 7 - 3) / 7
        one.data = torch.from_numpy(np.asarray(values, "f4"))
    return module


def names():
    mint = types.SimpleNamespace(nn=Made(torch.nn), linalg=torch.linalg, special=torch.special)
    for name in dir(torch):
        if not hasattr(mint, name):
            setattr(mint, name, getattr(torch, name))
    system = types.ModuleType("torch_like")
    system.mint, system.Tensor = mint, lambda array: torch.from_numpy(np.array(array))
    system.ops = system.nn = None
    for name in ("float16", "float32", "float64", "int32", "int64"):
        setattr(system, name, getattr(torch, name))
    for part in ("numpy", "nn.probability.distribution", "nn.probability.bijector", "scipy.linalg", "scipy.ops"):
        sys.modules[f"torch_like.{part}"] = types.ModuleType(part)  # modules that operands name and calls of mint lack
    found = surface_calls.operands(system)
    torch.nn.Module.set_train = torch.nn.Module.train
    return {**found, "gradient": gradient, "filled": filled}


def main():
    known = {line.split("\t")[0] for line in surface_calls.lines_of(FOLDER + "mint.results")}
    with open(FOLDER + "mint.torch", "w") as out:
        out.write(f"# Of PyTorch {torch.__version__}, NumPy {np.__version__}: made by make_mint.py.\n")
        for call in surface_calls.lines_of(FOLDER + "mint.txt"):
            if call in known:
                continue
            try:
                text = surface_calls.described(as_results(eval(call, names())))
            except Exception as error:  # of PyTorch
                print(f"{call}: {type(error).__name__}: {str(error).splitlines()[0][:150]}")
                continue
            out.write(f"{call}\t{text}\n")


if __name__ == "__main__":
    main()
