"""Functions of NumPy arrays as ops."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from partita import _core, _trace
from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.primitive import Primitive
from partita.ops.support import F, as_tensor

_numbers = itertools.count()  # in the names of nodes: two functions of one name are two ops


class Custom(Primitive):
    """`func(*arrays)` on NumPy arrays as an op: it gives an array, or a tuple of them. `out_shape` and `out_dtype` are
    those of the results, or functions of those of the operands. `bprop(*inputs, out, dout)` is made of ops and gives
    the gradients of the inputs; without it there is none. Every rank calls the function with whole operands or, by a
    `rule` with a letter for each dimension ("nk,k->nk"), with its part of the dimensions that all results have. Raises
    TypeError for what is no function, NotImplementedError for another `func_type` than "pyfunc", ValueError for shapes
    and types that are not as many."""

    def __init__(
        self,
        func: Callable[..., object],
        out_shape: object = None,
        out_dtype: object = None,
        func_type: str = "hybrid",
        bprop: Callable[..., object] | None = None,
        reg_info: object = None,
        rule: str = "",
        name: str | None = None,
    ) -> None:
        super().__init__(name or getattr(func, "__name__", type(func).__name__))
        if not callable(func):
            raise TypeError(f"[Custom] not a function, got {type(func).__name__}, expected one of NumPy arrays")
        if func_type != "pyfunc":
            raise NotImplementedError(
                f"[Custom] kernels in another language are not supported, got func_type={func_type!r}, expected "
                "'pyfunc': a function of NumPy arrays"
            )
        if bprop is not None and not callable(bprop):
            raise TypeError(f"[Custom] bprop is not a function, got {type(bprop).__name__}, expected one of tensors")
        if not isinstance(rule, str):
            raise TypeError(f"[Custom] the rule is not a string, got {type(rule).__name__}, expected one as 'nk,k->nk'")
        self._func, self._bprop, self._rule = func, bprop, rule.replace(" ", "")
        self._out_shape, self._out_dtype = out_shape, out_dtype
        self._node = f"{self.name}.{next(_numbers)}"

    def program_parts(self):
        """The function itself runs with the program, and may have what changes as it runs."""
        return [one for one in super().program_parts() if one is not self._func]

    def compute(self, *args):
        tensors = [as_tensor(one, self.name) for one in args]
        build = _trace.current()
        if build is None or self._bprop is None:
            return self._called(*tensors)
        return build.with_gradient(self.name, self._called, self._bprop, tensors)

    def _called(self, *tensors):
        shapes, dtypes, several = self._results(tensors)
        if not tensors:
            raise ValueError(f"[{self.name}] no operands, got 0, expected 1 or more")

        def body(trace, *symbols):
            types = [one.core for one in dtypes]
            run = functools.partial(self._run, types)
            return tuple(F.host_function(trace, self._node, run, list(symbols), types, shapes, self._rule))

        made = _trace.run(body, *tensors)
        return made if several else made[0]

    def _results(self, tensors):
        """(shapes, element types, whether there are several)."""
        shape, dtype = self._out_shape, self._out_dtype
        if callable(shape):
            shape = shape(*[one.shape for one in tensors])
        if callable(dtype) and not isinstance(dtype, (mstype.DType, type)):
            dtype = dtype(*[one.dtype for one in tensors])
        shape = tensors[0].shape if shape is None and tensors else shape
        dtype = tensors[0].dtype if dtype is None and tensors else dtype
        several = isinstance(dtype, (tuple, list)) or (
            isinstance(shape, (tuple, list)) and any(isinstance(one, (tuple, list)) for one in shape)
        )
        if not several:
            return [list(shape)], [mstype.to_dtype(dtype)], False
        dtypes = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * len(shape)
        if len(dtypes) != len(shape):
            raise ValueError(
                f"[{self.name}] different numbers of shapes and element types, got {len(shape)} and {len(dtypes)}, "
                "expected as many"
            )
        return [list(one) for one in shape], [mstype.to_dtype(one) for one in dtypes], True

    def _run(self, types, arrays):
        """The function, from arrays of the library to such; bfloat16 as float32, which NumPy has."""
        made = self._func(*[np.asarray(one.cast("f32") if one.dtype == "bf16" else one) for one in arrays])
        made = [_core.Array(np.asarray(one)) for one in (made if isinstance(made, (tuple, list)) else [made])]
        for i, (one, wanted) in enumerate(zip(list(made), types)):
            if wanted == "bf16" and one.dtype == "f32":
                made[i] = one.cast(wanted)
        return made


def _without_operand(fn):
    """A function without operands, as one of an operand that it does not read."""

    def call(_):
        return fn()

    call.__name__ = getattr(fn, "__name__", "function")
    return call


class PyFunc(Custom):
    """A `Custom` op of a Python function with declared shapes and types of operands, if it has any, and of results. A
    call with other operands raises TypeError."""

    def __init__(
        self,
        fn: Callable[..., object],
        in_types: Sequence[object],
        in_shapes: Sequence[Sequence[int]],
        out_types: Sequence[object],
        out_shapes: Sequence[Sequence[int]],
        stateful: bool = True,
    ) -> None:
        shapes, types = [tuple(one) for one in out_shapes], list(out_types)
        super().__init__(fn if len(in_shapes) else _without_operand(fn), shapes, types, "pyfunc")
        self._given = [(tuple(shape), mstype.to_dtype(one)) for shape, one in zip(in_shapes, in_types)]

    def compute(self, *args):
        got = [(one.shape, one.dtype) for one in map(as_tensor, args)]
        if got != self._given:
            raise TypeError(f"[PyFunc] the operands differ from the declared ones, got {got}, expected {self._given}")
        return super().compute(*args) if args else super().compute(Tensor(0.0))
