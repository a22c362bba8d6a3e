"""Questions about a training that is not run: how it would be shared, and why a plan costs what it does."""

from partita._names import refuse_missing
from partita.train.model import Model
from partita.train.program import Explanation, Graph, Plan, Program  # noqa: F401


def plan(model, train_dataset, cluster=None, ranks=0, pins="", search="exact", tf32=True):
    """How the training of a Model would be shared: as its context says, on its ranks; or, given a cluster ("cpu",
    "h100", "h100:4", a TOML file, see docs/reference/clusters.md), the configuration that takes the least time there.
    `ranks`: on a part of the cluster; `pins`: what is fixed, as "tensor=8,recompute=none"; `tf32`: whether products of
    float32 are priced in TF32 on devices that have it."""
    _require_model("plan", model)
    if cluster is None:
        return model.program(train_dataset).plan
    found = model._found_plan(train_dataset, str(cluster), ranks, pins, search, tf32)
    return Plan(found.text, found)


def explain(what, train_dataset=None, rank=0):
    """Why a plan of `partita.plan` with a cluster costs what it does; or, of a Model or a Program, what a rank computes
    and sends."""
    if isinstance(what, Plan):
        return Explanation(what._costs().layers())
    if isinstance(what, Program):
        return what.rank(rank)
    _require_model("explain", what)
    return what.program(train_dataset).rank(rank)


def _require_model(where, model):
    if not isinstance(model, Model):
        raise TypeError(f"[{where}] no model, got {type(model).__name__}, expected partita.Model")


__getattr__ = refuse_missing(globals())
