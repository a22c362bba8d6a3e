"""Roles of processes in a job with parameter servers: there are none."""

from partita._names import refuse_missing


def _is_no_server(*_):
    """Whether the process is one of a job with parameter servers: it is not."""
    return False


_is_role_sched = _is_role_worker = _is_role_pserver = _is_ps_mode = _enable_distributed_mindrt = _is_no_server
__getattr__ = refuse_missing(globals())
