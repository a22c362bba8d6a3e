"""Names that are not there: errors that say so and name what is nearest."""
from partita import _core

# What the documented system has and this one does not, with what to use instead.
ELSEWHERE = {
    "Symbol": "shapes are known when a network is built: no symbols for them",
    "set_ps_context": "there is no parameter server",
    "set_offload_context": "memory is not offloaded: recompute() saves memory",
    "SlicePatches": "images are not cut into patches: cut them along height and width by a strategy",
}


def missing(module, name, names):
    """The AttributeError for `module.name`, which `from module import name` makes an ImportError."""
    known = [other for other in names if not other.startswith("_")]
    near = _core.nearest(name, known)
    if name in ELSEWHERE:
        reason = f"; {ELSEWHERE[name]}"
    elif near:
        reason = f", did you mean '{near}'?"
    else:
        reason = ""
    return AttributeError(f"[{module}] no such name, got '{name}', expected one of {len(known)} names{reason}")


def refuse_missing(namespace):
    """A module's `__getattr__`, which says what is nearest."""
    def __getattr__(name):
        raise missing(namespace["__name__"], name, list(namespace))
    return __getattr__
