"""Maps of rows: the columns that they read, and those that they give."""

import numpy as np

from partita import _core
from partita.dataset import flows
from partita.dataset import transforms as T
from partita.dataset.batched import OfRows
from partita.dataset.columns import require_columns, require_distinct
from partita.dataset.pictures import is_picture, with_pictures
from partita.dataset.refused import noting

_data = _core.data


class Mapping:
    """The mapping that `map` applies to the rows of the library."""

    def __init__(self, steps, inputs, outputs, where="map"):
        self.steps, self.inputs, self.outputs, self.where = steps, inputs, outputs, where
        self.names = [_name_of(step) for step in steps]

    def __call__(self, rows, seed):
        columns = list(rows.columns)
        names = [name for name, _, _ in columns]
        inputs, outputs = self._both(names)
        steps = [_of_seed(step, seed + i) for i, step in enumerate(self.steps)]
        if all(isinstance(step, _data.Map) for step in steps):
            if len(outputs) != len(inputs):
                raise ValueError(
                    f"[map] wrong number of columns, got {len(outputs)} of {len(inputs)}, expected as many"
                )
            try:
                mapped = rows.map(inputs, _data.chain(steps))
            except (TypeError, ValueError):  # images of other shapes, which maps in Python take
                if not any(hasattr(step, "drawn_of") for step in self.steps):
                    raise
            else:
                if outputs == inputs:
                    return mapped
                kept = [name for name in names if name in inputs or name not in outputs]
                return mapped.project(kept).rename(_renamed(kept, inputs, outputs))
        places, kept = _places(names, inputs)
        function = _Applied(with_pictures(steps, self.steps, seed), self.names, places, len(outputs))
        probe = function([rows_array for rows_array in _first_row(rows)], 0, 0)
        made = [(name, value.dtype, list(value.shape)) for name, value in zip(outputs, map(_core.Array, probe))]
        order = _order(names, places, outputs, kept, columns, made)
        function.order = [source for _, source in order]
        return rows.python_map([column for column, _ in order], function)

    def _both(self, names):
        """(names of the columns that are mapped, names of the results), of rows with columns of these names. A result
        takes the place of another column of its name if there is one for each column that is mapped. Raises ValueError
        for unknown columns, and for names that would stand for two columns."""
        inputs = self.inputs or [names[0]]
        require_columns(self.where, inputs, names)
        outputs = self.outputs or inputs
        if self.where != "map" or len(outputs) != len(inputs):
            require_distinct(self.where, [*outputs, *(name for name in names if name not in inputs)])
        return inputs, outputs

    def varies(self, rows, seed):
        """Whether some rows are unlike after functions of Python."""
        if all(isinstance(_of_seed(step, seed), _data.Map) for step in self.steps) or len(rows) < 2:
            return False
        function, _ = self.of_batches(list(rows.columns), seed)
        numbers = sorted({len(rows) * i // 4 for i in range(4)})
        arrays = [np.asarray(one) for one in rows.read(0, numbers)]
        return not flows.are_alike([function([one[i] for one in arrays], 0, n) for i, n in enumerate(numbers)])

    def of_batches(self, columns, seed):
        """(function of the arrays of a batch, names of the columns that it gives)."""
        names = [name for name, _, _ in columns]
        inputs, outputs = self._both(names)
        places, kept = _places(names, inputs)
        made = [_of_seed(step, seed + i) for i, step in enumerate(self.steps)]
        function = _Applied(with_pictures(made, self.steps, seed), self.names, places, len(outputs))
        order = _order(names, places, outputs, kept, columns, [(name,) for name in outputs])
        function.order = [source for _, source in order]
        return function, [column[0] for column, _ in order]


def _places(names, inputs):
    """(numbers of the columns that are mapped, numbers of the others)."""
    places = [names.index(name) for name in inputs]
    return places, [c for c in range(len(names)) if c not in places]


def _of_seed(step, seed):
    """A step of a map with its random numbers."""
    if isinstance(step, T.Transform):
        return step.core(seed)
    return step.seeded(seed) if hasattr(step, "seeded") else step


def _first_row(rows):
    if len(rows) == 0:
        raise ValueError("[map] no rows, got an empty data set, expected one or more")
    return [_core.Array(np.array(np.asarray(array)[0])) for array in rows.read(0, [0])]


def _renamed(names, inputs, outputs):
    return [outputs[inputs.index(name)] if name in inputs else name for name in names]


def _order(names, places, outputs, kept, columns, made):
    """(column, where its value comes from) of the result: each output in the place of its input if there are as many,
    else all of them before the other columns."""
    if len(made) == len(places):
        found = {place: (column, ("made", i)) for i, (place, column) in enumerate(zip(places, made))}
        given = [one[0] for one in made]
        return [
            found.get(c, (columns[c], ("kept", c)))
            for c, name in enumerate(names)
            if c in found or name not in given
        ]
    return [(column, ("made", i)) for i, column in enumerate(made)] + [(columns[c], ("kept", c)) for c in kept]


def _name_of(step):
    """How an error names a step of a map."""
    if isinstance(step, OfRows):
        return "per_batch_map"
    return getattr(step, "__qualname__", None) or type(step).__name__


def _made(step, values, epoch, sample):
    """The columns that a step gives for a row."""
    if isinstance(step, _data.Map):
        return [np.asarray(step.apply(_core.Array(one), epoch, sample)) for one in values]
    if isinstance(step, OfRows):
        return step.batch_arrays(values, epoch, sample)
    if hasattr(step, "apply_all"):
        return step.apply_all(values, epoch, sample)
    if hasattr(step, "apply"):
        return [step.apply(one, epoch, sample) for one in values]
    result = step(*values)
    return list(result) if isinstance(result, tuple) else [result]


class _Applied:
    """The steps of a map on the values of one row."""

    def __init__(self, steps, names, places, outputs):
        self.steps, self.places, self.outputs, self.order = steps, places, outputs, None
        self._names = names  # of the steps, for errors

    def __call__(self, values, epoch, sample):
        current = [flows.value_of(values[place]) for place in self.places]
        for number, step in enumerate(self.steps):
            with noting(lambda: f"[map] in {self._names[number]}, at row or batch {sample} of epoch {epoch + 1}"):
                made = _made(step, current, epoch, sample)
                current = [one if is_picture(one) else flows.value_of(one) for one in made]
        current = [flows.value_of(one) for one in current]
        if len(current) != self.outputs:
            raise ValueError(f"[map] wrong number of columns, got {len(current)}, expected {self.outputs}")
        if self.order is None:
            return current
        return [current[i] if kind == "made" else flows.value_of(values[i]) for kind, i in self.order]
