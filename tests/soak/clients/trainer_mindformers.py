"""Trains Llama of two layers by the Trainer of mindformers: `trainer_mindformers.py [ROWS COLUMNS STAGES PARTS]`, as
train_mindformers.py has them. Its own callbacks write checkpoints below the folder where it runs. Prints the losses of
its five steps and, on one process, those of the same steps by its step cell."""

import os
import sys

import numpy as np
from train_mindformers import BATCH, fill, network_of, number, step_of, words

import mindspore as ms
from mindspore import dataset as ds
from mindspore import nn
from mindspore.communication import get_rank
from mindspore.train import Callback

STEPS, RATE = 5, 1e-2


class Losses(Callback):
    """Keeps the losses and the rates of steps."""

    def __init__(self):
        super().__init__()
        self.losses, self.rates = [], []

    def step_end(self, run_context):
        result = run_context.original_args().net_outputs
        self.losses.append(number(result[0]))
        self.rates.append(number(result[3]))


def made(rows=1, columns=1, stages=1, parts=1):
    from mindformers.modules.transformer.transformer import TransformerOpParallelConfig

    cut = {"data_parallel": rows, "model_parallel": columns, "pipeline_stage": stages, "micro_batch_num": parts}
    network = network_of("llama", TransformerOpParallelConfig(**cut, vocab_emb_dp=stages == 1), BATCH // parts)
    fill(network)
    return network


def begin_on_ranks(stages):
    from mindformers import ContextConfig, ParallelContextConfig, init_context

    parallel = {"parallel_mode": "SEMI_AUTO_PARALLEL", "full_batch": True, "gradients_mean": True}
    parallel_config = ParallelContextConfig(**parallel, pipeline_stages=stages)
    init_context(use_parallel=True, context_config=ContextConfig(mode=ms.GRAPH_MODE), parallel_config=parallel_config)


def by_step(rates):
    """The losses of the same steps by the step cell, at these rates."""
    network = made()
    decayed = [one for one in network.trainable_params() if one.ndim > 1]
    others = [one for one in network.trainable_params() if one.ndim == 1]
    groups = [{"params": decayed, "weight_decay": 0.0}, {"params": others, "weight_decay": 0.0}]
    optimizer = nn.AdamWeightDecay(groups, learning_rate=rates, beta1=0.9, beta2=0.999, eps=1e-8)
    step = step_of(network, optimizer, use_clip_grad=True, max_grad_norm=1.0)
    return [number(step(words())[0]) for _ in range(STEPS)]


def main():
    rows, columns, stages, parts = (int(one) for one in sys.argv[1:5]) if len(sys.argv) > 1 else (1, 1, 1, 1)
    from mindformers import Trainer, TrainingArguments

    ms.set_context(mode=ms.GRAPH_MODE)
    many = rows * columns * stages > 1
    if many:
        begin_on_ranks(stages)
    data = ds.NumpySlicesDataset((np.tile(words().asnumpy(), (STEPS, 1)),), ["input_ids"], shuffle=False).batch(BATCH)
    arguments = {"num_train_epochs": 1, "batch_size": BATCH // parts // rows, "learning_rate": RATE, "sink_mode": False}
    if many:
        arguments.update(use_parallel=True, data_parallel=rows, model_parallel=columns)
        arguments.update(pipeline_stage=stages, micro_batch_num=parts)
    network = made(rows, columns, stages, parts)
    trainer = Trainer(TrainingArguments(**arguments), "text_generation", network, "llama2_7b", train_dataset=data)
    heard = Losses()
    trainer.callbacks = [heard]
    trainer.train()
    losses = [one / parts for one in heard.losses]
    if many:
        if get_rank() == 0:
            print("losses", losses, flush=True)
        return
    again = by_step(heard.rates)
    print("losses", losses)
    print("losses by the step", again)
    found = [name for _, _, names in os.walk("output") for name in names if name.endswith(".ckpt")]
    print("checkpoints", sorted(found))
    np.testing.assert_allclose(losses, again, rtol=1e-5)
    assert len(found) == 2, found


if __name__ == "__main__":
    os.environ.setdefault("GLOG_v", "3")
    main()
