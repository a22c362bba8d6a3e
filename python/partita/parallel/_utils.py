"""How the context shares the work over ranks, by the names that libraries around the documented system use."""

from partita import context
from partita._names import refuse_missing
from partita.communication import management

_get = context.get_auto_parallel_context


def _get_parallel_mode():
    """The parallel mode."""
    return _get("parallel_mode")


def _is_in_auto_parallel_mode():
    """Whether ops are cut as annotated, or as a search finds."""
    return _get_parallel_mode() in ("semi_auto_parallel", "auto_parallel")


def _is_in_data_parallel_mode():
    return _get_parallel_mode() == "data_parallel"


def _is_in_hybrid_parallel_mode():
    return _get_parallel_mode() == "hybrid_parallel"


def _is_parallel_mode():
    """Whether several ranks share the work."""
    return _get_parallel_mode() != "stand_alone" and _get_device_num() > 1


def _is_sharding_propagation():
    """Whether annotations are propagated to the other ops."""
    return _get_parallel_mode() == "auto_parallel" and (
        bool(_get("sharding_propagation")) or _get("search_mode") == "sharding_propagation"
    )


def _get_full_batch():
    return bool(_get("full_batch"))


def _get_pipeline_stages():
    return _get("pipeline_stages")


def _get_gradients_mean():
    return bool(_get("gradients_mean"))


def _get_enable_parallel_optimizer():
    return bool(_get("enable_parallel_optimizer"))


def _get_device_num():
    """The number of ranks."""
    return management.group_size_or_one()


def _get_stage_device_num():
    """The number of ranks of a stage."""
    return _get_device_num() // max(1, _get_pipeline_stages())


def _get_global_rank():
    """The number of this rank."""
    return management.get_rank() if _get_device_num() > 1 and management.is_process() else 0


__getattr__ = refuse_missing(globals())
