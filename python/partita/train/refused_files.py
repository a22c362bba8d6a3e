"""Messages of files of another compiler, which are not read: a use says what to use."""

from partita._names import absent_all, refuse_missing

_GRAPHS = "load_checkpoint of parameters: graphs of another compiler are not read"
globals().update(
    absent_all(
        __name__,
        {
            "GraphProto": _GRAPHS,
            "ModelProto": _GRAPHS,
            "ParallelStrategyMap": "merge_pipeline_strategys and build_searched_strategy, which read strategy files",
        },
    )
)
__getattr__ = refuse_missing(globals())
