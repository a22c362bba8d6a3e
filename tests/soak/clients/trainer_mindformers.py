"""Trains Llama of two layers by the Trainer of mindformers, with its own callbacks, which write checkpoints below the
folder where it runs. Prints the losses of its five steps, and those of the same steps by its step cell."""

import os

import numpy as np
from train_mindformers import BATCH, fill, network_of, number, step_of, words

import mindspore as ms
from mindspore import dataset as ds
from mindspore import nn
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


def made():
    from mindformers.modules.transformer.transformer import TransformerOpParallelConfig

    network = network_of("llama", TransformerOpParallelConfig())
    fill(network)
    return network


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
    from mindformers import Trainer, TrainingArguments

    ms.set_context(mode=ms.GRAPH_MODE)
    rows = np.tile(words().asnumpy(), (STEPS, 1))
    data = ds.NumpySlicesDataset((rows,), ["input_ids"], shuffle=False).batch(BATCH)
    arguments = TrainingArguments(num_train_epochs=1, batch_size=BATCH, learning_rate=RATE, sink_mode=False)
    trainer = Trainer(arguments, "text_generation", made(), "llama2_7b", train_dataset=data)
    heard = Losses()
    trainer.callbacks = [heard]
    trainer.train()
    again = by_step(heard.rates)
    print("losses", heard.losses)
    print("losses by the step", again)
    found = [name for _, _, names in os.walk("output") for name in names if name.endswith(".ckpt")]
    print("checkpoints", sorted(found))
    np.testing.assert_allclose(heard.losses, again, rtol=1e-5)
    assert len(found) == 2, found


if __name__ == "__main__":
    os.environ.setdefault("GLOG_v", "3")
    main()
