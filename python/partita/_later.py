"""Modules that are imported when one of their names is first asked for: most scripts use few of them."""

import importlib

from partita._names import exported, missing
from partita._places import submodule


def imported(module):
    """A module of the caller's own package, imported now if it was not before."""
    return importlib.import_module(module)


def places_of(table, package):
    """{name: module} of a table {module of a package: its names}."""
    return {name: f"{package}.{module}" for module, names in table.items() for name in names.split()}


def names_in(places):
    """The public names of a table {name: module}, without modules."""
    return [one for one, module in places.items() if not one.startswith("_") and not module.endswith(f".{one}")]


def names_later(namespace, places):
    """(`__getattr__`, `__dir__`) of a module that has the names of `places`, {name: module}, too. A name that is asked
    for stays in the module's namespace."""

    def __getattr__(name):
        if name == "__all__":
            return exported(namespace, names_in(places))
        module = places.get(name)
        if module is None:
            found = submodule(namespace["__name__"], name)
            if found is not None:
                return found
            raise missing(namespace["__name__"], name, [*namespace, *places])
        found = importlib.import_module(module)
        if not module.endswith(f".{name}"):  # a name of the module, and not the module itself
            found = getattr(found, name)
        namespace[name] = found
        return found

    def __dir__():
        return sorted({*namespace, *places})

    return __getattr__, __dir__


def names_of(namespace, other):
    """(`__getattr__`, `__dir__`) of a module that has the public names of another one, too, which imports it."""

    def others():
        return [one for one in exported(vars(importlib.import_module(other))) if one not in namespace]

    def __getattr__(name):
        if name == "__all__":
            return exported(namespace, others())
        names = [] if name.startswith("__") else others()
        if name in names:
            return getattr(importlib.import_module(other), name)
        found = submodule(namespace["__name__"], name)
        if found is not None:
            return found
        raise missing(namespace["__name__"], name, [*namespace, *names])

    def __dir__():
        return sorted({*namespace, *others()})

    return __getattr__, __dir__
