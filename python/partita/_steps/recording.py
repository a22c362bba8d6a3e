"""Steps as they are recorded: the Python of a step runs in every step, and what it calls becomes a program.

The first time, each call of an op is also added to a network that is never run. It tells the types of results, and what
is refused. Calls are kept in a tree. Later steps follow it as long as they make the same calls, so that a call costs a
comparison. Where steps differ the tree branches. A number or a tensor that is another one than before becomes an input
of the program."""

import itertools
import sys

from partita import _core
from partita._captured import Same
from partita._current import user_line
from partita._steps.agreement import digest_of, stable
from partita._steps.calls import Call, External, GradientCalls, Recorded, Replay, is_shared, listed, require_values
from partita._steps.counting import Counting
from partita._trace import Building, differentiate
from partita.common import dtype as mstype
from partita.common.tensor import Tensor


def _held(calls):
    """The slots of results of calls for which tensors stand."""
    count = sys.getrefcount
    return [one.slot for call in calls for one in call.results if count(one) > _REFERENCES]


def _references():
    """The references to a result that no tensor stands for, as `_held` counts them: versions of Python differ."""
    count, call = sys.getrefcount, Call()
    call.results = (Recorded(0, (), "f32"),)
    return [count(one) for call in (call,) for one in call.results][0]


_REFERENCES = _references()


class Segment:
    """Calls of a step that become one program, and the arrays of their results that are known: `Tensor._init` of these
    results. `recording` is None when the program has run."""

    __slots__ = ("recording", "arrays")

    def __init__(self, recording):
        self.recording, self.arrays = recording, {}

    def release(self, calls):
        """Lets go of the arrays of results of these calls for which no tensor stands any more. What is left is kept as
        long as one of its tensors."""
        for call in calls if self.arrays else ():
            for result in call.results:
                if sys.getrefcount(result) <= _REFERENCES:
                    self.arrays.pop(result.slot, None)

    def array_of(self, tensor):
        """The array of a result. Runs what was recorded if it is not known yet. Raises TypeError if nothing held the
        tensor when the step ended."""
        slot = tensor._symbol.slot
        if slot not in self.arrays:
            if self.recording is None:
                raise TypeError(
                    "[construct] a value of a step that failed is not known, got a symbolic tensor, expected a result "
                    "of a step that ended"
                )
            self.recording.need(slot)
        return self.arrays[slot]


def _of_build(body):
    """The action of a body that gets the trace."""
    return lambda build, *symbols: body(build.trace, *symbols)


class Recording(Counting, Building):
    """The calls of one step, as they are made."""

    builds_network = is_recorded = True

    def __init__(self, tree, arguments):
        super().__init__(True, tree.groups, tree.precision, tree.scopes)
        self.tree = tree
        self.born = []  # tensors made in this step
        self.active = None  # the recording of the gradient of a user that is being called
        self.owns = {}  # gradients that users wrote, by those that the first step with the call had
        self.begin(tree.root, arguments)

    @property
    def outermost(self):
        """The step itself, not a gradient of a user within it."""
        return self

    def begin(self, root, arguments):
        """Begins a segment: calls that become one program."""
        self.segment = Segment(self)
        self.root = self.call = root
        self.calls, self.count = [], 0  # how many results these have
        self.values = list(arguments)  # of externals
        self.slots = {id(one): -1 - i for i, one in reversed(list(enumerate(arguments)))}
        self.viewed = []  # references to views of tensors
        self.assigned = {}  # (parameter, its value), by the identity of the parameter
        self.former = {}  # what parameters that were assigned stood for before, by their identity
        self.updated = {}  # parameters that the segment updates, by their identity
        self._scratch = None

    def _added(self, body, operands):
        closure = body.__closure__
        key = (body.__code__, [cell.cell_contents for cell in closure]) if closure else body.__code__
        return self._called(key, operands, body, True)

    def do(self, key, action, *operands):
        return self._called(key, operands, action)

    def differentiate(self, total, tensors):
        """d total / d each of the tensors. That by a parameter is by all the values that it has had in the segment."""
        if not self.former:
            return tuple(self._called("differentiate", (total, *tensors), differentiate))
        former = [self.former.get(id(one), ()) for one in tensors]
        found = self._called("differentiate", (total, *tensors, *itertools.chain(*former)), differentiate)
        gradients, others = list(found[: len(tensors)]), iter(found[len(tensors) :])
        for i, values in enumerate(former):
            for _ in values:
                gradients[i] = self.run(lambda trace, x, y: _core.functions.add(x, y), [gradients[i], next(others)])
        return tuple(gradients)

    def need(self, slot):
        """Makes the array of a result known. Raises TypeError if that is possible only when the step has ended."""
        raise NotImplementedError

    def _called(self, key, operands, action, of_trace=False):
        """Finds the call among those that followed in earlier steps, or adds it. With `of_trace` the first argument of
        the action is the trace. Called for every op: it is written to be fast."""
        if self.updated and any(id(one) in self.updated for one in operands):
            self.commit()
        segment, values, here, phase = self.segment, self.values, self.here, self.phase
        before, known = len(values), self.slots.get
        slots = tuple(
            [
                one._symbol.slot
                if one.__class__ is not float and one._init is segment
                else known(id(one)) or self.slot_of(one)
                for one in operands
            ]
        )
        for one in self.call.following:
            if one.slots != slots or one.key != key or one.phase != phase:
                continue
            if one.here is not here and one.here != here:
                continue
            if one.is_plain and len(values) == before:
                break
            if one.accepts(key, values[before:]):
                if one.gradients:
                    one = self._differentiated(self.call.following, key, slots, before, action)
                break
        else:
            one = self._new_call(key, slots, before, _of_build(action) if of_trace else action)
            self.call.following.insert(0, one)
        self.call = one
        self.calls.append(one)
        results = one.results
        self.count += len(results)
        if one.kind != "one":
            return self._tensors(one)
        tensor = Tensor.__new__(Tensor)
        tensor._array, tensor._symbol, tensor._init = None, results[0], segment
        return tensor

    def _tensors(self, call):
        if call.kind == "one":
            return self._tensor(call.results[0])
        if call.kind is None:
            return None
        new, segment, made = Tensor.__new__, self.segment, []
        for one in call.results:
            tensor = new(Tensor)
            tensor._array, tensor._symbol, tensor._init = None, one, segment
            made.append(tensor)
        return made if call.kind == "list" else tuple(made)

    def _tensor(self, result):
        tensor = Tensor.__new__(Tensor)
        tensor._array, tensor._symbol, tensor._init = None, result, self.segment
        return tensor

    def slot_of(self, operand):
        """The number of an operand: from 0 on that of a result, below 0 that of a value that no call made."""
        if type(operand) is float:
            self.values.append(operand)
            return -len(self.values)
        if operand._init is self.segment:
            return operand._symbol.slot
        found = self.slots.get(id(operand))
        if found is None and operand.is_parameter and operand._symbol is None:
            self.values.append(operand)
            found = self.slots[id(operand)] = -len(self.values)
        elif found is None:
            if operand._symbol is not None:
                operand.settle()  # it is of another segment
            if is_shared(operand) and not operand.is_parameter:  # what it is now may change before the step ends
                now = Tensor._from_array(operand.array.copy())
                now._is_shared = True
                self.values.append(now)
                return -len(self.values)
            self.values.append(operand)
            found = self.slots[id(operand)] = -len(self.values)
        return found

    def _new_call(self, key, slots, before, action, call=None):
        """Adds a call that earlier steps did not make: `call` if gradients of users that it calls are known."""
        fresh = self.values[before:]
        call = call or self._call_of(key, slots, fresh, action)
        try:
            if self._scratch is None:
                self._scratch = Replay(self.tree.scratch(), self.root, recording=self)
                for earlier in self.calls:
                    self._scratch.add(earlier)
            made = self._scratch.add(call)
        except BaseException:
            self._scratch = None
            for one in fresh:
                self.slots.pop(id(one), None)
            del self.values[before:]
            raise
        call.gives(made, self.count)
        self.tree.count += 1
        inner = [stable(one.key) for own in call.gradients for one in own.calls]
        shapes = [(one.shape, one.dtype) for one in call.results]
        place = call.here.scope, call.here.stage, call.here.recompute, call.phase
        call.digest = digest_of(self.call.digest, stable(key), call.name, slots, place, shapes, inner)
        return call

    def _call_of(self, key, slots, fresh, action):
        require_values(key)
        call = Call(key, slots, self.here, self.phase, action)
        born = {id(one) for one in self.born}
        call.externals = [External(one, id(one) in born and type(one) is not float) for one in fresh]
        return call

    def _differentiated(self, following, key, slots, before, action):
        """Calls the gradients that users wrote and that a differentiation calls, each once. Returns the one of
        `following` whose gradients made the same calls, or a new one, which is the first of them then."""
        end = len(self.values)
        fresh = self.values[before:end]
        choices = [
            one
            for one in following
            if one.gradients and one.slots == slots and one.key == key and one.phase == self.phase
            if one.here == self.here and one.accepts(key, fresh)
        ]
        line = user_line()

        def make():
            call = self._call_of(key, slots, fresh, action)
            call.line = line
            return call

        made = _Differentiation(choices, make)
        try:
            for number in itertools.count():
                if number == len(made.choices[0].gradients):
                    break
                GradientRecording(self, made, number).follow()
        except _Differs:  # others may follow: all are called again
            del self.values[end:]
            made.new = None
        else:
            if made.new is None:
                return made.choices[0]
        following.insert(0, self._new_call(key, slots, before, action, made.new))
        return following[0]

    def record_gradient(self, call, add, table):
        """Records the calls of the last gradient that a user wrote and that a differentiation called; `add` adds a call
        to a network, `table` gets symbols."""
        made = _Differentiation([call])
        GradientRecording(self, made, len(call.gradients) - 1).record(add, table)

    def need_of_gradient(self, path, slot):
        """The array of a value of a gradient that a user wrote, see `Replay.add_until`. Raises TypeError if it is known
        only when the step has ended."""
        raise NotImplementedError

    def own_gradient(self, own, operands):
        made = super().own_gradient(own, operands)
        self.owns[self.call.action.__self__] = own
        return made

    def replace(self, parameter, value):
        """Makes a tensor the value of a parameter from here on: an update."""
        self.slots[id(parameter)] = value._symbol.slot
        self.updated[id(parameter)] = parameter

    def identity(self, tensor):
        """Equal for tensors that stand for the same value of the segment."""
        return tensor._symbol.slot if tensor._init is self.segment else id(tensor)

    def knows(self, tensor):
        """Whether the segment uses a tensor."""
        return id(tensor) in self.slots

    def externals(self):
        """The externals of the calls so far, in the order of their numbers."""
        return [*self.root.externals, *[one for call in self.calls for one in call.all_externals()]]

    def detach(self, tensor):
        """Keeps the value that a tensor has had so far in the segment, before it becomes another one."""
        number = self.slots.pop(id(tensor), None)
        if number is not None:
            self.values[-1 - number] = Tensor._from_array(tensor.array.copy())
            self._external(number).vary()

    def _external(self, number):
        """The external of this number."""
        return self.externals()[-1 - number]

    def assign(self, parameter, value):
        """Makes a tensor of any type and shape the value of a parameter from here on."""
        if value.shape != parameter.shape:
            raise ValueError(
                f"[assign] '{parameter.name}' gets a value of the wrong shape, got {value.shape}, expected "
                f"{parameter.shape}"
            )
        if id(parameter) in self.updated:
            self.commit()
        dtype, shape, functions = parameter.dtype.core, list(parameter.shape), _core.functions
        value = self._added(lambda trace, x: functions.cast(functions.reshape(x, shape), dtype), [value])
        # What uses the parameter from here on has gradients by it, not by what its value was made of.
        if mstype.is_float(parameter.dtype):
            value = self.with_gradient("assign", lambda x: x, lambda x, out, dout: (None,), [value])
        before = self.slots.get(id(parameter))
        if before is not None:
            former = self._tensor(Recorded(before, parameter.shape, dtype))
            self.former[id(parameter)] = (*self.former.get(id(parameter), ()), former)
        self.slots[id(parameter)] = value._symbol.slot
        self.assigned[id(parameter)] = parameter, value

    def store_assigned(self):
        """Adds what makes assigned values those of their parameters when the program has run."""
        assigned, self.assigned = self.assigned, {}
        for parameter, value in assigned.values():
            key = "assign", Same(parameter)
            self.do(key, lambda build, symbol, parameter=parameter: _store(build, parameter, symbol), value)

    def is_of_now(self, tensor):
        """Whether a tensor is of the present segment."""
        return tensor._init is self.segment

    def commit(self):
        """Ends the segment, because what comes needs parameters that it updates. Raises TypeError where that is not
        possible."""
        self.need(None)

    def note(self, cell):
        """Does nothing: what a cell is shows in what it calls."""

    def inner(self, cell, end, stage, recompute):
        """Where the nodes of a cell stand within the present place."""
        key = cell, self.here, end, stage, recompute, cell if cell is None else getattr(cell, "_precision", "")
        try:
            return self.tree.places[key]
        except KeyError:
            found = self.tree.places[key] = super().inner(cell, end, stage, recompute)
            return found

    def live(self):
        """Slots of the results for which tensors stand. Views end with the segment: one of them would keep all of the
        tensor that it is a view of."""
        for reference in self.viewed:
            view = reference()
            if view is not None and view._view is not None:
                view._view[0]._views, view._view = None, None
        view, self.viewed = None, []
        return _held(self.calls)


def _store(build, parameter, value):
    build.trace.store(build.symbol(parameter), value)


class _Differs(BaseException):
    """A gradient of a user makes other calls than before."""


class _Differentiation:
    """A differentiation whose gradients of users are called: those of earlier steps that it may be, or a new one."""

    def __init__(self, choices, make=None):
        self.choices, self.new, self._make = choices, None, make

    @property
    def call(self):
        return self.new or self.choices[0]

    def begin_new(self, number, calls):
        """From here on it is a new one, whose gradient of this number has made other calls. Returns the gradient."""
        old = self.choices[0].gradients[number]
        found = GradientCalls(old.own, old.arguments)
        found.calls = list(calls)
        if self.new is None:
            self.new = self._make()
            self.new.gradients = self.choices[0].gradients[:number]
        self.new.gradients.append(found)
        return found


class GradientRecording(Recording):
    """The calls of a gradient that a user wrote, within those of a step: the one of this number of a differentiation.
    While it makes the calls of one of earlier steps, it follows these. From the first other one on it is new."""

    def __init__(self, outer, differentiation, number):
        super().__init__(outer.tree, ())
        self._step, self._made, self._number = outer, differentiation, number
        self.values, self.here, self.owns = outer.values, outer.here, outer.owns
        self.calls = []
        self._add = self._table = None  # what adds a call to a network, and symbols of results, if the calls are new
        self._begin = len(self.values)
        self._own = {}  # externals of its calls, by their numbers
        self._found = differentiation.choices[0].gradients[number]  # its own and its arguments are those of all
        self.count = len(self._found.arguments)
        self._outermost = outer.outermost

    @property
    def outermost(self):
        return self._outermost

    def need(self, slot):
        if slot is None:
            raise TypeError("[bprop] a parameter that the step has updated is used, expected gradients before updates")
        self.segment.arrays[slot] = self.need_of_gradient((), slot)

    def need_of_gradient(self, path, slot):
        return self._step.need_of_gradient(((self._made.call, self._number, list(self.calls)), *path), slot)

    def _external(self, number):
        return self._own[number] if number in self._own else super()._external(number)

    def record(self, add, table):
        """Records the calls."""
        self._add, self._table = add, table
        self._found.results, self._found.kinds = self._called_by_user()

    def follow(self):
        """Makes the calls. Raises _Differs if gradients are called after this one of which the number is not known."""
        before = self._made.choices
        if self._made.new is not None:
            self._begin_new()
        results, kinds = self._called_by_user()
        if self._made.new is None:
            same = [one for one in self._made.choices if self._is_all(one.gradients[self._number], results)]
            if same:
                self._made.choices = same
                return
            self._begin_new()
        self._found.results, self._found.kinds = results, kinds
        # The same gradients come next as after one that had gradients for the same inputs.
        self._made.choices = [one for one in before if one.gradients[self._number].kinds == kinds]
        if not self._made.choices:
            raise _Differs

    def _is_all(self, found, results):
        return len(found.calls) == len(self.calls) and found.results == results

    def _begin_new(self):
        """Its calls are those of no earlier step."""
        self._found = self._made.begin_new(self._number, self.calls)
        replay = Replay(self.tree.scratch(), Call(), recording=self.outermost)
        self._add, self._table = replay.begin_gradient(self._found.arguments, self.calls, self._begin)

    def _called_by_user(self):
        outer, self.outermost.active = self.outermost.active, self
        try:
            with self:
                own = self.owns.get(self._found.own, self._found.own)
                found = own.of([self._tensor(one) for one in self._found.arguments])
                results = [None if one is None else self._result(one) for one in found]
        finally:
            self.outermost.active = outer
        return [one and one.slot for one in results], [one and (one.shape, one.dtype) for one in results]

    def _result(self, tensor):
        if tensor._init is not self.segment:
            shape = list(tensor.shape)
            tensor = self.run(lambda trace, x: _core.functions.reshape(x, shape), [tensor])
        return tensor._symbol

    def _called(self, key, operands, action, of_trace=False):
        before = len(self.values)
        slots = tuple([self.slot_of(one) for one in operands])
        action = _of_build(action) if of_trace else action
        call = self._followed(key, slots, before, action) if self._add is None else None
        if call is None:
            call = self._recorded(key, slots, before, action)
        self._own.update((-1 - i, one) for i, one in enumerate(call.externals, before))
        self.call = call
        self.count += len(call.results)
        self.calls.append(call)
        return self._tensors(call)

    def _followed(self, key, slots, before, action):
        """The call of earlier steps that is made, or None if it is new."""
        at, fresh, matched = len(self.calls), self.values[before:], []
        for choice in self._made.choices:
            calls = choice.gradients[self._number].calls
            one = calls[at] if at < len(calls) else None
            if one is None or one.slots != slots or one.key != key or one.here != self.here:
                continue
            if one.accepts(key, fresh):
                matched.append((choice, one))
        following = list(dict.fromkeys(one for _, one in matched))
        if not following:
            self._begin_new()
            return None
        call = following[0]
        if call.gradients:
            call = self._differentiated(following, key, slots, before, action)
        same = [choice for choice, one in matched if one is call]
        if same:
            self._made.choices = same
            return call
        self._begin_new()
        self._record(call, self._add(call))
        return call

    def _new_call(self, key, slots, before, action, call=None):
        """A call that earlier steps did not make, which is not added yet."""
        return call or self._call_of(key, slots, self.values[before:], action)

    def _recorded(self, key, slots, before, action):
        call = self._new_call(key, slots, before, action)
        self._record(call, self._add(call))
        return call

    def _record(self, call, made):
        call.gives(made, self.count)
        self._table.update(enumerate(listed(made), self.count))
        self._found.calls.append(call)
