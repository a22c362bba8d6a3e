"""Options of data sets."""

from partita._names import refuse_missing
from partita.common.seed import get_seed, set_seed  # noqa: F401

_options = {"num_parallel_workers": 8, "prefetch_size": 16}


def set_num_parallel_workers(num):
    _options["num_parallel_workers"] = num


def get_num_parallel_workers():
    return _options["num_parallel_workers"]


def set_prefetch_size(size):
    _options["prefetch_size"] = size


def get_prefetch_size():
    return _options["prefetch_size"]


def set_enable_shared_mem(enable):
    """Kept, without effect: rows are read by threads."""


__getattr__ = refuse_missing(globals())
