"""Steps of one's own over a data set: batches as arguments of a function, or of a network."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from partita._names import refuse_missing
from partita.nn.cell import Cell
from partita.train.step import jit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from partita.dataset.engine import Dataset


def _endless(dataset):
    """Batches of a data set, from its begin again after each pass. Raises ValueError for one without batches."""
    if dataset.get_dataset_size() < 1:
        raise ValueError("[data_sink] there is nothing to read, got a data set without batches, expected at least one")
    for _ in itertools.count():
        yield from dataset.create_tuple_iterator(num_epochs=1)


def data_sink(fn: Callable, dataset: Dataset, sink_size: int = 1, jit_config=None, input_signature=None) -> Callable:
    """A function that calls `fn` with each of the next `sink_size` batches, and returns what the last call returned.
    With `jit_config` the calls are one program each."""
    if not isinstance(sink_size, int) or isinstance(sink_size, bool):
        raise TypeError(f"[data_sink] sink_size is not an integer, got {sink_size!r}, expected one from 1")
    if sink_size < 1:
        raise ValueError(f"[data_sink] bad sink_size, got {sink_size}, expected an integer from 1")
    batches, call = _endless(dataset), jit(fn) if jit_config is not None else fn

    @functools.wraps(fn)
    def sunk(*args, **kwargs):
        for _ in range(sink_size):
            result = call(*next(batches))
        return result

    return sunk


class DatasetHelper:
    """The batches of a data set as tuples: those of a pass or, with `sink_size`, that number of them. Each pass over
    the helper goes on where the last one ended. With `dataset_sink_mode` it gives empty tuples, for a network of
    `connect_network_with_dataset`, which reads the batches itself."""

    def __init__(self, dataset: Dataset, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1):
        if not isinstance(dataset_sink_mode, bool):
            raise TypeError(f"[DatasetHelper] dataset_sink_mode is not a bool, got {dataset_sink_mode!r}, expected one")
        if not isinstance(sink_size, int) or sink_size < -1 or sink_size == 0:
            raise ValueError(f"[DatasetHelper] bad sink_size, got {sink_size!r}, expected -1 or an integer from 1")
        self.dataset, self._sinks, self._batches = dataset, dataset_sink_mode, _endless(dataset)
        self._size = dataset.get_dataset_size() if sink_size == -1 or not dataset_sink_mode else sink_size

    def __iter__(self):
        for _ in range(self._size):
            yield () if self._sinks else next(self._batches)

    def next_batch(self):
        """The next batch, as a tuple."""
        return next(self._batches)

    def sink_size(self):
        """The steps of a pass over the helper."""
        return self._size

    def types_shapes(self):
        """(element types, shapes) of the columns of a batch."""
        first = next(iter(self.dataset.create_tuple_iterator(num_epochs=1)))
        return [one.dtype for one in first], [list(one.shape) for one in first]

    def get_data_info(self):
        """(element types, shapes) of the columns of a batch."""
        return self.types_shapes()

    def stop_send(self):
        """Kept, without effect: batches are read when they are asked for."""

    continue_send = release = stop_send


class _Connected(Cell):
    """A network that reads its arguments from a helper."""

    def __init__(self, network, helper):
        super().__init__(auto_prefix=False)
        self.network = network
        self.__dict__["_helper"] = helper

    def __call__(self, *args, **kwargs):
        return self.network(*self.__dict__["_helper"].next_batch())


def connect_network_with_dataset(network: Cell, dataset_helper: DatasetHelper) -> Cell:
    """A network that is called without arguments: each call is of the next batch of the helper. Raises TypeError for
    other helpers, RuntimeError for one that does not sink."""
    if not isinstance(dataset_helper, DatasetHelper):
        raise TypeError(
            f"[connect_network_with_dataset] no helper, got {type(dataset_helper).__name__}, expected a DatasetHelper"
        )
    if not dataset_helper._sinks:
        raise RuntimeError(
            "[connect_network_with_dataset] the helper gives the batches itself, got dataset_sink_mode=False, expected "
            "True, or network(*batch) for each batch of the helper"
        )
    return _Connected(network, dataset_helper)


__getattr__ = refuse_missing(globals())
