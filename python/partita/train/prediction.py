"""Calls of a network as a program of its own: the results for a batch."""

from partita import context
from partita.common.tensor import Tensor
from partita.train.job import NetworkJob


def _kinds(values):
    """The types of what is no tensor in a result."""
    if not isinstance(values, (tuple, list)):
        return type(values).__name__
    return ", ".join(sorted({type(one).__name__ for one in values if not isinstance(one, Tensor)}))


def named(values):
    """The results of a network with names of their own. Raises TypeError unless they are tensors."""
    if not isinstance(values, (tuple, list)) or not all(isinstance(one, Tensor) for one in values):
        raise TypeError(
            f"[construct] the result is not a tensor, got {_kinds(values)}, expected a Tensor or a tuple of them"
        )
    return [(f"output{i}", one) for i, one in enumerate(values)]


def _leaves(values):
    """The tensors of a result, which may be a tuple of tuples."""
    if isinstance(values, (tuple, list)):
        return [leaf for one in values for leaf in _leaves(one)]
    return [values]


def _places(values):
    """A result without its tensors, which belong to a trace."""
    return tuple(map(_places, values)) if isinstance(values, (tuple, list)) else None


def _like(values, results):
    """The next results in the tuples of a result."""
    return tuple(_like(one, results) for one in values) if isinstance(values, (tuple, list)) else next(results)


class Prediction:
    """The program of a network for batches like these tensors. It runs on one rank, in each process."""

    def __init__(self, network, tensors, precision):
        self._network, self._order = network, {}
        self._names = [f"input{i}" for i in range(len(tensors))]
        arrays = self._arrays(tensors)
        columns = [(name, one.dtype, one.shape[1:]) for name, one in arrays]
        options = {"ranks.count": 1, "ranks.device": context.device_option(), "training.precision": precision}
        # The library refuses inputs that are no batches.
        batch = arrays[-1][1].shape[0] if arrays and all(one.shape for _, one in arrays) else 0
        purposes = ["prediction"] if batch else []
        self._job = NetworkJob(type(network).__name__, self._outputs, None, options, True, (columns, batch), purposes)
        self.refresh()

    def _arrays(self, tensors):
        return [(name, one.array) for name, one in zip(self._names, tensors)]

    def _outputs(self, column):
        made = self._network(*[column(name) for name in self._names])
        found = [("output", made)] if isinstance(made, Tensor) else named(_leaves(made))
        self._order.update((name, None) for name, _ in found)
        self._made = _places(made)
        return found

    def refresh(self):
        """Takes the values that the parameters have now."""
        self._job.give(list(self._network.get_parameters()), {})

    def __call__(self, tensors):
        made = self._job.core.predict(self._arrays(tensors))
        results = [Tensor(made[name]) for name in self._order]
        return results[0] if len(results) == 1 else _like(self._made, iter(results))
