"""How networks are cut over ranks."""

from partita._names import refuse_missing
from partita.parallel import auto_parallel, nn  # noqa: F401
from partita.parallel.layout import Layout
from partita.parallel.sharded import shard
from partita.train.distributed import (
    build_searched_strategy,
    load_distributed_checkpoint,
    merge_pipeline_strategys,
    merge_sliced_parameter,
    rank_list_for_transform,
    transform_checkpoint_by_rank,
    transform_checkpoints,
    unified_safetensors,
)
from partita.train.conversions import convert_checkpoints, load_segmented_checkpoints, rank_list_for_convert
from partita.train.serialization import sync_pipeline_shared_parameters

convert_checkpoint_by_rank = transform_checkpoint_by_rank  # its newer name
_ALGORITHM = {
    "fully_use_devices": False,
    "elementwise_op_strategy_follow": False,
    "enable_algo_approxi": False,
    "algo_approxi_epsilon": 0.1,
}
_algorithm = dict(_ALGORITHM)


def set_algo_parameters(**kwargs):
    """Kept, without effect: how the documented system's search treats ops that follow others. The options of the search
    here are those of the context."""
    for name in kwargs:
        if name not in _ALGORITHM:
            raise ValueError(f"[set_algo_parameters] unknown option, got '{name}', expected one of {list(_ALGORITHM)}")
    _algorithm.update(kwargs)


def reset_algo_parameters():
    """Gives the options of `set_algo_parameters` their defaults."""
    _algorithm.update(_ALGORITHM)


def get_algo_parameters(attr_key):
    """The value of an option of `set_algo_parameters`."""
    if attr_key not in _ALGORITHM:
        raise ValueError(f"[get_algo_parameters] unknown option, got '{attr_key}', expected one of {list(_ALGORITHM)}")
    return _algorithm[attr_key]


__getattr__ = refuse_missing(globals())
