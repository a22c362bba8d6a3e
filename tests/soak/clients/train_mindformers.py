"""Trains Llama or GPT-2 of two layers by the steps of mindformers: `train_mindformers.py llama|gpt2 ROWS COLUMNS
[STAGES PARTS [tokens]]`, where the ranks are ROWS of data times COLUMNS of the model times STAGES of pipelines. With
PARTS above 1 a batch is computed in as many parts: in micro-batches of a pipeline, or with accumulated gradients. With
`tokens` some rows end early, and the loss is the mean over all tokens instead of that over the parts. Prints the
losses of four steps."""

import os
import sys

import numpy as np

import mindspore as ms
from mindspore import nn
from mindspore.communication import get_group_size, get_rank, init

STEPS, LAYERS, WIDTH, HEADS, WORDS, LENGTH, BATCH = 4, 2, 64, 4, 128, 16, 4
FLOATS = {f"{name}_type": "float32" for name in ("layernorm_compute", "softmax_compute", "param_init")}
SIZES = {"num_layers": LAYERS, "hidden_size": WIDTH, "num_heads": HEADS, "vocab_size": WORDS, "seq_length": LENGTH}


def network_of(kind, config, batch=BATCH, by_tokens=False):
    common = {**SIZES, **FLOATS, "batch_size": batch, "parallel_config": config, "pad_token_id": 0}
    common.update(compute_dtype="float32", use_flash_attention=False)
    if kind == "llama":
        from mindformers.models.llama import LlamaConfig, LlamaForCausalLM

        more = {"rotary_dtype": "float32", "multiple_of": 16, "calculate_per_token_loss": by_tokens}
        return LlamaForCausalLM(LlamaConfig(**common, **more))
    from mindformers.models.gpt2 import GPT2Config, GPT2LMHeadModel

    rates = {"embedding_dropout_prob": 0.0, "hidden_dropout_rate": 0.0, "attention_dropout_rate": 0.0}
    network = GPT2LMHeadModel(GPT2Config(**common, **rates, max_position_embeddings=2 * LENGTH))
    for _, cell in network.cells_and_names():  # its layers compute in float16, whatever the settings say
        for name, value in list(vars(cell).items()):
            if isinstance(value, type(ms.float16)) and value == ms.float16:
                setattr(cell, name, ms.float32)
    return network


def fill(network):
    """Draws the parameters by their names."""
    network.set_train(True)
    for parameter in network.get_parameters():
        own = np.random.default_rng(sum(map(ord, parameter.name)))
        values = own.standard_normal(parameter.shape) * 0.05 + (len(parameter.shape) == 1)
        parameter.set_data(ms.Tensor(values.astype(np.float32)))


def wrapped(network, stages, parts, by_tokens=False):
    """A network in the cells that the trainer of mindformers wraps around it."""
    from mindspore.nn.wrap.cell_wrapper import GradAccumulationCell, _VirtualDatasetCell

    from mindformers.wrapper.wrapper import GradAccumulationCellWithTwoOutput, PipelineCellWithTwoOutput

    if parts > 1 or stages > 1:
        one, two = (nn.PipelineCell, PipelineCellWithTwoOutput)
        if stages == 1:
            one, two = (GradAccumulationCell, GradAccumulationCellWithTwoOutput)
        network = (two if by_tokens else one)(network, parts)
    return _VirtualDatasetCell(network)


def step_of(network, optimizer, stages=1, parts=1, by_tokens=False, **options):
    """The step that the trainer of mindformers makes."""
    from mindformers.wrapper import MFPipelineWithLossScaleCell, MFTrainOneStepCell

    network = wrapped(network, stages, parts, by_tokens)
    if parts == 1 and stages == 1:
        step = MFTrainOneStepCell(network, optimizer, **options)
    else:
        options.update(micro_batch_num=parts, calculate_per_token_loss=by_tokens)
        step = MFPipelineWithLossScaleCell(network, optimizer, **options)
    step.set_train()
    return step


def begin(kind, rows, columns, stages=1, parts=1, by_tokens=False):
    """Sets up the parallelism and returns the network."""
    from mindformers.modules.transformer.transformer import TransformerOpParallelConfig

    ms.set_context(mode=ms.GRAPH_MODE)
    init()
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel", gradients_mean=True, full_batch=True, pipeline_stages=stages
    )
    ms.set_seed(1)
    assert get_group_size() == rows * columns * stages
    config = TransformerOpParallelConfig(
        data_parallel=rows,
        model_parallel=columns,
        pipeline_stage=stages,
        micro_batch_num=parts,
        vocab_emb_dp=stages == 1,  # as its trainer sets it
    )
    network = network_of(kind, config, BATCH // parts, by_tokens)
    fill(network)
    return network


def words(padded=False):
    """Rows of words; with padding, some rows end early."""
    drawn = np.random.default_rng(0).integers(1, WORDS, (BATCH, LENGTH + 1))
    for row, length in ((0, 5), (1, 9)) if padded else ():
        drawn[row, length:] = 0
    return ms.Tensor(drawn.astype(np.int32))


def number(value):
    return float(np.asarray(value.asnumpy()).reshape(-1)[0])


def main():
    kind, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    stages, parts = (int(one) for one in sys.argv[4:6]) if len(sys.argv) > 4 else (1, 1)
    padded = sys.argv[6:7] == ["tokens"]
    by_tokens = padded and stages * parts > 1  # else it is that of each token in any case
    network = begin(kind, rows, columns, stages, parts, by_tokens)
    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=1e-2)
    step = step_of(network, optimizer, stages, parts, by_tokens, use_clip_grad=True)
    losses = []
    for _ in range(STEPS):
        result = step(words(padded))
        losses.append(number(result[0]) / (1 if by_tokens else parts))  # as its monitor of losses does
    if get_rank() == 0:
        print("losses", losses, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("GLOG_v", "3")
    main()
