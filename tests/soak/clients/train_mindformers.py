"""Trains Llama or GPT-2 of two layers by the step of mindformers: `train_mindformers.py llama|gpt2 ROWS COLUMNS`, where
the ranks are ROWS of data times COLUMNS of the model. Prints the losses of four steps."""

import os
import sys

import numpy as np

import mindspore as ms
from mindspore import nn
from mindspore.communication import get_rank, init

STEPS, LAYERS, WIDTH, HEADS, WORDS, LENGTH, BATCH = 4, 2, 64, 4, 128, 16, 4
FLOATS = {f"{name}_type": "float32" for name in ("layernorm_compute", "softmax_compute", "param_init")}
SIZES = {"num_layers": LAYERS, "hidden_size": WIDTH, "num_heads": HEADS, "vocab_size": WORDS, "seq_length": LENGTH}


def network_of(kind, config):
    common = {**SIZES, **FLOATS, "batch_size": BATCH, "parallel_config": config, "pad_token_id": 0}
    common.update(compute_dtype="float32", use_flash_attention=False)
    if kind == "llama":
        from mindformers.models.llama import LlamaConfig, LlamaForCausalLM

        return LlamaForCausalLM(LlamaConfig(**common, rotary_dtype="float32", multiple_of=16))
    from mindformers.models.gpt2 import GPT2Config, GPT2LMHeadModel

    rates = {"embedding_dropout_prob": 0.0, "hidden_dropout_rate": 0.0, "attention_dropout_rate": 0.0}
    network = GPT2LMHeadModel(GPT2Config(**common, **rates, max_position_embeddings=2 * LENGTH))
    for _, cell in network.cells_and_names():  # its layers compute in float16, whatever the settings say
        for name, value in list(vars(cell).items()):
            if isinstance(value, type(ms.float16)) and value == ms.float16:
                setattr(cell, name, ms.float32)
    return network


def main():
    kind, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    from mindformers.modules.transformer.transformer import TransformerOpParallelConfig
    from mindformers.wrapper import MFTrainOneStepCell

    ms.set_context(mode=ms.GRAPH_MODE)
    init()
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", gradients_mean=True, full_batch=True)
    ms.set_seed(1)
    network = network_of(kind, TransformerOpParallelConfig(data_parallel=rows, model_parallel=columns))
    network.set_train(True)
    for parameter in network.get_parameters():
        own = np.random.default_rng(sum(map(ord, parameter.name)))
        values = own.standard_normal(parameter.shape) * 0.05 + (len(parameter.shape) == 1)
        parameter.set_data(ms.Tensor(values.astype(np.float32)))
    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=1e-2)
    step = MFTrainOneStepCell(network, optimizer, use_clip_grad=True)
    step.set_train()
    words = np.random.default_rng(0).integers(1, WORDS, (BATCH, LENGTH + 1))
    losses = []
    for _ in range(STEPS):
        result = step(ms.Tensor(words.astype(np.int32)))
        losses.append(float(np.asarray(result[0].asnumpy()).reshape(-1)[0]))
    if get_rank() == 0:
        print("losses", losses, flush=True)


if __name__ == "__main__":
    os.environ.setdefault("GLOG_v", "3")
    main()
