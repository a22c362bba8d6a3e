"""Questions about the ranks of a job, by the names of the documented module."""

import shutil

from partita import _core
from partita._names import refuse_missing
from partita.communication import management

_get_group_ranks = management.get_process_group_ranks


def _is_initialized():
    """Whether `init` was called."""
    return management.GlobalComm.INITED


def _is_available():
    """Whether ranks can exchange tensors: they can."""
    return True


def _is_mpi_available():
    """Whether there is a launcher of processes, or one started this one."""
    return _core.this_place().ranks > 1 or shutil.which("mpirun") is not None


def _is_hccl_available():
    """Whether Ascend devices exchange tensors: there are none."""
    return False


def _is_nccl_available():
    """Whether calls exchange tensors by NCCL: programs of accelerators do, calls do not."""
    return False


__getattr__ = refuse_missing(globals())
