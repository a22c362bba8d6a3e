"""Questions about a training that is not run: how it would be shared, and why a plan costs what it does."""

import contextlib

from partita import _core
from partita._names import refuse_missing
from partita._warnings import warn
from partita.common.dtype import to_dtype
from partita.train.model import Model
from partita.train.program import Explanation, Graph, Plan, Program  # noqa: F401


def plan(
    model,
    train_dataset=None,
    cluster=None,
    ranks=0,
    pins="",
    search="exact",
    tf32=True,
    fixed="",
    batch=0,
    dtype=None,
    memory_gib=0,
    runner_up=False,
    target=None,
    check=False,
    collectives="auto",
    attention="auto",
):
    """Returns the plan of a training without running it.

    Without a `cluster`: the plan of a Model as its context says, on its ranks. With one ("cpu", "h100:4", a TOML
    file, see docs/reference/clusters.md): the configuration that takes the least time there, as `partita plan` finds
    it.
    `model` may also be the name of one of docs/reference/models.md ("gpt:layers=24") or the file of a forward graph
    ("graph.txt"), without a data set.
    `target`: a chip for which `partita compile` compiles programs ("h100:4"), in place of a cluster; its plan is one of
    Partita's own programs. `check`: compiles the programs of the rank that needs the most memory, which needs the
    plugin of the devices, and searches on until they fit. Their `collectives` are "cut", by the host, or "whole", by
    the device; their `attention` is "composed", with its scores in memory, or "fused", by cuDNN. "auto": as to train.

    `ranks`: plans for a part of the cluster. `pins`: values that are fixed ("tensor=8,recompute=none"). `fixed`: the
    whole configuration, which is priced as it is. `batch`: rows of the global batch. `dtype`: type of activations and
    products ("f32", "bf16", partita.bfloat16, ..). `memory_gib`: GiB of each device. `tf32`: whether products of
    float32 are priced in TF32 on devices that have it. `runner_up`: whether `others` shows the best plan that shares
    the ranks otherwise."""
    if isinstance(model, str):
        request, settings = _core.PlanRequest(), contextlib.nullcontext
        request.model = model
    else:
        _require_model("plan", model)
        if cluster is None and target is None:
            return model.program(train_dataset).plan
        settings = model._settings
        with settings():
            request = model._plan_request(train_dataset)
    if fixed and pins:
        raise ValueError("[plan] pins have no effect with fixed, which leaves nothing open, expected one of the two")
    if not memory_gib >= 0:
        raise ValueError(f"[plan] memory_gib out of range, got {memory_gib}, expected GiB above 0")
    _name_devices(request, cluster, target)
    _check_programs(request, bool(check), collectives, attention)
    request.ranks, request.batch, request.tf32, request.runner_up = ranks, batch, bool(tf32), bool(runner_up)
    request.limit_memory(memory_gib)
    request.pin(pins)
    request.search_by(search)
    if dtype is not None:
        request.compute_in(dtype if isinstance(dtype, str) else to_dtype(dtype).core)
    with settings():
        found = _core.price(request, fixed) if fixed else _core.plan(request)
    return Plan(found.text, found, settings)


def _name_devices(request, cluster, target):
    if target is not None and cluster is not None:
        raise ValueError(f"[plan] cluster and target both name the devices, got {cluster} and {target}, expected one")
    request.cluster = "cpu" if cluster is None else str(cluster)
    request.target = "" if target is None else str(target)


def _check_programs(request, check, collectives, attention):
    for name, given, usual in (("collectives", collectives, "auto"), ("attention", attention, "auto")):
        if given != usual and not check:
            raise ValueError(f"[{name}] has no effect, got {given} without check, expected both")
    request.check = check
    request.compile_with(collectives, attention)


def explain(what, train_dataset=None, rank=0, op="", free=False):
    """Why a plan of `partita.plan` with a cluster, or one in a file, costs what it does: layer by layer or, with the
    name of an `op`, what each cut of it costs (`free`: with all other nodes cut anew). Of a Model or a Program: what a
    rank computes and sends."""
    if isinstance(what, str):
        return _explain_saved(_core.SavedPlan(what, ""), op, free)
    if isinstance(what, Plan):
        return Explanation(what._ask("op", op, free) if op else what._ask("layers"))
    if isinstance(what, Program):
        return what.rank(rank)
    _require_model("explain", what)
    return what.program(train_dataset).rank(rank)


def _explain_saved(saved, op, free):
    job = saved.job()
    if op:
        return Explanation(job.op(op, free))
    edits, warning = saved.edits(), saved.warning()
    if warning:
        warn(warning)
    return Explanation((edits + "\n" if edits else "") + job.text + "\n" + job.layers())


def diff(first, second):
    """How two plans in files differ, and their steps and memory."""
    differences = _core.diff(_core.SavedPlan(first, ""), _core.SavedPlan(second, ""))
    for warning in differences.warnings:
        warn(warning)
    return Explanation(differences.text)


def _require_model(where, model):
    if not isinstance(model, Model):
        raise TypeError(f"[{where}] not a model, got {type(model).__name__}, expected partita.Model")


__getattr__ = refuse_missing(globals())
