"""Ops as objects, which carry a sharding annotation, a stage and whether they are recomputed."""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable

from partita import _trace
from partita.common.tensor import Tensor
from partita.ops import strategies
from partita.ops.program_tools import constexpr  # noqa: F401  # its name in the documented system


class Primitive:
    """The base of ops that are objects: `ops.MatMul().shard(((2, 4), (4, 1)))`. A subclass defines `compute`."""

    def __init__(self, name: str | None = None) -> None:
        self._prepare()
        self.name = name or type(self).__name__

    def _prepare(self):
        self.__dict__.setdefault("_strategy", None)
        self.__dict__.setdefault("_stage", None)
        self.__dict__.setdefault("_recompute", False)
        self.__dict__.setdefault("attrs", {})
        self.__dict__.setdefault("name", type(self).__name__)

    def compute(self, *args):
        raise NotImplementedError

    # A strategy has an entry for each tensor, and may have () for each number; subclasses whose inputs differ say so.

    _numbers = False  # whether numbers are inputs

    def inputs(self, *args):
        """The inputs that a strategy has entries for."""
        found = []
        for one in args:
            if isinstance(one, (tuple, list)):
                found += [inner for inner in one if isinstance(inner, Tensor)]
            elif isinstance(one, Tensor) or (self._numbers and isinstance(one, numbers.Number)):
                found.append(one)
        return found

    def input_cuts(self, strategy, inputs, args):
        """(cuts of the inputs, cuts of dimensions that ops add), as the strategy says."""
        return strategy.ins, {}

    @staticmethod
    def with_inputs(args, changed):
        """The arguments with other tensors in the places of some inputs, by the numbers of these."""
        number = -1
        made = []
        for one in args:
            inner = list(one) if isinstance(one, (tuple, list)) else [one]
            for i, value in enumerate(inner):
                if isinstance(value, (Tensor, numbers.Number)):
                    number += 1
                    inner[i] = changed.get(number, value)
            made.append(type(one)(inner) if isinstance(one, (tuple, list)) else inner[0])
        return made

    def program_parts(self):
        """Objects whose change makes a call another part of a program."""
        return [self.__dict__[name] for name in sorted(self.__dict__)]

    @property
    def strategy(self):
        """How inputs are cut, None where `shard` was not called."""
        return self.__dict__.get("_strategy")

    def __call__(self, *args):
        return self.call_as(self.compute, *args)

    def call_as(self, compute, *args):
        """Calls a function of the inputs in place of `compute`, cut and placed as the primitive is."""
        if "_strategy" not in self.__dict__:  # a subclass did not call __init__
            self._prepare()
        build = _trace.current()
        if build is None:
            return compute(*args)
        scope = self.name if self._recompute else ""
        with _trace.place(build, scope, self._stage, self._recompute):
            if self._strategy is None:
                return compute(*args)
            return strategies.call(self, self._strategy, compute, args)

    def shard(self, in_strategy: tuple | None = None, out_strategy: tuple | None = None) -> Primitive:
        """How inputs, and perhaps results, are cut: a tuple of tuples of parts, or of Layouts. Numbers among the inputs
        have (). Read under semi and auto parallelism."""
        self._prepare()
        self._strategy = strategies.given(f"{self.name}.shard", in_strategy, out_strategy)
        return self

    def recompute(self, mode: bool = True) -> Primitive:
        """Makes the backward pass recompute the result instead of keeping it."""
        self._prepare()
        self._recompute = bool(mode)
        return self

    def set_stage(self, stage: int) -> Primitive:
        """The pipeline stage of the op."""
        self._prepare()
        if not isinstance(stage, int) or stage < 0:
            raise ValueError(f"[{self.name}.set_stage] bad stage, got {stage!r}, expected an integer from 0")
        self._stage = stage
        return self

    def add_prim_attr(self, name: str, value: object) -> Primitive:
        """Keeps an attribute, also under its name, and returns the op; those of the documented system that place
        operators have no effect here."""
        self._prepare()
        self.attrs[name] = value
        self.__dict__.setdefault(name, value)
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Forgets an attribute that `add_prim_attr` keeps, and returns the op."""
        self._prepare()
        if name in self.attrs and self.__dict__.get(name) is self.attrs[name]:
            del self.__dict__[name]
        self.attrs.pop(name, None)
        return self

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Gives the op an `instance_name`, without effect on results, and returns the op."""
        self.instance_name = name
        return self

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Keeps the names of the inputs and of the outputs as the attributes `input_names` and `output_names`."""
        self.add_prim_attr("input_names", inputs).add_prim_attr("output_names", outputs)

    def set_device(self, device_target: str) -> Primitive:
        return self.add_prim_attr("primitive_target", device_target)

    def place(self, role, rank_id):
        raise NotImplementedError(
            "[Primitive.place] ops cannot be placed on single ranks, got a call, expected set_stage, or shard"
        )

    def get_attr_dict(self) -> dict:
        """The attributes of the op by their names, as a dictionary of its own."""
        self._prepare()
        return dict(self.attrs)

    def __repr__(self):
        hidden = "input_names", "output_names"
        text = ", ".join(f"{name}={value}" for name, value in self.attrs.items() if name not in hidden)
        return f"Prim[{self.name}]" + (f"<{text}>" if text else "")


class PrimitiveWithInfer(Primitive):
    """An op of a script's own in the documented system, which has a kernel of this name there. Here a subclass that
    defines `compute` can be called; others raise NotImplementedError."""

    def compute(self, *args):
        raise NotImplementedError(
            f"[{self.name}] there is no kernel of this name, got a call, expected `compute` of ops, or ops.Custom"
        )

    def init_prim_io_names(self, inputs, outputs):
        """Keeps the names of the inputs and of the results."""
        return self.add_prim_attr("input_names", inputs).add_prim_attr("output_names", outputs)

    def infer_shape(self, *args):
        """The shape of the result by those of the inputs: a subclass defines it."""

    def infer_dtype(self, *args):
        """The type of the result by those of the inputs: a subclass defines it."""

    def infer_value(self, *args):
        """The result by known inputs: a subclass may define it."""


class PrimitiveWithCheck(PrimitiveWithInfer):
    """An op of a script's own in the documented system, which checks its inputs."""


def prim_attr_register(fn):
    """The constructor of an op, which makes its parameters attributes before it runs."""
    return _registered(fn, kept=True)


def prim_arg_register(fn: Callable) -> Callable:
    """The constructor of an op, whose parameters are set as fields of it before it runs, and kept in `init_attrs` by
    their names. They are no attributes: `get_attr_dict` and the text of the op do not have them."""
    return _registered(fn, kept=False)


def _registered(fn, kept):
    """A constructor that sets its parameters before it runs; `kept`: also as attributes of the op."""
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self, *args, **kwargs):
        Primitive.__init__(self, type(self).__name__)
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        self.init_attrs = dict(list(given.arguments.items())[1:])
        for name, value in self.init_attrs.items():
            setattr(self, name, value)
            if kept:
                self.add_prim_attr(name, value)
        return fn(*given.args, **given.kwargs)

    return init


def _run_op(obj, op_name, args):
    """Runs an op of a class whose call a library replaced."""
    return obj.call_as(obj.compute, *args)
