"""Threads that make rows: as many as `num_parallel_workers` says. Rows, their order and what the library draws are the
same for any number. Functions of a script that draw from generators of their own draw in the order of the threads."""

import collections
import concurrent.futures
import threading

import numpy as np

from partita import _core

_MOST = 64  # threads


def count_of(where, given):
    """The number of threads that `num_parallel_workers` asks for: 1 for None. Raises TypeError for what is no integer,
    ValueError for one below 1 or above 64."""
    if given is None:
        return 1
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"[{where}] num_parallel_workers is not an integer, got {given!r}, expected one from 1")
    if not 1 <= given <= _MOST:
        raise ValueError(f"[{where}] num_parallel_workers is out of range, got {given}, expected 1 to {_MOST}")
    return given


def _pool(workers):
    return concurrent.futures.ThreadPoolExecutor(workers, "partita rows")


def in_order(function, items, workers):
    """Iterates over what a function gives for each of the items, in their order. With several workers these call it
    ahead. An error of an item, or of the iterator, comes after all results before it."""
    if workers == 1:
        for item in items:  # not `map`, which a StopIteration of the function would end without an error
            yield function(item)
        return
    items, waiting, pool = iter(items), collections.deque(), _pool(workers)
    error, ended = None, object()
    try:
        while True:
            while error is None and len(waiting) < 2 * workers:
                try:
                    item = next(items, ended)
                except Exception as raised:
                    error = raised
                    break
                if item is ended:
                    error = ended
                    break
                waiting.append(pool.submit(function, item))
            if not waiting:
                break
            yield waiting.popleft().result()
        if error is not ended:
            raise error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class _Ahead:
    """Rows of the library by their numbers, which threads read before they are asked for."""

    def __init__(self, rows, workers):
        self._rows, self._size, self._ahead = rows, len(rows), 2 * workers
        self._pool, self._lock, self._found = _pool(workers), threading.Lock(), {}

    def _read(self, epoch, index):
        return [np.array(np.asarray(one)[0]) for one in self._rows.read(epoch, [index])]

    def __call__(self, epoch, index):
        with self._lock:
            for i in range(index, min(index + self._ahead, self._size)):
                if (epoch, i) not in self._found:
                    self._found[epoch, i] = self._pool.submit(self._read, epoch, i)
            found = self._found.pop((epoch, index))
            while len(self._found) > 8 * self._ahead:  # what no rank has asked for
                self._found.pop(next(iter(self._found))).cancel()
        return found.result()


def ahead(rows, workers):
    """Rows of the library that threads read before a training asks for them."""
    return rows if workers == 1 else _core.data.python_rows(list(rows.columns), len(rows), _Ahead(rows, workers))


class Once:
    """A value that the first thread that asks for it makes, while others wait."""

    def __init__(self, make):
        self._make, self._lock, self._made = make, threading.Lock(), None

    def get(self):
        """The value. Raises what making it raises."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
