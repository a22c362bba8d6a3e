"""Cells of parallel runs."""

from partita._names import refuse_missing
from partita.nn.wrap import GradAccumulation, MicroBatchInterleaved, PipelineCell  # noqa: F401
from partita.nn.reducer import DistributedGradReducer

Pipeline = PipelineCell


class PipelineGradReducer(DistributedGradReducer):
    """The gradients of a program in stages, which are those of the global batch already."""

    def __init__(self, parameters, scale_sense=1.0, opt_shard=None):
        super().__init__(parameters, mean=True, degree=1)
        if scale_sense != 1.0:
            raise NotImplementedError(
                f"[PipelineGradReducer] a factor of the loss is not supported, got {scale_sense}, expected 1.0"
            )


__getattr__ = refuse_missing(globals())
