"""Strategies of primitives, carried to the ops that these are made of.

A strategy says how the inputs of a primitive are cut. The primitive may be several ops of the library, of other
operands: each of them is annotated with the cuts that its operands have by then."""

import math

from partita import _core, _trace, context
from partita._layout import TensorLayout, annotation_text
from partita.common.tensor import Tensor
from partita.communication import management
from partita.ops.cut_rules import RULES, SEVERAL


class Strategy:
    """Parts of each dimension of each input of a primitive, or names of a layout's axes."""

    def __init__(self, where, ins, outs):
        self.text = annotation_text(where, ins, outs)
        self.where = where
        named = [one for one in ((ins,) if isinstance(ins, TensorLayout) else ins) if isinstance(one, TensorLayout)]
        self.layout = named[0].layout if named else None
        self.ins = self._dims(ins)
        self.outs = None if outs is None else self._dims(outs)

    def _dims(self, given):
        given = (given,) if isinstance(given, TensorLayout) else given
        return [self._named(one) if self.layout else list(one) for one in given]

    @staticmethod
    def _named(one):
        dims = [dim if isinstance(dim, tuple) else (dim,) for dim in one.tensor_map]
        return [tuple(name for name in dim if name != "None") for dim in dims]

    @property
    def uncut(self):
        """The cut of a dimension that is whole."""
        return () if self.layout else 1

    def parts(self, cut):
        """The number of parts of a dimension that is cut so."""
        if not self.layout:
            return cut
        sizes = dict(zip(self.layout.alias_name, self.layout.device_matrix))
        return math.prod(sizes[name] for name in cut)

    def print(self, ins, outs=None):
        """An annotation of an op as the library reads it."""
        texts = [self._print(one) for one in ins]
        if self.layout:
            made = self.layout.head() + "(" + ",".join(texts) + ")"
        else:
            made = "(" + ",".join(texts) + ")"
        return made if outs is None else made + "->(" + ",".join(self._print(one) for one in outs) + ")"

    def _print(self, dims):
        if self.layout:
            return "(" + ",".join("+".join(cut) or "None" for cut in dims) + ")"
        return "(" + ",".join(map(str, dims)) + ")"


class Cuts:
    """The cuts of the values within one call of a primitive."""

    def __init__(self, strategy, ranks, expanded):
        self.strategy, self.ranks = strategy, ranks
        self.values = {}  # by the name of a value: for each dimension its cut, and the input and dimension it is of
        self.expanded = expanded  # cuts of dimensions that an op adds, by (op, name of the dimension)
        self.annotated = {}  # texts by the names of results, with the numbers of the results
        self.repeats = {}  # how many ranks have the same part of a result, as its op reduces over cut dimensions

    def begin(self, symbol, number, dims):
        self.values[symbol.name] = [(cut, (number, i)) for i, cut in enumerate(dims)]

    def note(self, op, operands, attrs, results):
        """Annotates the op that made the results."""
        operands = [one for one in operands if one is not None]
        names = [one.name for one in operands]
        if not any(name in self.values for name in names) or results[0].name in names:
            return
        rule = RULES.get(op)
        shapes = [list(one.shape) for one in operands], [list(one.shape) for one in results]
        found = rule(*shapes, attrs) if rule else None
        if found is None:
            self._as_given(op, names, results)
            return
        of_operands, of_results, whole = found
        known = self._known(names, of_operands, whole, shapes[0])
        fresh = {name: (cut, None) for (kind, name), cut in self.expanded.items() if kind == op}
        everywhere = {**known, **fresh}
        self._require_ranks([self.strategy.parts(cut) for cut, _ in everywhere.values()])
        uncut = self.strategy.uncut, None
        ins = [[everywhere.get(name, uncut)[0] for name in one] for one in of_operands]
        outs = [[everywhere.get(name, uncut) for name in one] for one in of_results]
        text = self.strategy.print(ins, [[cut for cut, _ in one] for one in outs] if fresh else None)
        for result, dims in zip(results, outs):
            result.annotate(text)
            self.values[result.name] = dims
            self.annotated[result.name] = text, len(results)
            kept = math.prod(self.strategy.parts(cut) for cut, _ in dims)
            self.repeats[result.name] = math.prod(self.strategy.parts(cut) for cut, _ in everywhere.values()) // kept

    def _require_ranks(self, parts):
        """Raises ValueError for parts that the ranks do not have; of layouts the names cannot be more."""
        count = math.prod(parts)
        if self.ranks and not self.strategy.layout and self.ranks % count:
            raise ValueError(
                f"[{self.strategy.where}] the parts do not fit the ranks, got {count} in {self.strategy.text}, "
                f"expected a divisor of {self.ranks}"
            )

    def _known(self, names, of_operands, whole, shapes):
        """The cuts of named dimensions, as the operands have them."""
        known = {}
        for name, dims, shape in zip(names, of_operands, shapes):
            for dim, (cut, origin), size in zip(dims, self.values.get(name, ()), shape):
                parts = self.strategy.parts(cut)
                if parts > 1 and (dim is None or dim in whole):
                    why = "it has one element" if size == 1 else "the op needs it whole"
                    self._refuse(origin, f"cannot be cut: {why}", f"{parts} parts", "1")
                if parts > size:
                    self._refuse(origin, "has fewer elements than parts", f"{parts} parts", f"at most {size}")
                if dim is None:
                    continue
                if dim in known and known[dim][0] != cut:
                    other = known[dim][1]
                    at = f"dimension {other[1]} of input {other[0]}" if other else "another dimension"
                    self._refuse(
                        origin,
                        f"is cut differently from {at}, which it belongs to",
                        f"{parts} parts",
                        f"{self.strategy.parts(known[dim][0])}",
                    )
                known.setdefault(dim, (cut, origin))
        return known

    def _refuse(self, origin, what, got, expected):
        place = f"dimension {origin[1]} of input {origin[0]}" if origin else "a dimension of the result"
        raise ValueError(f"[{self.strategy.where}] {place} {what}, got {got}, expected {expected}")

    def _as_given(self, op, names, results):
        """Annotates an op without a rule, if its operands are the inputs of the primitive."""
        if op in SEVERAL or names != list(self.values):
            raise NotImplementedError(
                f"[{self.strategy.where}] the op '{op}' within it has no rule for strategies, got "
                f"{self.strategy.text}, expected none"
            )
        text = self.strategy.text.split("->")[0]
        for result in results:
            result.annotate(text)
            self.annotated[result.name] = text, len(results)


def given(where, ins, outs):
    """The strategy that `shard` is given, None for none. Raises TypeError and ValueError for what is none."""
    return Strategy(where, ins, outs) if annotation_text(where, ins, outs) else None


def is_active():
    """Whether a primitive with a strategy is being called in the network that is built."""
    build = _trace.current()
    return build is not None and bool(build.cuts)


def note(op, operands, attrs, made):
    """Tells the strategy of the primitive that is being called which op was made."""
    build = _trace.current()
    cuts = build.cuts[-1]
    cuts.note(op, operands, attrs, list(made) if isinstance(made, (list, tuple)) else [made])
    build.repeats.update(cuts.repeats)


def is_shared():
    """Whether strategies are read: under semi and auto parallelism."""
    return context.get_auto_parallel_context("parallel_mode") in ("semi_auto_parallel", "auto_parallel")


def call(primitive, strategy, compute, args):
    """The results of a primitive in a network that is built, cut as its strategy says where strategies are read."""
    operands, build = primitive.inputs(*args), _trace.current()
    if not is_shared() or build.is_mapping or not any(isinstance(one, Tensor) for one in operands):
        return compute(*args)
    ins, expanded = primitive.input_cuts(strategy, operands, args)
    ins, ranks = _fitted(strategy, operands, ins), _ranks_of(strategy)
    pairs, changed = {}, {}  # (operand, its number, its cuts), by what it is
    for number, (operand, dims) in enumerate(zip(operands, ins)):
        if isinstance(operand, Tensor):
            other = pairs.get(build.identity(operand))
            if other is not None and list(other[2]) != list(dims):  # one tensor in two ways
                changed[number] = operand = _through(operand)
            pairs.setdefault(build.identity(operand), (operand, number, dims))
    if changed:
        args = primitive.with_inputs(args, changed)
    tensors, numbers, dims = zip(*pairs.values())
    key = "strategy", _trace.Same(strategy), ranks, numbers, [list(one) for one in dims], sorted(expanded.items())
    begin = lambda build, *symbols: _begin(build, strategy, ranks, expanded, zip(symbols, numbers, dims))  # noqa: E731
    build.do(key, begin, *tensors)
    try:
        return _finished(build, strategy, compute(*args), set(pairs))
    finally:
        build.do(("end of a strategy",), lambda build: _end(build))


def _begin(build, strategy, ranks, expanded, inputs):
    cuts = Cuts(strategy, ranks, expanded)
    for symbol, number, dims in inputs:
        cuts.begin(symbol, number, dims)
    build.cuts.append(cuts)


def _end(build):
    build.cuts.pop()


def _fitted(strategy, operands, ins):
    """The cuts of the inputs; those that are numbers may be left out. Raises ValueError for other counts."""
    tensors = [one for one in operands if isinstance(one, Tensor)]
    if len(ins) == len(tensors) < len(operands):
        left = iter(ins)
        ins = [next(left) if isinstance(one, Tensor) else [] for one in operands]
    if len(ins) != len(operands):
        raise ValueError(
            f"[{strategy.where}] wrong number of inputs, got {len(ins)} in {strategy.text}, expected {len(operands)}"
        )
    for number, (operand, dims) in enumerate(zip(operands, ins)):
        shape = operand.shape if isinstance(operand, Tensor) else ()
        if len(dims) == len(shape) or (not shape and all(strategy.parts(cut) == 1 for cut in dims)):
            continue
        raise ValueError(
            f"[{strategy.where}] wrong number of dimensions of input {number}, got {len(dims)} in {strategy.text}, "
            f"expected {len(shape)}, as it has shape {tuple(shape)}"
        )
    return [dims if isinstance(one, Tensor) and one.shape else [] for one, dims in zip(operands, ins)]


def _ranks_of(strategy):
    """The number of ranks that a stage has, 0 if it is one. Raises ValueError for a layout of others."""
    ranks = management.ranks_of_job() // max(1, context.get_auto_parallel_context("pipeline_stages"))
    if ranks <= 1:
        return 0
    count = math.prod(strategy.layout.device_matrix) if strategy.layout else ranks
    if count != ranks:
        raise ValueError(
            f"[{strategy.where}] the layout has another number of ranks, got {count} in {strategy.text}, "
            f"expected {ranks}"
        )
    return ranks


def _copy(symbol):
    """A symbol through an op that does nothing."""
    return _core.functions.reshape(symbol, list(symbol.shape))


def _through(tensor):
    """A tensor through an op that does nothing."""
    return _trace.current().do(("copy",), lambda build, symbol: _copy(symbol), tensor)


def _noted_copy(build, symbol):
    """A symbol through an op that does nothing, and is cut as the symbol is."""
    made = _copy(symbol)
    build.cuts[-1].note("reshape", [symbol], [list(symbol.shape)], [made])
    return made


def _copy_cut(cuts, symbol, number, dims):
    """A symbol through an op that does nothing, and is cut so."""
    own = Cuts(cuts.strategy, cuts.ranks, {})
    own.begin(symbol, number, dims)
    made = _copy(symbol)
    own.note("reshape", [symbol], [list(symbol.shape)], [made])
    return made


def _finished(build, strategy, result, inputs):
    """The results; those that no op of the primitive made pass through one that is cut as they are. `inputs` are the
    identities of the inputs."""
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    made = []
    outs = strategy.outs
    for number, one in enumerate(results):
        if not isinstance(one, Tensor) or one._symbol is None:
            made.append(one)
            continue
        if build.identity(one) in inputs:
            one = build.do(("noted copy",), _noted_copy, one)
        if outs is not None and number < len(outs):
            one = _laid_out(build, strategy, one, number, list(outs[number]))
        made.append(one)
    if outs is not None and len(outs) > sum(isinstance(one, Tensor) for one in results):
        raise ValueError(
            f"[{strategy.where}] wrong number of results, got {len(outs)} in {strategy.text}, expected {len(results)}"
        )
    return type(result)(made) if isinstance(result, (tuple, list)) else made[0]


def _laid_out(build, strategy, result, number, dims):
    """A result that is cut as the strategy says of results."""
    if len(dims) != result.ndim:
        raise ValueError(
            f"[{strategy.where}] wrong number of dimensions of a result, got {len(dims)} in {strategy.text}, expected "
            f"{result.ndim}, as it has shape {tuple(result.shape)}"
        )

    def lay_out(build, symbol):
        cuts = build.cuts[-1]
        text, count = cuts.annotated.get(symbol.name, ("", 0))
        if count != 1 or "->" in text:
            return _copy_cut(cuts, symbol, number, dims)
        symbol.annotate(f"{text}->{strategy.print([dims]).removeprefix(_head(strategy))}")
        return symbol

    return build.do(("laid out", number, dims), lay_out, result)


def _head(strategy):
    return strategy.layout.head() if strategy.layout else ""
