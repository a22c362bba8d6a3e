"""Whether the Python of a network still says what a training computes. A training compiles a network once; in
PYNATIVE mode a script may expect that its Python runs in every step."""

import numpy as np

from partita._steps.agreement import stable
from partita._steps.calls import Tree, is_same_number, stand_in
from partita._steps.recording import Recording
from partita.common import dtype as mstype

_WAYS_OUT = (
    "expected the same in every step, which Model.train compiles once: call the network in a loop of your own "
    "(nn.TrainOneStepCell, value_and_grad), pass what changes as a column of the data set, or set GRAPH_MODE to keep "
    "what the first step computed"
)


class _Watched(Recording):
    """The calls of a network in one step."""

    divides_batches = True

    def __init__(self, tree, arguments, build):
        super().__init__(tree, arguments)
        self.training = build.training

    def count_call(self, parameter):
        """Has no effect: the program counts."""

    def need(self, slot):
        raise TypeError(
            "[train] a value of the network is not known before a step runs, got Python that reads it, " + _WAYS_OUT
        )


class Watch:
    """Runs the Python of a network, `run(column)`, as `build` did; `columns` has shapes and element types by names."""

    def __init__(self, run, build, columns):
        self._run, self._build = run, build
        self._columns = {name: stand_in(*one) for name, one in columns.items()}
        self._tree = Tree(self._columns.values(), build.here.precision, 1, build.groups)
        self._calls = None

    def require_same(self, step):
        """Raises RuntimeError, with the line, if the network computes something else than when this was first called.
        The Python of the network runs; no op does."""
        watched = _Watched(self._tree, self._columns.values(), self._build)
        with watched:
            self._run(self._columns.__getitem__)
        if self._calls is None:
            self._calls, self._values = watched.calls, watched.values
            return
        for now, then in zip(watched.calls, self._calls):
            if now is not then:
                raise _changed(step, now, f"'{now.name}', then '{then.name}'", then)
        if len(watched.calls) != len(self._calls):
            most = max(watched.calls, self._calls, key=len)
            call = most[min(len(watched.calls), len(self._calls))]
            raise _changed(step, call, f"{len(watched.calls)} ops, then {len(self._calls)}")
        pairs = iter(zip(watched.values[len(self._columns) :], self._values[len(self._columns) :]))
        for call in watched.calls:
            for one, (now, then) in zip(call.all_externals(), pairs):
                if one.varies and not _are_same(now, then):
                    text = f"{now}, then {then}" if now.__class__ is float else "another tensor than before"
                    raise _changed(step, call, text)


def _are_same(now, then):
    if now.__class__ is float:
        return is_same_number(now, then)
    return now is then or np.array_equal(now._readable(), then._readable(), equal_nan=mstype.is_float(now.dtype))


def _changed(step, call, text, then=None):
    if then is not None and stable(call.key) == stable(then.key):
        text = f"other operands of '{call.name}'"
    file, line = call.line
    return RuntimeError(f"[train] the network changed in step {step} at {file}:{line}, got {text}, {_WAYS_OUT}")
