"""Gradients that users write for a part of a network: `bprop` of cells and ops."""

from partita import _core
from partita.common import dtype as mstype
from partita.common.tensor import Tensor


class OwnGradient:
    """The gradient of a part of a network: `gradient(*args, out, dout)` replaces the gradients of its ops. `others` are
    the arguments, with None in place of those that are tensors, whose positions are `inputs`. `several` says whether
    the results are a tuple.

    Where a primitive with a strategy reduces over dimensions that it cuts, several ranks have the same part of its
    result. The documented system divides the gradient that arrives there by their number, and gradients that users
    write multiply by it. So it is divided here, too."""

    def __init__(self, where, gradient, others, inputs, several):
        self._where, self._gradient, self._others = where, gradient, others
        self._inputs, self._several = inputs, several

    @property
    def inputs(self):
        """The number of inputs that are tensors."""
        return len(self._inputs)

    def key(self):
        """Equal for gradients that may be computed in the same way. A step calls that of its own, and compares what it
        calls."""
        code = getattr(self._gradient, "__code__", None) or type(self._gradient)
        return "gradient", self._where, code, len(self._others), tuple(self._inputs), self._several

    def add(self, build, *symbols):
        """Gives the nodes since the last `begin_own_gradient` this gradient. `symbols` are the inputs, then the
        results. Returns the results."""
        count, begin, here = len(self._inputs), build.end_own_gradient(), build.here
        results, repeats = [], [build.repeats.get(one.name, 1) for one in symbols[count:]]
        for one in symbols[count:]:
            results.append(_computed(one, begin, results))

        def of_inputs(trace, inputs_then, outputs_then, arrived):
            later = build.later(trace, f"{self._where}.bprop", here)
            wanted = [
                one if one is not None else _no_gradient(trace, result) for one, result in zip(arrived, outputs_then)
            ]
            wanted = [
                one if count == 1 else _core.functions.scale(one, 1 / count, 0.0) for one, count in zip(wanted, repeats)
            ]
            symbols = [*inputs_then, *outputs_then, *wanted]
            if build.replay is not None:
                return build.replay.add_gradient(self, later, symbols)
            with later:
                found = self.of([Tensor._from_symbol(one) for one in symbols])
                return [None if one is None else later.symbol(one) for one in found]

        build.trace.own_gradient(begin, list(symbols[:count]), results, of_inputs)
        return results

    def of(self, tensors):
        """Calls the function of the user with the inputs, the results, and the gradients of these. Returns the gradient
        of each input, a tensor or None. Raises TypeError and ValueError for what are no such gradients."""
        given, where, count = list(self._others), self._where, len(self._inputs)
        for i, one in zip(self._inputs, tensors):
            given[i] = one
        results = (len(tensors) - count) // 2
        made, wanted = tuple(tensors[count : count + results]), tuple(tensors[count + results :])
        found = self._gradient(*given, *((made, wanted) if self._several else (made[0], wanted[0])))
        if found is None:
            raise TypeError(f"[{where}.bprop] no gradients, got None, expected a Tensor, or a tuple of them")
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(found) not in (count, len(given)):
            raise ValueError(
                f"[{where}.bprop] wrong number of gradients, got {len(found)}, expected {count}, one for each input"
            )
        if len(found) == len(given):
            found = [found[i] for i in self._inputs]
        for one in found:
            if one is not None and not isinstance(one, Tensor):
                raise TypeError(
                    f"[{where}.bprop] a gradient is not a tensor, got {type(one).__name__}, expected a Tensor or None"
                )
        return found


def _no_gradient(trace, result):
    """Zero gradient of a result that nothing uses."""
    dtype = result.dtype if mstype.is_float(mstype.of_core(result.dtype)) else "f32"
    return trace.constant(0.0, dtype, list(result.shape))


def _computed(symbol, begin, others):
    """The symbol of a result, of a node from `begin` on, and none of the others."""
    if symbol.node >= begin and symbol.name not in [one.name for one in others]:
        return symbol
    return _core.functions.reshape(symbol, list(symbol.shape))
