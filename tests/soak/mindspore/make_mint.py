"""Records what PyTorch gives for calls of `mint` that MindSpore cannot run on a CPU: of the lines of
tests/python/surface/AREA.txt those that AREA.results lacks, of the areas that begin with mint. Writes
tests/python/surface/AREA.torch.

make_mint.py, after make_surface.py, with a Python that has PyTorch, in the folder of the repository; tests/python is on
its path."""

import inspect
import sys
import types

import numpy as np
import surface_calls
import torch

FOLDER = "tests/python/surface/"
# Modules of operands that have no counterpart.
_WITHOUT = "numpy nn.probability.distribution nn.probability.bijector scipy.linalg scipy.ops".split()


class Made:
    """A layer in the mode that one begins with in MindSpore: as for evaluation."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if not (inspect.isclass(found) and issubclass(found, torch.nn.Module)):
            return found

        def __init__(self, *args, **named):
            found.__init__(self, *args, **named)
            self.eval()

        def construct(self, *inputs):
            return self.forward(*inputs)

        return type(name, (found,), {"__init__": __init__, "construct": construct})


class Updates:
    """The optimizers, which take gradients as they do in MindSpore: one of each parameter."""

    def __getattr__(self, name):
        def made(*args, **named):
            optimizer = getattr(torch.optim, name)(*args, **named)

            def update(gradients):
                parameters = [one for group in optimizer.param_groups for one in group["params"]]
                for one, value in zip(parameters, gradients, strict=True):
                    one.grad = value.clone()
                optimizer.step()

            return update

        return made


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
    parts = {"nn": Made(torch.nn), "linalg": torch.linalg, "special": torch.special, "optim": Updates()}
    mint = types.SimpleNamespace(**parts)
    for name in dir(torch):
        if not hasattr(mint, name):
            setattr(mint, name, getattr(torch, name))
    mint.addr_ = torch.Tensor.addr_
    system = types.ModuleType("torch_like")
    system.mint, system.Tensor = mint, lambda array: torch.from_numpy(np.array(array))
    system.Parameter = lambda tensor, name: torch.nn.Parameter(tensor.clone())
    system.ops = system.nn = None
    for name in ("float16", "float32", "float64", "int32", "int64"):
        setattr(system, name, getattr(torch, name))
    for part in _WITHOUT:
        sys.modules[f"torch_like.{part}"] = types.ModuleType(part)
    found = surface_calls.operands(system)
    torch.nn.Module.set_train = torch.nn.Module.train
    return {**found, "gradient": gradient, "filled": filled}


def write(area):
    known = {line.split("\t")[0] for line in surface_calls.lines_of(f"{FOLDER}{area}.results")}
    with open(f"{FOLDER}{area}.torch", "w") as out:
        out.write(f"# Of PyTorch {torch.__version__}, NumPy {np.__version__}: made by make_mint.py.\n")
        for call in surface_calls.lines_of(f"{FOLDER}{area}.txt"):
            if call in known:
                continue
            try:
                text = surface_calls.described(as_results(eval(call, names())))
            except Exception as error:  # of PyTorch
                print(f"{call}: {type(error).__name__}: {str(error).splitlines()[0][:150]}")
                continue
            out.write(f"{call}\t{text}\n")


if __name__ == "__main__":
    for area in surface_calls.lists(".txt"):
        if area.startswith("mint"):
            write(area)
