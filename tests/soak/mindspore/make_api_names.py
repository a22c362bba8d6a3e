"""Records the public names of MindSpore's modules, those of `__all__`, in tests/python/api_names.txt: a module and its
names on a line each. Run it in the folder of the repository, with the Python of an environment that compare.sh
describes."""

import importlib
import inspect

import mindspore

MODULES = (
    "mindspore amp boost common.initializer common.generator communication communication.comm_func context dataset "
    "dataset.audio dataset.text dataset.transforms dataset.vision device_context.ascend device_context.cpu "
    "device_context.gpu experimental experimental.optim graph hal log mindrecord mint mint.distributed mint.linalg "
    "mint.nn mint.nn.functional mint.optim mint.special multiprocessing nn nn.probability.bijector "
    "nn.probability.distribution numpy ops parallel parallel.nn profiler rewrite runtime safeguard scipy.linalg "
    "scipy.optimize tools train utils"
).split()


def names_of(module):
    """The public names of a module, without its modules."""
    found = getattr(module, "__all__", None)
    if found is None:
        found = [name for name in vars(module) if not name.startswith("_")]
    kept = [one for one in set(found) if not one.startswith("_") and hasattr(module, one)]
    return sorted(one for one in kept if one != "absolute_import" and not inspect.ismodule(getattr(module, one)))


def main():
    with open("tests/python/api_names.txt", "w") as out:
        out.write(f"# Public names of MindSpore {mindspore.__version__}: made by make_api_names.py.\n")
        for name in MODULES:
            own = "mindspore" if name == "mindspore" else f"mindspore.{name}"
            try:
                names = names_of(importlib.import_module(own))
            except ImportError as error:
                print(f"{name}: {error}")
                continue
            if names:
                out.write(f"{name}: {' '.join(names)}\n")


if __name__ == "__main__":
    main()
