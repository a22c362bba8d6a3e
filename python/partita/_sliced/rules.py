"""How functions of the library compute all slices at once.

A rule gets the operands of one slice and makes nodes of the whole values. What has no rule, or not for these operands,
is computed slice by slice. Both give the same numbers (tests/python/test_vmap.py)."""

import json
import math

from partita._sliced.symbols import Sliced

# Functions of elements, which broadcast. Other arguments are numbers.
_OF_ELEMENTS = frozenset(
    """
    abs add binary_cross_entropy cast div equal erf exp floor_div gelu greater greater_equal less less_equal log
    logical_and logical_not logical_or maximum minimum mul neg not_equal pow power relu remainder rsqrt scale select
    shared_maximum shared_minimum sigmoid silu softplus sqrt square sub tanh sign leaky_relu round
    sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh expm1 log1p erfc erfinv lgamma digamma polygamma
    """.split()
)
_OF_ROWS = frozenset("softmax log_softmax top_k argmax".split())  # functions of the last dimension
_OF_AXIS = {"cumsum": 0, "repeat": 0, "split": 1}  # where their argument is the axis, after the operand
_REDUCTIONS = frozenset("reduce_sum reduce_mean reduce_max reduce_min".split())
_OF_IMAGES = frozenset("avg_pool max_pool".split())  # whose first dimension is samples


def _is_symbol(one):
    return hasattr(one, "shape")


def _text(numbers):
    return "[" + ",".join(str(one) for one in numbers) + "]"


class _Mapping:
    """One call of a function with slices of a level."""

    def __init__(self, functions, level, args):
        found = [one for one in _flat(args) if type(one) is Sliced and one.level == level]
        self.functions, self.level, self.trace, self.size = functions, level, found[0].trace, found[0].size

    def is_own(self, one):
        """Whether an argument has slices of this level."""
        return type(one) is Sliced and one.level == self.level

    def slices(self, made):
        """Values, alone or in a list or tuple, as their slices."""
        if isinstance(made, (list, tuple)):
            return type(made)(self.slices(one) for one in made)
        return Sliced(made, self.level, self.trace)

    def apply(self, op, operands, **attrs):
        """The first result of an op."""
        texts = [(name, _text(one) if isinstance(one, list) else str(one)) for name, one in attrs.items()]
        return self.functions.apply(self.trace, op, operands, texts)[0]

    def reshaped(self, value, shape):
        return value if tuple(value.shape) == tuple(shape) else self.functions.reshape(value, list(shape))

    def front(self, one, rank):
        """The whole value of an operand whose slices broadcast to `rank` dimensions; what has no slices stays."""
        if not self.is_own(one):
            return one
        return self.reshaped(one.value, [self.size, *[1] * (rank - len(one.shape)), *one.shape])

    def whole(self, one, shape=None):
        """The whole value of an operand, which is repeated where it has no slices. With a shape slices are broadcast
        to it."""
        shape = list(one.shape if shape is None else shape)
        if not self.is_own(one):
            return self.apply("broadcast_to", [one], shape=[self.size, *shape])
        if list(one.shape) == shape:
            return one.value
        return self.apply("broadcast_to", [self.front(one, len(shape))], shape=[self.size, *shape])

    def merged(self, one):
        """The whole value with slices and their first dimension as one."""
        value = self.whole(one)
        return self.reshaped(value, [self.size * one.shape[0], *one.shape[1:]])

    def parted(self, value):
        """Undoes `merged` in a result."""
        return self.reshaped(value, [self.size, value.shape[0] // self.size, *value.shape[1:]])

    def slice(self, value, number):
        """One slice."""
        rest = list(value.shape[1:])
        begin, end = [number, *[0] * len(rest)], [number + 1, *rest]
        part = value if self.size == 1 else self.apply("slice", [value], begin=begin, end=end)
        return self.reshaped(part, rest)

    def joined(self, parts):
        """The whole value of slices."""
        rows = [self.reshaped(one, [1, *one.shape]) for one in parts]
        return rows[0] if len(rows) == 1 else self.apply("concat", rows, axis=0)


def _flat(args):
    for one in args:
        if isinstance(one, list):
            yield from _flat(one)
        else:
            yield one


def _slice_by_slice(own, call, args):
    """Calls a function for each slice."""

    def part(one, number):
        if isinstance(one, list):
            return [part(inner, number) for inner in one]
        return own.slice(one.value, number) if own.is_own(one) else one

    made = [call(*[part(one, number) for one in args]) for number in range(own.size)]
    if not isinstance(made[0], (list, tuple)):
        return own.slices(own.joined(made))
    return type(made[0])(own.slices(own.joined(parts)) for parts in zip(*made))


class Rules:
    """The rules, by names of functions and of ops. A rule returns None where it does not hold."""

    def __init__(self, functions):
        self._functions = functions

    def call(self, name, call, level, args):
        """Calls a function with operands of which some are slices of this level, and none of a higher one."""
        own = _Mapping(self._functions, level, args)
        if name == "apply":
            made = self._applied(own, *args)
        else:
            made = self._called(own, name, call, args)
        return _slice_by_slice(own, call, args) if made is None else own.slices(made)

    def _called(self, own, name, call, args):
        if name in _OF_ELEMENTS:
            rank = max(len(one.shape) for one in args if _is_symbol(one))
            return call(*[own.front(one, rank) if _is_symbol(one) else one for one in args])
        x, rest = args[0], args[1:]
        if name in _OF_ROWS:
            return call(x.value, *rest) if x.shape else None
        if name in _REDUCTIONS:
            axes, keeps = rest
            axes = list(axes) or list(range(len(x.shape)))
            return call(x.value, [one + 1 for one in axes], keeps) if axes else x.value
        if name in _OF_AXIS:
            rest = list(rest)
            rest[_OF_AXIS[name]] += rest[_OF_AXIS[name]] >= 0
            return call(x.value, *rest) if x.shape else None
        rule = getattr(self, f"_{name}", None)
        return None if rule is None else rule(own, call, *args)

    def _applied(self, own, trace, op, operands, attrs):
        make = lambda values, texts=attrs: own.functions.apply(trace, op, values, texts)  # noqa: E731
        if op in _OF_ELEMENTS:
            rank = max(len(one.shape) for one in operands)
            return make([own.front(one, rank) for one in operands])
        if op in _OF_ROWS:
            return make([operands[0].value]) if operands[0].shape else None
        if op in _OF_IMAGES:
            return [own.parted(one) for one in make([own.merged(operands[0])])]
        rule = getattr(self, f"_op_{op}", None)
        return None if rule is None else rule(own, make, operands, {name: _value(text) for name, text in attrs})

    # Functions.

    def _reshape(self, own, call, x, shape):
        return call(x.value, [own.size, *shape])

    def _flatten(self, own, call, x):
        if len(x.shape) < 2:
            return None
        return own.reshaped(x.value, [own.size, x.shape[0], math.prod(x.shape[1:])])

    def _transpose(self, own, call, x, perm):
        return call(x.value, [0, *[one + 1 for one in perm]])

    def _take_along(self, own, call, x, indices):
        return call(own.whole(x), own.whole(indices)) if x.shape and indices.shape else None

    def _matmul(self, own, call, a, b, transpose_a, transpose_b):
        lead_a, lead_b = a.shape[:-2], b.shape[:-2]
        if min(len(a.shape), len(b.shape)) < 2 or (lead_a and lead_b and lead_a != lead_b):
            return None
        lead = lead_a or lead_b
        if not lead and own.is_own(a) and not own.is_own(b) and not transpose_a:  # one product of all rows
            rows = own.reshaped(a.value, [own.size * a.shape[0], a.shape[1]])
            made = call(rows, b, False, transpose_b)
            return own.reshaped(made, [own.size, a.shape[0], made.shape[1]])
        a, b = (
            one if not own.is_own(one) and len(one.shape) == 2 else own.whole(one, [*lead, *one.shape[-2:]])
            for one in (a, b)
        )
        return call(a, b, transpose_a, transpose_b)

    def _sample_losses(self, own, call, loss, logits, label):
        if len(logits.shape) != 2 or not label.shape:
            return None
        return own.parted(call(loss, own.merged(logits), own.merged(label)))

    def _build_loss(self, own, call, loss, logits, label, ignore_index):
        if len(logits.shape) != 2 or loss not in ("sparse", "dense") or (loss == "dense" and ignore_index is not None):
            return None
        functions, label = own.functions, own.slices(own.whole(label))
        if ignore_index is None:
            losses = self._sample_losses(own, functions.sample_losses, loss, logits, label)
            return functions.reduce_mean(losses, [1], False)
        if label.dtype not in ("i32", "i64"):
            return None
        constant = own.trace.constant
        counts = functions.not_equal(label, constant(float(ignore_index), label.dtype, []))
        label = functions.select(counts, label, constant(0.0, label.dtype, []))
        losses = own.slices(self._sample_losses(own, functions.sample_losses, loss, logits, label))
        one = losses.dtype
        total = functions.reduce_sum(functions.select(counts, losses, constant(0.0, one, [])), [], False)
        count = functions.maximum(functions.reduce_sum(functions.cast(counts, one), [], False), constant(1.0, one, []))
        return functions.div(total, count).value

    # Ops by their names.

    def _op_concat(self, own, make, operands, attrs):
        return [own.apply("concat", [own.whole(one) for one in operands], axis=attrs["axis"] + 1)]

    def _op_slice(self, own, make, operands, attrs):
        begin, end = [0, *attrs["begin"]], [own.size, *attrs["end"]]
        return [own.apply("slice", [operands[0].value], begin=begin, end=end)]

    def _op_pad(self, own, make, operands, attrs):
        before, after = [0, *attrs["before"]], [0, *attrs["after"]]
        return [own.apply("pad", [operands[0].value], before=before, after=after)]

    def _op_broadcast_to(self, own, make, operands, attrs):
        return [own.whole(operands[0], attrs["shape"])]

    def _op_reverse(self, own, make, operands, attrs):
        return [own.apply("reverse", [operands[0].value], axis=attrs["axis"] + 1)]

    def _op_one_hot(self, own, make, operands, attrs):
        return make([operands[0].value])

    def _op_bias_add(self, own, make, operands, attrs):
        x, bias = operands
        axis = attrs.get("axis", 1)
        if not own.is_own(bias):
            return [own.apply("bias_add", [x.value, bias], axis=axis + 1)]
        shape = [1] * len(x.shape)
        shape[axis] = bias.shape[0]
        return [own.functions.add(own.whole(x), own.reshaped(bias.value, [own.size, *shape]))]

    def _op_embedding(self, own, make, operands, attrs):
        """Numbers outside of a table become one that is outside of all of them."""
        table, ids = operands
        if attrs:
            return None
        if not own.is_own(table):
            return make([table, ids.value])
        rows, width, functions = *table.shape, own.functions
        flat = own.reshaped(table.value, [own.size * rows, width])
        ids = own.whole(ids)
        shape, dtype = list(ids.shape), f"{ids.dtype}"
        if own.size * rows >= 2**31 and dtype != "i64":
            ids, dtype = functions.cast(ids, "i64"), "i64"
        first = functions.apply(own.trace, "iota", [], [("dtype", dtype), ("shape", _text([own.size]))])[0]
        first = functions.mul(first, own.trace.constant(rows, dtype, []))
        numbers = functions.add(ids, own.reshaped(first, [own.size, *[1] * (len(shape) - 1)]))
        below = functions.less(ids, own.trace.constant(0, dtype, []))
        above = functions.greater_equal(ids, own.trace.constant(rows, dtype, []))
        outside = own.trace.constant(own.size * rows, dtype, [])
        numbers = functions.select(functions.logical_or(below, above), outside, numbers)
        return make([flat, numbers])

    def _op_conv2d(self, own, make, operands, attrs):
        x, w = operands
        if not own.is_own(w):
            return [own.parted(make([own.merged(x), w])[0])]
        # Each slice is a group of channels.
        value, functions, (count, channels, height, width) = own.whole(x), own.functions, x.shape
        value = functions.transpose(value, [1, 0, 2, 3, 4])
        value = own.reshaped(value, [count, own.size * channels, height, width])
        attrs = {**attrs, "groups": own.size * attrs.get("groups", 1)}
        y = own.apply("conv2d", [value, own.merged(w)], **attrs)
        y = own.reshaped(y, [count, own.size, w.shape[0], *y.shape[2:]])
        return [functions.transpose(y, [1, 0, 2, 3, 4])]

    def _op_layer_norm(self, own, make, operands, attrs):
        x, gamma, beta = operands
        if not x.shape:
            return None
        if not own.is_own(gamma) and not own.is_own(beta):
            return make([x.value, gamma, beta])
        y, *others = make([own.whole(x), self._unit(own, 1.0, gamma), self._unit(own, 0.0, beta)])
        rank = len(x.shape)
        y = own.functions.mul(y, own.front(gamma, rank))
        return [own.functions.add(y, own.front(beta, rank)), *others]

    def _op_rms_norm(self, own, make, operands, attrs):
        x, gamma = operands
        if not x.shape:
            return None
        if not own.is_own(gamma):
            return make([x.value, gamma])
        y, *others = make([own.whole(x), self._unit(own, 1.0, gamma)])
        return [own.functions.mul(y, own.front(gamma, len(x.shape))), *others]

    def _op_batch_norm_inference(self, own, make, operands, attrs):
        x, *others = operands
        return None if any(own.is_own(one) for one in others) else [own.parted(make([own.merged(x), *others])[0])]

    def _op_dropout(self, own, make, operands, attrs):
        """All slices lose the same elements."""
        x, step = operands
        if own.is_own(step):
            return None
        kept = make([own.trace.constant(1.0, x.dtype, list(x.shape)), step])[0]
        zero, functions = own.trace.constant(0.0, x.dtype, []), own.functions
        scaled = functions.scale(x.value, 1.0 / (1.0 - attrs.get("rate", 0.5)), 0.0)
        return [functions.select(functions.greater(kept, zero), scaled, zero)]

    @staticmethod
    def _unit(own, value, like):
        return own.trace.constant(value, like.dtype, list(like.shape))


def _value(text):
    """An attribute from its text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
