"""Ops that NumPy computes: linear algebra of batches of matrices."""

import functools

import numpy as np

from partita.common import dtype as mstype
from partita.ops.custom import Custom
from partita.ops.elementwise import cast
from partita.ops.support import as_tensor

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Hosted(Custom):
    """An op of a function of NumPy arrays. Its node is known by the name and the options, which have to tell apart what
    differs: all processes give it alike, whatever each of them called before."""

    def __init__(self, name, func, out_shape=None, out_dtype=None, gradient=None, rule="", options=()):
        super().__init__(func, out_shape, out_dtype, "pyfunc", gradient, rule=rule, name=name)
        self._node = "_".join([name, *map(str, options)])


def rule_of(batch, inputs, outputs):
    """The rule of a function of batches. The first `batch` dimensions of all tensors are the same and may be cut. Each
    tensor has as many dimensions more as `inputs` and `outputs` say; ranks need all of these."""
    letters = iter(_LETTERS[batch:])
    texts = [[_LETTERS[:batch] + "".join(next(letters) for _ in range(n)) for n in some] for some in (inputs, outputs)]
    return ",".join(texts[0]) + "->" + ",".join(texts[1])


@functools.lru_cache(1024)
def _made(name, values, shapes, gradient, inputs, outputs, batch, options):
    def run(*arrays):
        try:
            made = values(*arrays, *options)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"[{name}] there is no result, got {str(error)!r}, expected other matrices") from None
        several = isinstance(made, tuple)
        made = [np.asarray(one, arrays[0].dtype) for one in (made if several else (made,))]
        return tuple(made) if several else made[0]

    def own_gradient(*args):
        return gradient(*args, *options)

    found = own_gradient if gradient is not None and options else gradient
    rule = rule_of(batch, inputs, outputs)
    return Hosted(name, run, lambda *given: shapes(*given, *options), None, found, rule, (batch, *options))


def hosted(name, values, shapes, gradient, inputs, outputs):
    """Returns the function `call(*tensors, *options)` of batches of matrices. `values(*arrays, *options)` gives arrays,
    `shapes(*shapes of operands, *options)` their shapes, and `gradient(*tensors, out, dout, *options)` the gradients.
    `inputs` and `outputs` are the numbers of dimensions that are no batch. Tensors of 16 bits are computed in
    float32."""
    inputs, outputs = tuple(inputs), tuple(outputs)

    def call(*args):
        tensors, options = args[: len(inputs)], args[len(inputs) :]
        kind = tensors[0].dtype
        short = kind in (mstype.float16, mstype.bfloat16)
        tensors = [cast(one, mstype.float32) if short else one for one in tensors]
        batch = tensors[0].ndim - inputs[0]
        made = _made(name, values, shapes, gradient, inputs, outputs, batch, options)(*tensors)
        if not short:
            return made
        return tuple(cast(one, kind) for one in made) if isinstance(made, tuple) else cast(made, kind)

    call.__name__ = call.__qualname__ = name
    return call


def matrices(where, *given, square=()):
    """The operands as batches of matrices of one type of floating-point numbers. Those whose numbers are in `square`
    have as many rows as columns. Raises TypeError for other types and ValueError for other shapes."""
    tensors = [as_tensor(one, where) for one in given]
    for i, one in enumerate(tensors):
        if not mstype.is_float(one.dtype):
            raise TypeError(f"[{where}] operand is not of floating-point numbers, got {one.dtype}, expected float32")
        if one.ndim < 2:
            raise ValueError(f"[{where}] no matrix, got shape {one.shape}, expected two dimensions or more")
        if i in square and one.shape[-1] != one.shape[-2]:
            raise ValueError(f"[{where}] the matrices are not square, got {one.shape}, expected equal sizes")
        if one.dtype != tensors[0].dtype:
            raise TypeError(f"[{where}] the operands are of two types, got {tensors[0].dtype} and {one.dtype}")
    return tensors if len(tensors) > 1 else tensors[0]
