"""The formulas of the optimizers and learning rates of mindformers, in NumPy: what its trainings are compared with."""

import math

import numpy as np


def warm(step, rate, steps, first=0.0):
    return first + (rate - first) * step / steps


def constant(step, rate=1e-2, warmup_steps=2):
    return warm(step, rate, warmup_steps) if step < warmup_steps else rate


def linear(step, rate=1e-2, total_steps=8, warmup_steps=2, first=1e-3):
    if step < warmup_steps:
        return warm(step, rate, warmup_steps, first)
    return rate * max(0.0, (total_steps - step) / (total_steps - warmup_steps))


def cosine(step, rate=1e-2, total_steps=8, warmup_steps=2, last=1e-4):
    if step >= total_steps:
        return last
    if step < warmup_steps:
        return warm(step, rate, warmup_steps)
    share = (step - warmup_steps) / (total_steps - warmup_steps)
    return last + (rate - last) * 0.5 * (1 + math.cos(math.pi * share))


def restarts(step, rate=1e-2, total_steps=8, warmup_steps=2, cycles=2.0):
    if step >= total_steps:
        return 0.0
    if step < warmup_steps:
        return warm(step, rate, warmup_steps)
    share = (step - warmup_steps) / (total_steps - warmup_steps)
    return rate * 0.5 * (1 + math.cos(math.pi * (cycles * share % 1)))


def polynomial(step, rate=1e-2, total_steps=8, warmup_steps=2, last=1e-4, power=2.0):
    if step < warmup_steps:
        return warm(step, rate, warmup_steps)
    if step > total_steps:
        return last
    left = 1 - (step - warmup_steps) / (total_steps - warmup_steps)
    return (rate - last) * left**power + last


def annealing(step, rate=1e-2, half=6, last=1e-4):
    return last + (rate - last) * max(0.0, 0.5 * (1 + math.cos(math.pi * step / half)))


def warm_restarts(step, rate=1e-2, first=2, growth=2, last=1e-4):
    begin, length = 0, first
    while step >= begin + length:
        begin, length = begin + length, length * growth
    return last + (rate - last) * 0.5 * (1 + math.cos(math.pi * (step - begin) / length))


RATES = {
    "ConstantWarmUpLR": (constant, {"learning_rate": 1e-2, "warmup_steps": 2}),
    "LinearWithWarmUpLR": (
        linear,
        {"learning_rate": 1e-2, "total_steps": 8, "warmup_steps": 2, "warmup_lr_init": 1e-3},
    ),
    "CosineWithWarmUpLR": (cosine, {"learning_rate": 1e-2, "total_steps": 8, "warmup_steps": 2, "lr_end": 1e-4}),
    "CosineWithRestartsAndWarmUpLR": (
        restarts,
        {"learning_rate": 1e-2, "total_steps": 8, "warmup_steps": 2, "num_cycles": 2.0},
    ),
    "PolynomialWithWarmUpLR": (
        polynomial,
        {"learning_rate": 1e-2, "total_steps": 8, "warmup_steps": 2, "lr_end": 1e-4, "power": 2.0},
    ),
    "CosineAnnealingLR": (annealing, {"base_lr": 1e-2, "t_max": 6, "eta_min": 1e-4}),
    "CosineAnnealingWarmRestarts": (warm_restarts, {"base_lr": 1e-2, "t_0": 2, "t_mult": 2, "eta_min": 1e-4}),
}


def clipped(gradients, largest):
    """(gradients by their global norm, that norm)."""
    norm = math.sqrt(sum((one**2).sum() for one in gradients))
    return [one * min(1.0, largest / (max(norm, largest) + 1e-6)) for one in gradients], norm


def adam(state, w, g, rate, step, decay, betas=(0.9, 0.95), eps=1e-8):
    state["m"] = state.get("m", 0) * betas[0] + (1 - betas[0]) * g
    state["v"] = state.get("v", 0) * betas[1] + (1 - betas[1]) * g**2
    mean, square = state["m"] / (1 - betas[0] ** step), state["v"] / (1 - betas[1] ** step)
    return w * (1 - rate * decay) - rate * mean / (np.sqrt(square) + eps)


def adam_without_correction(state, w, g, rate, step, decay, betas=(0.9, 0.95), eps=1e-6):
    state["m"] = state.get("m", 0) * betas[0] + (1 - betas[0]) * g
    state["v"] = state.get("v", 0) * betas[1] + (1 - betas[1]) * g**2
    return w - rate * (state["m"] / (np.sqrt(state["v"]) + eps) + decay * w)


def _factored(state, names, squares, beta):
    """The inverse root of the averages of squares of a matrix, by those of rows and columns."""
    row, column = (state.get(name, 0) * beta + squares.mean(axis) * (1 - beta) for name, axis in zip(names, (-1, -2)))
    state.update(zip(names, (row, column)))
    return 1 / np.sqrt(row / row.mean(-1, keepdims=True))[..., None] / np.sqrt(column)[..., None, :]


def _shaped(state, g, step, eps, decay_rate=0.8, clip=1.0):
    beta = 1 - float(step) ** -decay_rate
    squares = g**2 + eps
    if g.ndim > 1:
        update = g * _factored(state, ("row", "column"), squares, beta)
    else:
        state["square"] = state.get("square", 0) * beta + squares * (1 - beta)
        update = g / np.sqrt(state["square"])
    return update / max(1.0, np.sqrt((update**2).mean()) / clip)


def adafactor(state, w, g, rate, step, decay, beta=0.9):
    """Shazeer and Stern, 2018, as the fused op computes it: the average is of updates times the rate."""
    update = _shaped(state, g, step, 1e-30) * rate
    state["mean"] = update = state.get("mean", 0) * beta + update * (1 - beta)
    return w - w * decay * rate - update


def luo(state, w, g, rate, step, decay, beta=0.9, beta3=0.99):
    """Luo and others, 2023: averages are scaled by how much updates differ from them."""
    update = _shaped(state, g, step, 1e-30)
    state["mean"] = mean = state.get("mean", 0) * beta + update * (1 - beta)
    if g.ndim > 1:
        instability = (update - mean) ** 2 + 1e-16
        mean = mean * _factored(state, ("row of instability", "column of instability"), instability, beta3)
    return w - w * decay * rate - mean * rate
