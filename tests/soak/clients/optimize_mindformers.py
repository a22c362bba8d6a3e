"""Trains Llama of two layers by the optimizers and the learning rates of mindformers: `optimize_mindformers.py
OPTIMIZER RATE ROWS COLUMNS [STAGES PARTS]`. On one rank each step is also taken by formulas in NumPy, from gradients of
the same network. Prints the losses, and on one rank the largest differences of losses and weights."""

import os
import sys

import formulas
import numpy as np
from train_mindformers import begin, fill, number, step_of, words

import mindspore as ms
from mindspore.communication import get_group_size, get_rank

STEPS, DECAY, NORM = 5, 0.1, 0.5
# Of each optimizer its formula and its options; that of "Came:Ascend" is what it computes on other devices.
OPTIMIZERS = {
    "AdamW": (formulas.adam, {"betas": (0.9, 0.95)}),
    "FusedAdamWeightDecay": (formulas.adam_without_correction, {"beta2": 0.95}),
    "FP32StateAdamWeightDecay": (formulas.adam_without_correction, {"beta2": 0.95}),
    "FusedCastAdamWeightDecay": (formulas.adam_without_correction, {"beta2": 0.95}),
    "Came": (formulas.adafactor, {}),
    "Came:Ascend": (formulas.luo, {}),
}


def made(name, rate, network):
    from mindformers.core import lr, optim

    kind, _, device = name.partition(":")
    if device:
        ms.set_context(device_target=device)
    schedule = getattr(lr, rate)(**formulas.RATES[rate][1]) if rate != "layers" else None
    options = {**OPTIMIZERS[name][1], "weight_decay": DECAY}
    parameters = network.trainable_params()
    if schedule is None:  # two groups, each with a rate of its own in each step
        schedule = lr.LinearWithWarmUpLR(**formulas.RATES["LinearWithWarmUpLR"][1])
        parameters = [
            {"params": parameters[::2], "lr": lr.LearningRateWiseLayer(schedule, 0.5), "weight_decay": 0.0},
            {"params": parameters[1::2], "lr": lr.LearningRateWiseLayer(schedule, 1.0)},
            {"order_params": parameters},
        ]
    return getattr(optim, kind)(parameters, learning_rate=schedule, **options)


class ByFormula:
    """The same training in NumPy, from gradients of a network."""

    def __init__(self, name, rate, network):
        self.formula, self.is_cast = OPTIMIZERS[name][0], name == "FusedCastAdamWeightDecay"
        self.rate = rate
        self.network, self.parameters = network, network.trainable_params()
        self.weights = [one.asnumpy().astype(np.float64) for one in self.parameters]
        self.states = [{} for _ in self.weights]
        self.grad = ms.value_and_grad(network, None, self.parameters)
        self.steps = 0

    def take(self, rows):
        for one, values in zip(self.parameters, self.weights):
            one.set_data(ms.Tensor(values.astype(np.float32)))
        loss, gradients = self.grad(rows)
        gradients, norm = formulas.clipped([one.asnumpy().astype(np.float64) for one in gradients], NORM)
        if self.is_cast:  # it divides by the norm itself, after the step has clipped
            gradients = [one / max(norm, 1.0) for one in gradients]
        self.steps += 1
        for i, gradient in enumerate(gradients):
            share, decay = (1.0, DECAY) if self.rate != "layers" else ((0.5, 0.0), (1.0, DECAY))[i % 2]
            rate = formulas.RATES["LinearWithWarmUpLR" if self.rate == "layers" else self.rate][0]
            arguments = self.weights[i], gradient, share * rate(self.steps - 1), self.steps, decay
            self.weights[i] = self.formula(self.states[i], *arguments)
        return number(loss)


def largest_difference(rate):
    """The largest difference of the learning rates of 12 steps from those of the formula."""
    from mindformers.core import lr

    formula, options = formulas.RATES[rate]
    schedule = getattr(lr, rate)(**options)
    return max(abs(number(schedule(ms.Tensor(step, ms.int32))) - formula(step)) for step in range(12))


def main():
    name, rate, rows, columns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    stages, parts = (int(one) for one in sys.argv[5:7]) if len(sys.argv) > 5 else (1, 1)
    network = begin("llama", rows, columns, stages, parts)
    step = step_of(network, made(name, rate, network), stages, parts, use_clip_grad=True, max_grad_norm=NORM)
    losses, own = [], None
    if get_group_size() == 1 and parts == 1:
        copy = begin("llama", 1, 1)
        fill(copy)
        own = ByFormula(name, rate, copy)
    for _ in range(STEPS):
        result = step(words())
        losses.append(number(result[0]) / parts)
    if get_rank() == 0:
        print(name, rate, "losses", losses, flush=True)
    if own is not None:
        by_formula = [own.take(words()) for _ in range(STEPS)]
        pairs = zip(network.trainable_params(), own.weights)
        of_weights = max(np.abs(one.asnumpy() - values).max() for one, values in pairs)
        of_losses = np.abs(np.array(losses) - by_formula).max()
        of_rates = 0.0 if rate == "layers" else largest_difference(rate)
        print(f"largest differences: losses {of_losses:.1e}, weights {of_weights:.1e}, rates {of_rates:.1e}")
        assert of_losses < 1e-5 * losses[0] and of_rates < 1e-8, (losses, by_formula)


if __name__ == "__main__":
    os.environ.setdefault("GLOG_v", "3")
    main()
