"""The names that `nn.layer` has in the documented system: layers of other modules, and modules."""

from partita import _later
from partita._names import exported, missing
from partita._places import submodule
from partita.nn import layer


def _is_layer(found, layers):
    return isinstance(found, type) and issubclass(found, layers.Cell) and not issubclass(found, layers.Optimizer)


def names_of(layers):
    """The `__getattr__` of `nn.layer`, whose names are those of the module `layers` that stand here in others."""

    def __getattr__(name):
        if name == "__all__":
            others = {one: module for one, module in layers.LATER.items() if not module.startswith("partita.nn.optim")}
            own = {k: v for k, v in layers.__dict__.items() if _is_layer(v, layers)}
            return exported(own, ["get_activation", *_later.names_in(others)])
        found = submodule(layer.__name__, name)
        if found is None and not name.startswith("_"):
            found = getattr(layers, name) if name in layers.LATER else layers.__dict__.get(name)
        if found is None:
            raise missing(layer.__name__, name, [*layer.__dict__, *layers.__dict__])
        return found

    return __getattr__
