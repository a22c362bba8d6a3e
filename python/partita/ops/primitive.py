"""Ops as objects, which carry a sharding annotation, a stage and whether they are recomputed."""

from partita import _trace
from partita._layout import annotation_text
from partita.common.tensor import Tensor


class Primitive:
    """The base of ops that are objects: `ops.MatMul().shard(((2, 4), (4, 1)))`. A subclass defines `compute`."""

    def __init__(self, name=None):
        self._prepare()
        self.name = name or type(self).__name__

    def _prepare(self):
        self.__dict__.setdefault("_annotation", "")
        self.__dict__.setdefault("_stage", None)
        self.__dict__.setdefault("_recompute", False)
        self.__dict__.setdefault("attrs", {})
        self.__dict__.setdefault("name", type(self).__name__)

    def compute(self, *args):
        raise NotImplementedError

    def program_parts(self):
        """Objects whose change makes a call another part of a program."""
        return [self.__dict__[name] for name in sorted(self.__dict__)]

    def __call__(self, *args):
        self._prepare()
        build = _trace.current()
        if build is None:
            return self.compute(*args)
        scope = self.name if self._recompute else ""
        with _trace.place(build, scope, self._stage, self._recompute):
            result = self.compute(*args)
        if self._annotation:
            first = result[0] if isinstance(result, tuple) else result
            if isinstance(first, Tensor):
                build.annotate(first, self._annotation)
        return result

    def shard(self, in_strategy=None, out_strategy=None):
        """How operands, and perhaps results, are cut: a tuple of tuples of parts, or of Layouts. Read under semi and
        auto parallelism."""
        self._prepare()
        self._annotation = annotation_text(f"{self.name}.shard", in_strategy, out_strategy)
        return self

    def recompute(self, mode=True):
        """Makes the backward pass recompute the result instead of keeping it."""
        self._prepare()
        self._recompute = bool(mode)
        return self

    def set_stage(self, stage):
        """The pipeline stage of the op."""
        self._prepare()
        if not isinstance(stage, int) or stage < 0:
            raise ValueError(f"[{self.name}.set_stage] bad stage, got {stage!r}, expected an integer from 0")
        self._stage = stage
        return self

    def add_prim_attr(self, name, value):
        """Keeps an attribute; those of the documented system that place operators have no effect here."""
        self._prepare()
        self.attrs[name] = value
        return self

    def set_device(self, device_target):
        return self.add_prim_attr("primitive_target", device_target)

    def place(self, role, rank_id):
        raise NotImplementedError(
            "[Primitive.place] ops cannot be placed on single ranks, got a call, expected set_stage, or shard"
        )

    def __repr__(self):
        return f"Prim[{self.name}]<{', '.join(f'{k}={v}' for k, v in self.attrs.items())}>"
