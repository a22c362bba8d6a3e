"""A function that is called once for all slices of its arguments (`ops.vmap`): the network or the step that it is a
part of, as the function sees it."""

import contextlib

from partita._current import current
from partita._own_gradient import OwnGradient
from partita._sliced.functions import functions
from partita._sliced.symbols import Sliced
from partita._trace import Building
from partita.common.tensor import Tensor


class _Slice:
    """The `_symbol` of a tensor that stands for one slice."""

    __slots__ = ("whole", "shape", "dtype")

    def __init__(self, whole):
        self.whole, self.shape, self.dtype = whole, whole.shape[1:], whole.dtype.core


class Mapping(Building):
    """A network or a step in which some tensors stand for one slice of a value. All else is that of `outer`."""

    is_mapping = True

    def __init__(self, outer, size):
        self.outer, self.size = outer, size
        self.level = 1 + getattr(outer, "level", 0)
        self._separate = {}  # parameters whose gradients differ between slices: their slices, by their identity
        self._outer = []

    def __getattr__(self, name):
        return getattr(self.outer, name)

    @property
    def is_recorded(self):
        return self.outer.is_recorded

    @property
    def here(self):
        return self.outer.here

    @here.setter
    def here(self, value):
        self.outer.here = value

    @property
    def phase(self):
        return self.outer.phase

    @phase.setter
    def phase(self, value):
        if value != "forward":
            raise _refused(value, "an update")
        self.outer.phase = value

    # Slices and the values that they are of.

    def slice(self, whole):
        """A tensor that stands for a slice along the first dimension."""
        tensor = Tensor.__new__(Tensor)
        tensor._array, tensor._symbol, tensor._init = None, _Slice(whole), self
        return tensor

    def whole(self, tensor):
        """The value of all slices; a tensor that has none is repeated."""
        if self.is_slice(tensor):
            return tensor._symbol.whole
        size, shape = self.size, list(tensor.shape)
        spread = [("shape", "[" + ",".join(map(str, [size, *shape])) + "]")]
        return self.outer.run(lambda trace, x: functions.apply(trace, "broadcast_to", [x], spread)[0], [tensor])

    def is_slice(self, tensor):
        """Whether a tensor stands for slices of this mapping."""
        return tensor._init is self and tensor._symbol is not None

    def sliced(self, tensor):
        """The tensor as one that may differ between slices."""
        return tensor if self.is_slice(tensor) else self.slice(self.whole(tensor))

    def array_of(self, tensor):
        raise TypeError(
            f"[vmap] a value that differs between slices is read, got a tensor of shape {tensor.shape} of each of "
            f"{self.size} slices, expected ops on it within the function, such as ops.select"
        )

    # Calls.

    def run(self, body, operands):
        closure = body.__closure__
        key = (body.__code__, [cell.cell_contents for cell in closure]) if closure else body.__code__
        return self.do(key, lambda build, *symbols: body(build.trace, *symbols), *operands)

    def do(self, key, action, *operands):
        operands = [self._separate.get(id(one), one) for one in operands]
        are_slices = tuple([isinstance(one, Tensor) and self.is_slice(one) for one in operands])
        if not any(are_slices):
            return self.outer.do(key, action, *operands)
        level = self.level
        wholes = [one._symbol.whole if is_slice else one for one, is_slice in zip(operands, are_slices)]
        size = self.size

        def act(build, *symbols):
            given = [
                Sliced(one, level, build.trace) if is_slice else one for one, is_slice in zip(symbols, are_slices)
            ]
            return _wholes(action(build, *given), level, size, build.trace)

        made = self.outer.do(("vmap", size, are_slices, key), act, *wholes)
        if isinstance(made, (list, tuple)):
            return type(made)(self.slice(one) for one in made)
        return None if made is None else self.slice(made)

    def inner(self, cell, end, stage, recompute):
        return self.outer.inner(cell, end, stage, recompute)

    def identity(self, tensor):
        """Equal for tensors that stand for the same value."""
        if self.is_slice(tensor):
            return "slice", self.outer.identity(tensor._symbol.whole)
        return self.outer.identity(tensor)

    def detach(self, tensor):
        self.outer.detach(tensor)

    def array_of_updated(self, parameter):
        return self.outer.array_of_updated(parameter)

    def annotate(self, tensor, text):
        """Does nothing: dimensions of slices are not those of the value."""

    def rate(self, optimizer):
        raise _refused(type(optimizer).__name__, "a call of an optimizer")

    def assign(self, parameter, value):
        raise _refused("assign", f"a new value of '{parameter.name}'")

    # Gradients.

    def own_input(self, tensor):
        return self.slice(self.outer.own_input(self.whole(tensor)))

    @contextlib.contextmanager
    def own_parameters(self, parameters):
        """Within it gradients by the parameters are those of each slice."""
        before = dict(self._separate)
        for one in parameters:
            if id(one) not in self._separate:
                self._separate[id(one)] = self.own_input(one)
        try:
            yield
        finally:
            self._separate = before

    def differentiate(self, total, tensors):
        """d total / d each of the tensors, in each slice. The slices do not know of each other, so their sum has the
        gradients of all."""
        tensors = [self._separate.get(id(one), one) for one in tensors]
        if not self.is_slice(total) and not any(map(self.is_slice, tensors)):
            return self.outer.differentiate(total, tensors)
        whole = self.whole(total)
        axes = list(range(len(whole.shape)))
        whole = self.outer.run(lambda trace, x: functions.reduce_sum(x, axes, False), [whole])
        found = self.outer.differentiate(whole, [self.whole(one) for one in tensors])
        return tuple(self.slice(one) for one in found)

    def with_gradient(self, where, function, gradient, args):
        args = [self.sliced(one) if isinstance(one, Tensor) else one for one in args]
        return super().with_gradient(where, function, gradient, args)

    def own_gradient(self, own, operands):
        wholes = [self.whole(one) for one in operands]
        made = self.outer.own_gradient(_GradientOfSlices(own, self.size), wholes)
        return type(made)(self.slice(one) for one in made)


def _refused(where, what):
    return NotImplementedError(
        f"[{where}] slices share parameters, got {what} within a function of vmap, expected it outside of the function"
    )


def _wholes(made, level, size, trace):
    """The symbols of an action as those of the outer network. A value that all slices share is repeated."""
    if made is None:
        return None
    if isinstance(made, (list, tuple)):
        return type(made)(_wholes(one, level, size, trace) for one in made)
    if type(made) is Sliced and made.level == level:
        return made.value
    shape = "[" + ",".join(map(str, [size, *made.shape])) + "]"
    return functions.apply(trace, "broadcast_to", [made], [("shape", shape)])[0]


class _GradientOfSlices(OwnGradient):
    """The gradient of all slices, by a gradient that a user wrote for one."""

    def __init__(self, own, size):
        super().__init__(own._where, own._gradient, own._others, own._inputs, own._several)
        self._own, self._size = own, size

    def key(self):
        return "vmap", self._size, self._own.key()

    def of(self, tensors):
        mapping = Mapping(current(), self._size)
        with mapping:
            found = self._own.of([mapping.slice(one) for one in tensors])
        return [None if one is None else mapping.whole(one) for one in found]
