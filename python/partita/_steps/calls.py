"""The calls of steps, which become programs. They are kept in a tree: steps that make the same calls share a path."""

import math

import numpy as np

from partita import _core
from partita._current import user_line
from partita._trace import Build, InPhase, Scopes
from partita.common.tensor import Tensor

_MANY_CALLS = 20_000  # of all steps of a function, with the cells that they called
_MANY_STEPS = 64  # whose calls are kept, whatever their number
_UPDATES = ("update", "store", "assign")  # calls that change parameters or states


class Recorded:
    """The result of a call: what `Tensor._symbol` is in a step that is recorded."""

    __slots__ = ("slot", "shape", "dtype")

    def __init__(self, slot, shape, dtype):
        self.slot, self.shape, self.dtype = slot, shape, dtype


def stand_in(shape, dtype):
    """A tensor of these that stands for one which is not there when calls are recorded."""
    tensor = Tensor.__new__(Tensor)
    tensor._array, tensor._symbol, tensor._init = None, Recorded(None, shape, dtype), None
    return tensor


class External:
    """A value that calls use and that no call made: an argument of the step, a parameter, a tensor or a number.
    Parameters are states of the program. Tensors and numbers are constants until they change, then inputs."""

    __slots__ = ("value", "shape", "dtype", "version", "requires_grad", "is_argument", "is_parameter", "varies")

    def __init__(self, value, varies=False, is_argument=False):
        self.is_argument = is_argument
        self.is_parameter = value.__class__ is not float and value.is_parameter and not is_argument
        self.varies = is_argument or ((varies or is_shared(value)) and not self.is_parameter)
        self.value = None if self.varies else value  # of what varies the shape is enough
        if value.__class__ is not float:
            self.shape, self.dtype, self.version = value.shape, value.dtype, value.version
            self.requires_grad = self.is_parameter and value.requires_grad

    def accepts(self, value):
        """Whether another value can be in the place of this one."""
        if self.is_parameter:
            return value is self.value and value.requires_grad == self.requires_grad and value.dtype is self.dtype
        if value.__class__ is float:
            return self.value.__class__ is float
        if self.value.__class__ is float or value.is_parameter:
            return False
        return value.shape == self.shape and value.dtype is self.dtype

    def note(self, value):
        """Hears of its value in a step."""
        if self.varies or self.is_parameter:
            return
        if value.__class__ is float:
            self.varies = not is_same_number(value, self.value)
        elif value is not self.value or value.version != self.version or is_shared(value):
            self.vary()

    def vary(self):
        """Makes it an input of programs."""
        self.varies, self.value = True, None

    def add_to(self, build, number, rows):
        """Adds it to a network, as the value of this number. Returns its symbol, or the number as it is."""
        if not self.varies:
            return self.value if type(self.value) is float else build.symbol(self.value)
        if type(self.value) is float:
            return build.trace.network_input(f"value{number}", "f64", [], False)
        shape, are_rows = list(self.shape), rows and self.is_argument and self.shape != ()
        return build.trace.network_input(f"value{number}", self.dtype.core, shape, are_rows)


def is_shared(value):
    """Whether NumPy may write to the memory of a tensor, so that nobody knows when it changes."""
    return value.__class__ is not float and getattr(value, "_is_shared", False)


def is_same_number(a, b):
    """Whether two floats have the same digits: 0 is not -0, NaN is NaN."""
    if a == 0:
        return b == 0 and math.copysign(1, a) == math.copysign(1, b)
    return a == b or (a != a and b != b)


class Call:
    """A call of an op in the tree of calls. `kind` says whether it gives "one" tensor, a "list" or a "tuple" of them,
    or None."""

    __slots__ = ("key", "text", "slots", "here", "phase", "line", "action", "externals", "results", "kind")
    __slots__ += ("following", "programs", "gradients", "continued", "is_plain", "digest")
    __slots__ += ("reaching", "updates_states", "name")

    def __init__(self, key=None, slots=(), here=None, phase="forward", action=None, externals=()):
        self.key, self.slots, self.here, self.phase = key, slots, here, phase
        self.text = repr(key) if _is_delicate(key) else None
        self.line, self.action, self.externals = user_line(), action, externals
        self.results, self.kind = (), None
        self.continued = None  # the beginning of the segment after this call, if it was the last of one
        self.following = []  # calls that came next, the last one first
        self.programs = {}  # of steps that ended here or needed values here: see Step._program
        self.gradients = []  # that users wrote, which a differentiation called
        self.digest = 0  # of the calls up to this one, the same in all processes
        self.name = ""  # of its first result, for messages
        self.reaching = None  # slots that reach parameters: see agreement.py
        self.updates_states = phase == "update" or (isinstance(key, tuple) and key[0] in _UPDATES)
        self.is_plain = False  # whether an equal key and equal operands make another call this one

    def all_externals(self):
        """Its externals, then those of the gradients of users that it called."""
        inner = [one for own in self.gradients for call in own.calls for one in call.all_externals()]
        return [*self.externals, *inner]

    def gives(self, made, count):
        """Knows what its action gives: results from number `count` on."""
        self.kind = None if made is None else type(made).__name__ if isinstance(made, (tuple, list)) else "one"
        symbols = list(enumerate(listed(made), count))
        self.name = symbols[0][1].name if symbols else ""
        self.results = tuple(Recorded(slot, tuple(one.shape), one.dtype) for slot, one in symbols)
        self.is_plain = self.text is None and not self.externals and not self.gradients

    def accepts(self, key, fresh):
        """Whether this is what is called now, with an equal key and equal operands. `fresh` are the values that no
        earlier call of the step has used."""
        if self.text is not None and self.text != repr(key):
            return False
        if len(fresh) != len(self.externals):
            return False
        varying = False
        for one, value in zip(self.externals, fresh):
            if not one.accepts(value):
                return False
            varying = varying or not one.is_parameter
        if varying:
            for one, value in zip(self.externals, fresh):
                one.note(value)
        return True


def _is_delicate(key):
    """Whether a key has numbers that are equal to others: 0 and -0."""
    if isinstance(key, (tuple, list)):
        return any(_is_delicate(one) for one in key)
    return isinstance(key, float) and (key == 0 or key != key)


def require_values(key):
    """Raises TypeError for a key with a tensor or an array, which do not tell by `==` whether they are the same."""
    if isinstance(key, (tuple, list)):
        for one in key:
            require_values(one)
    elif isinstance(key, (Tensor, _core.Symbol, np.ndarray)):
        raise TypeError(f"[record] a call is known by a {type(key).__name__}, expected it as an operand")


class Tree:
    """The calls that steps of one function have made, for arguments of the same types, and their programs."""

    def __init__(self, arguments, precision, seed, groups=1):
        self.root = Call(externals=[External(one, is_argument=True) for one in arguments])
        self.precision, self.seed, self.groups = precision, seed, groups
        self.places = {}  # where cells stand
        self.scopes = Scopes()
        self.steps = 0
        self.programs = []  # (the call that has it, its key), the last used last
        self.compiled = 0  # how often one was compiled
        self.count = 0  # of calls
        self.longest = 0  # step, in calls

    def is_full(self):
        """Whether steps have made many more calls than one of them makes: most of them come no more."""
        return self.count + len(self.places) > max(_MANY_CALLS, _MANY_STEPS * self.longest)

    def scratch(self):
        """A build of a network that is never run."""
        return Build(_core.Trace.of_types(self.seed, self.groups), True, groups=self.groups)


class GradientCalls:
    """The calls of a gradient that a user wrote: `own`, from tensors of the types of `symbols`."""

    def __init__(self, own, symbols):
        self.own = own
        self.arguments = [Recorded(i, tuple(one.shape), one.dtype) for i, one in enumerate(symbols)]
        self.calls = []
        self.results = []  # slots, None where there is no gradient
        self.kinds = []  # (shape, element type) of the results, or None
        self.programs = {}  # of values of it that a step needed


class Replay:
    """Calls that are added to a network, in their order. `recording` is that of new ones."""

    def __init__(self, build, root, rows=False, recording=None):
        self.build, self._rows, self._recording = build, rows, recording
        build.replay = self
        self.table = {}  # symbols by slots, numbers as they are
        self.externals = []
        self.count = 0
        self._gradients = None  # of the call that is added, whose turn has not come
        self._call = None
        self._until = None  # [number of a gradient of a user, path, slot] at which a differentiation ends
        self._add_externals(root, build, self.table)

    def _add_externals(self, call, build, table):
        for one in call.externals:
            self.externals.append(one)
            number = len(self.externals)
            table[-number] = one.add_to(build, number, self._rows)

    def add(self, call):
        """Adds a call. Returns what its action gives."""
        made = self._add(call, self.build, self.table)
        for symbol in listed(made):
            self.table[self.count] = symbol
            self.count += 1
        return made

    def _add(self, call, build, table):
        here, trace = call.here, build.trace
        self._add_externals(call, build, table)
        build.here, build.phase = here, call.phase
        trace.set_place(here.scope, *call.line, -1, here.recompute)
        outer = self._call, self._gradients
        self._call, self._gradients = call, iter(tuple(call.gradients))
        with build, InPhase(trace, call.phase):
            made = call.action(build, *[table[slot] for slot in call.slots])
        self._call, self._gradients = outer
        return made

    def add_until(self, path, slot):
        """Adds a differentiation up to a value of the gradient of a user that it calls. `path` has (differentiation,
        number of a gradient that it calls, calls that this one has made): the next differentiation is one that it
        makes then, and the value is one of the last calls. Returns the symbol of the value."""
        self._until = [path[0][1], path, slot]
        self._add(path[0][0], self.build, self.table)
        self._until = None
        return self.build.trace.symbol(self._reached)

    def _add_end(self, build, table, count, path, slot):
        """Ends `add_until`, or a part of its path, in the gradient where the value is."""
        self._add_all(path[0][2], build, table, count)
        if len(path) == 1:
            self._reached = table[slot].id
            return
        self._until = [path[1][1], path[1:], slot]
        self._add(path[1][0], build, table)
        self._until = None

    def _add_all(self, calls, build, table, count):
        for call in calls:
            for symbol in listed(self._add(call, build, table)):
                table[count] = symbol
                count += 1

    def begin_gradient(self, arguments, calls, number):
        """Adds calls of a gradient of a user alone, from inputs in place of its arguments; `number` externals come
        before it. Returns a function that adds another one, and the symbols by slots."""
        self.externals = [None] * number
        trace = self.build.trace
        table = {
            one.slot: trace.network_input(f"argument{one.slot}", one.dtype, list(one.shape), False) for one in arguments
        }
        self._add_all(calls, self.build, table, len(arguments))
        return (lambda call: self._add(call, self.build, table)), table

    def add_gradient(self, own, build, symbols):
        """Adds the calls of a gradient that a user wrote, for the differentiation that is added. Returns the symbols of
        the gradients."""
        table = dict(enumerate(symbols))
        until, self._until = self._until, None
        if until is not None:
            left, path, slot = until
            until[0] -= 1
            if left == 0:
                self._add_end(build, table, len(symbols), path, slot)
        try:
            if until is not None and left <= 0:
                return [None] * own.inputs
            found = next(self._gradients, None)
            if found is None:
                call, found = self._call, GradientCalls(own, symbols)
                call.gradients.append(found)
                recording = self._recording.active or self._recording
                recording.record_gradient(call, lambda one: self._add(one, build, table), table)
            else:
                self._add_all(found.calls, build, table, len(symbols))
            return [None if slot is None else table[slot] for slot in found.results]
        finally:
            self._until = until


def listed(made):
    """The results of an action as a list."""
    return list(made) if isinstance(made, (tuple, list)) else [] if made is None else [made]
