"""Ops that client libraries import for other devices."""

from partita._names import absent_all

ABSENT = absent_all(
    __name__,
    {
        "ApplyRotaryPosEmb": "ops.rotary_position_embedding",
        "CudnnGRU": "nn.RNN cells that a script makes",
        "DSDMatmul": "ops.BatchMatMul",
        "DropoutGenMask": "ops.Dropout",
        "FlashAttentionScore": "ops.BatchMatMul and ops.Softmax, which become one op",
        "FlashAttentionScoreGrad": "grad",
        "GroupedMatmul": "ops.BatchMatMul",
        "LRN": "ops.Pad and sums of slices",
        "MatmulDDS": "ops.BatchMatMul",
        "MoeFinalizeRouting": "ops.Gather",
        "PagedAttention": "ops.BatchMatMul",
        "PagedAttentionMask": "ops.BatchMatMul",
        "PromptFlashAttention": "ops.BatchMatMul and ops.Softmax",
        "ReshapeAndCache": "ops.assign",
        "Scatter": "ops.tensor_scatter_elements",
        "TopKRouter": "ops.topk",
        "inner_comm_irecv_op": "pipeline stages",
        "inner_comm_isend_op": "pipeline stages",
    },
)
