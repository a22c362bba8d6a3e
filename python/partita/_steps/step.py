"""A step of a function whose Python runs every time: it is recorded, then its program runs."""

import contextlib

import numpy as np

from partita import _core, context
from partita._current import outside
from partita._executable import Executable, feeders, is_alone, require_rows, statistics_groups
from partita._ranks import is_begun
from partita._steps.agreement import agree, digest_of, stable
from partita._steps.calls import Call, Replay, Tree, stand_in
from partita._steps.recording import Recording
from partita._structure import Structure
from partita._trace import Build
from partita._warnings import warn
from partita.common import seed as _seed
from partita.common.tensor import Tensor

_WANTED = "wanted"  # the slot of a value of a gradient that a user wrote
_MANY_TYPES = 64  # of the arguments of a function
_MANY_PROGRAMS = 16  # of a function for arguments of the same types


def take(function, args, kwargs, trees, rows):
    """Calls a function in a step of its own and returns what it gives. `trees` are those of earlier steps. With `rows`
    every process passes its own rows."""
    given = None
    if kwargs or not all([isinstance(one, Tensor) for one in args]):
        given = Structure((args, kwargs))
    own = list(args) if given is None else given.tensors
    key = tuple([(one.shape, one.dtype) for one in own]), context.program_state(), _seed.seed_or_default(), is_begun()
    known = trees.get(key)
    if known is None or known[0].is_full():
        ways, groups = (feeders(), statistics_groups()) if rows else (1, 1)
        require_rows(own, ways)
        trees[key] = Tree([_of_all(one, ways) for one in own], "f32", _seed.seed_or_default(), groups), ways
        if len(trees) > _MANY_TYPES:
            del trees[next(iter(trees))]
            warn(
                f"[step] a function is compiled again and again, got arguments of more than {_MANY_TYPES} types or "
                "shapes, expected few: pad rows to a few lengths"
            )
        if known is not None:
            trees[key][0].steps = known[0].steps
    tree, ways = trees[key]
    if ways == 1:
        step = Step(tree, own, rows)
    else:
        arguments = [_of_all(one, ways) for one in own]
        args, kwargs = (arguments, {}) if given is None else given.filled(arguments)
        step = Step(tree, arguments, rows)
        step.give(arguments, own)
    try:
        with step:
            result = function(*args, **kwargs)
        step.finish(result)
    except Exception:
        step.fail()
        raise
    finally:
        step.close()
    return result


def _of_all(tensor, ways):
    """The rows of all processes, of which this one knows its own."""
    if ways == 1 or not tensor.shape:
        return tensor
    return stand_in((tensor.shape[0] * ways, *tensor.shape[1:]), tensor.dtype.core)


class _StepProgram(Executable):
    """The program of a step up to a call: of all of it, or of a beginning whose values the step needs at once."""

    def __init__(self, step, asked, is_beginning, until=None):
        self._externals, self._given, self._computed = [], [], []
        self._asked = len(asked)
        step.tree.compiled += 1
        super().__init__(lambda trace: self._fill(trace, step, asked, is_beginning, until), step.groups)
        self.varying = [one.varies for one in self._externals]
        self._inputs = [(i, f"value{i + 1}") for i, varies in enumerate(self.varying) if varies]
        self._counts = "step" in self._core.states() and not self._counting
        self._next = None if is_beginning else 0  # step that the program counts next

    def _fill(self, trace, step, asked, is_beginning, until):
        build = Build(trace, training=True, groups=step.groups, precision=step.tree.precision)
        replay = Replay(build, step.root, step.rows)
        for call in step.calls[: step.begun]:
            replay.add(call)
        known = trace.nodes  # whose values are known by now
        for call in step.calls[step.begun :]:
            replay.add(call)
        computed = trace.nodes
        if until is not None:
            replay.table[asked[0]] = replay.add_until(*until)
        self._externals = replay.externals
        for scope, precision in step.scopes.precisions.items():
            trace.set_precision(scope, precision)
        if is_beginning:
            trace.freeze_states()
            self._computed = trace.computed(known, computed)
        trace.set_place("net", "", 0, -1, "")
        for i, slot in enumerate(asked):
            trace.output(f"output{i}", _copied(replay.table[slot]))
        for number in self._computed:
            trace.output(f"computed{number}", _copied(trace.symbol(number)))
        if not asked and not self._computed:
            trace.output("done", trace.constant(1.0, "f32", []))
        self._give(trace, step, known)
        return build

    def _give(self, trace, step, known):
        """Values that the beginnings of the step computed are inputs."""
        for number in trace.used_after(known):
            if number in step.computed:
                symbol = trace.symbol(number)
                name, whole = f"computed_before{number}", tuple(symbol.shape)
                are_rows = _are_rows(tuple(step.computed[number].shape), whole)
                trace.give(symbol, trace.network_input(name, symbol.dtype, list(whole), are_rows))
                self._given.append((name, number))

    def is_current(self):
        """Whether its inputs are what varies."""
        return self.varying == [one.varies for one in self._externals]

    def take(self, step):
        """Runs it. Returns the arrays of what was asked for."""
        inputs = []
        for i, name in self._inputs:
            value = step.values[i]
            inputs.append((name, _core.Array(np.asarray(value)) if value.__class__ is float else value.array))
        inputs += [(name, step.computed[number]) for name, number in self._given]
        if self._counts and self._next != step.tree.steps:
            self._core.set_state("step", _core.Array(np.asarray(step.tree.steps, np.int64)))
        arrays = self.run(inputs)
        if self._next is not None:
            self._next = step.tree.steps + 1
        step.computed.update(zip(self._computed, arrays[self._asked :]))
        return arrays[: self._asked]


def _are_rows(own, whole):
    """Whether a value of this shape is the rows that this process has of a value of all."""
    if own == whole:
        return False
    if own[1:] == whole[1:]:
        return True
    raise NotImplementedError(
        f"[step] a value that is cut otherwise than by rows cannot be read within a step, got a part of shape {own} of "
        f"{whole}, expected data parallelism, or a read after the step"
    )


def _copied(symbol):
    return _core.functions.reshape(symbol, list(symbol.shape))


class Step(Recording):
    """A step that is recorded, and what of it is known."""

    def __init__(self, tree, arguments, rows):
        self.rows = rows
        self.is_shared = not is_alone()  # by processes that run its programs together
        self.ended = []  # (segment, its calls)
        super().__init__(tree, arguments)

    def begin(self, root, arguments):
        super().begin(root, arguments)
        self.computed = {}  # arrays by numbers of values of the graph, which beginnings computed
        self.begun = 0  # calls whose values are known
        self.beginnings = ()  # numbers of calls of the beginnings that were run

    def give(self, arguments, rows):
        """Knows the rows of arguments that stand for those of all processes."""
        for i, (one, own) in enumerate(zip(arguments, rows)):
            if one is not own:
                one._symbol.slot, one._init = -1 - i, self.segment
                self.segment.arrays[-1 - i] = own.array
                self.values[i] = own

    def need(self, slot):
        if slot is None:
            return self.commit()
        with outside():
            asked = agree(self, (slot,), True) if self.is_shared else (slot,)
            self.segment.arrays.update(zip(asked, self._program(asked, True).take(self)))
        self._begin_rest()

    def _begin_rest(self):
        """The values of the calls so far are known from here on."""
        self.begun = len(self.calls)
        self.beginnings += (self.begun,)

    def commit(self):
        with outside():
            self._run()
        if self.call.continued is None:
            self.call.continued = Call()
        self.ended.append((self.segment, self.calls))
        self.begin(self.call.continued, ())
        self.rates = {}

    def moved(self, *statistics):
        """Lets what reads running statistics from here on have the values after the calls so far."""
        self.updated.update((id(one), one) for one in statistics)

    def array_of_updated(self, parameter):
        if id(parameter) in self.updated:
            self.commit()
        if id(parameter) in self.assigned:
            return self.assigned[id(parameter)][1].array

    def rate(self, optimizer):
        if optimizer in self.rates.values():
            self.commit()
        self.begin_update()
        return super().rate(optimizer)

    def begin_update(self):
        if self.assigned:  # which would be stored after the update
            self.commit()

    def _run(self):
        """Runs what was recorded, so that all tensors have values that something holds."""
        if self.assigned:
            self.store_assigned()
        segment = self.segment
        asked = tuple([slot for slot in self.live() if slot not in segment.arrays])
        if self.is_shared:
            asked = agree(self, asked, False)
        if self.calls:
            segment.arrays.update(zip(asked, self._program(asked, False).take(self)))
        segment.recording = None

    def need_of_gradient(self, path, slot):
        with outside():
            calls_of = [(number, [stable(one.key) for one in calls]) for _, number, calls in path]
            if self.is_shared:
                agree(self, (slot,), True, digest_of(self.call.digest, calls_of, slot))
            call, number, calls = path[-1]
            known = call.gradients[number].programs
            key = slot, len(calls), self.beginnings
            if key not in known or not known[key].is_current():
                known[key] = _StepProgram(self, (_WANTED,), True, (path, slot))
            (array,) = known[key].take(self)
        self._begin_rest()
        return array

    def _program(self, asked, is_beginning):
        """The program of the calls so far."""
        key = asked, is_beginning, self.beginnings
        programs, recent, entry = self.call.programs, self.tree.programs, (self.call, key)
        if key not in programs or not programs[key].is_current():
            programs[key] = _StepProgram(self, asked, is_beginning)
        if not recent or recent[-1] != entry:
            if entry in recent:
                recent.remove(entry)
            elif len(recent) >= _MANY_PROGRAMS:
                call, old = recent.pop(0)
                call.programs.pop(old, None)
                warn("[step] " + _TOO_MANY)
            recent.append(entry)
        return programs[key]

    def finish(self, result):
        """Runs what is left of the step."""
        self._run()
        segment, settled = self.segment, 0
        for tensor in (result,) if result.__class__ is Tensor else Structure(result).tensors:
            settled += tensor._init is segment
            tensor.settle()
        if len(segment.arrays) <= settled:  # nothing else holds tensors of the step
            segment.arrays.clear()

    def fail(self):
        """After an error: makes parameters and states have what the step gave them before, in a process alone. Others
        may not have failed."""
        is_changed = self.assigned or any(call.updates_states for call in self.calls)
        if is_changed and self.segment.recording is self and not self.is_shared:
            with contextlib.suppress(Exception):  # what failed may fail again
                self._run()

    def close(self):
        """Forgets all but values."""
        self.segment.recording = None
        for segment, calls in [*self.ended, (self.segment, self.calls)]:
            segment.release(calls)
        self.ended = []
        self.tree.longest = max(self.tree.longest, len(self.calls))
        self.tree.steps += 1
        self.calls, self.values, self.born, self.slots, self.computed = [], [], [], {}, {}
        self.updated, self.former, self.owns, self._scratch = {}, {}, {}, None


_TOO_MANY = (
    f"a function is compiled again and again, got more than {_MANY_PROGRAMS} programs of it for arguments of the same "
    "types, expected few: pass numbers that change as operands, and arrays of one shape"
)
