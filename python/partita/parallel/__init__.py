"""How networks are cut over ranks."""

from partita._names import refuse_missing
from partita.parallel import auto_parallel, nn  # noqa: F401
from partita.parallel.layout import Layout
from partita.parallel.sharded import shard
from partita.train.distributed import (
    load_distributed_checkpoint,
    rank_list_for_transform,
    transform_checkpoint_by_rank,
    transform_checkpoints,
    unified_safetensors,
)
from partita.train.serialization import sync_pipeline_shared_parameters

__getattr__ = refuse_missing(globals())
