"""How networks are cut over ranks."""

from partita.parallel.layout import Layout


def __getattr__(name):
    """What needs cells is imported when it is asked for: ops need layouts before there are cells."""
    if name == "shard":
        from partita.parallel.sharded import shard

        return shard
    if name in ("auto_parallel", "nn"):
        import importlib

        return importlib.import_module(f"partita.parallel.{name}")
    if name == "sync_pipeline_shared_parameters":
        from partita.train.serialization import sync_pipeline_shared_parameters

        return sync_pipeline_shared_parameters
    if name in (
        "load_distributed_checkpoint",
        "transform_checkpoints",
        "unified_safetensors",
        "rank_list_for_transform",
        "transform_checkpoint_by_rank",
    ):
        from partita.train import distributed

        return getattr(distributed, name)
    from partita._names import missing

    raise missing(__name__, name, [*globals(), "shard", "auto_parallel", "nn"])
