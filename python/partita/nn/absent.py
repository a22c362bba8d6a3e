"""Layers that are not there."""

from partita._names import absent_all

_DENSE = "ops.tensor_scatter_elements of a dense tensor: sparse tensors are not supported"
_SECOND_ORDER = "the layer without Thor, and nn.Momentum"
ABSENT = absent_all(
    __name__,
    {
        "Conv2dThor": _SECOND_ORDER,
        "DenseThor": _SECOND_ORDER,
        "EmbeddingLookupThor": _SECOND_ORDER,
        "EmbeddingThor": _SECOND_ORDER,
        "MultiFieldEmbeddingLookup": "nn.Embedding and sums over fields",
        "SparseTensorDenseMatmul": "ops.matmul of dense tensors: sparse tensors are not supported",
        "SparseToDense": _DENSE,
    },
)
