"""Ops that client libraries import for other devices."""

from partita._names import absent_all
from partita.ops.primitive import Primitive


def refusing_class(name, instead):
    """The class of an op that libraries make when they are imported: a call of the op raises NotImplementedError."""

    def init(self, *args, **kwargs):
        Primitive.__init__(self)

    def compute(self, *args):
        raise NotImplementedError(f"[{name}] this op is not supported, got a call, expected {instead}")

    members = {"__init__": init, "compute": compute, "__doc__": f"Not there: see {instead}.", "__module__": __name__}
    return type(name, (Primitive,), members)


def refusing_function(name, what, instead):
    """A function whose call raises NotImplementedError: `what` is not supported, such as complex numbers."""

    def call(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"[{name}] {what} are not supported, got a call, expected {instead}")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Not there: {what} are not supported, and a call raises NotImplementedError. See {instead}."
    return call


ABSENT = absent_all(
    __name__,
    {
        "ApplyRotaryPosEmb": "ops.rotary_position_embedding",
        "CudnnGRU": "nn.GRU",
        "DSDMatmul": "ops.BatchMatMul",
        "DropoutGenMask": "ops.Dropout",
        "FlashAttentionScoreGrad": "grad",
        "GroupedMatmul": "ops.BatchMatMul",
        "MatmulDDS": "ops.BatchMatMul",
        "MoeFinalizeRouting": "ops.Gather",
        "PagedAttention": "ops.BatchMatMul",
        "PagedAttentionMask": "ops.BatchMatMul",
        "ReshapeAndCache": "ops.assign",
        "TopKRouter": "ops.topk",
        "inner_comm_irecv_op": "pipeline stages",
        "inner_comm_isend_op": "pipeline stages",
    },
)
_ROUNDED = "ops.round of scaled values, whose gradient a Cell's bprop gives"
_LOADED = "weights of floating-point numbers: products of quantized numbers are not supported"
# Ops of other devices, in modules within the documented ones.
INNER = {
    name: refusing_class(name, instead)
    for instead, names in {
        _ROUNDED: "ActsULQ FakeLearnedScaleQuantPerChannel FakeLearnedScaleQuantPerLayer FakeQuantPerChannel"
        " FakeQuantPerLayer FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsPerChannel IFMR MinMaxUpdatePerChannel"
        " MinMaxUpdatePerLayer WtsARQ",
        "nn.BatchNorm2d after the convolution": "BatchNormFold BatchNormFold2 BatchNormFold2D BatchNormFoldD"
        " CorrectionMul",
        _LOADED: "Dequant DynamicQuantExt GroupedMatmulV4 QuantBatchMatmul QuantV2 WeightQuantBatchMatmul",
        "nn.SyncBatchNorm": "SyncBatchNorm",
        "experimental.optim.AdamW, or mint.optim.AdamW": "AdamW",
        "ops.assign of the rows": "KVCacheScatterUpdate",
    }.items()
    for name in names.split()
}
ABSENT.update(
    {
        name: refusing_class(name, instead)
        for name, instead in {
            "Complex": "two tensors, of real and of imaginary parts",
            "FFTWithSize": "numpy.fft on asnumpy()",
            "CombinedNonMaxSuppression": "ops.NonMaxSuppressionV3 for each class",
            "ComputeAccidentalHits": "ops.equal of the classes and ops.nonzero",
            "Dilation2D": "ops.unfold and ops.amax",
            "EditDistance": "a function of NumPy, in ops.Custom",
            "GatherV2": "ops.Gather",
            "NonMaxSuppressionWithOverlaps": "ops.NonMaxSuppressionV3",
            "SampleDistortedBoundingBoxV2": "dataset.vision.RandomResizedCrop",
            "SparseGatherV2": "ops.Gather",
        }.items()
    }
)
_PAIRS = "two tensors, of real and of imaginary parts"
COMPLEX = {name: refusing_function(name, "complex numbers", _PAIRS) for name in "angle polar view_as_real".split()}
