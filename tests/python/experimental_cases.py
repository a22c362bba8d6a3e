"""Optimizers and schedules of `experimental.optim` over steps: the cases of test_experimental.py and of
tests/soak/mindspore/make_experimental.py."""

import numpy as np

STEPS = 10

# Names, and functions of the module of optimizers and of groups of parameters.
OPTIMIZERS = {
    "SGD": lambda o, p: o.SGD(p, 0.05),
    "SGD-momentum": lambda o, p: o.SGD(p, 0.05, 0.9, 0.3, 0.1),
    "SGD-nesterov": lambda o, p: o.SGD(p, 0.05, 0.9, nesterov=True, maximize=True),
    "Adam": lambda o, p: o.Adam(p, 0.05),
    "Adam-decay": lambda o, p: o.Adam(p, 0.05, (0.8, 0.95), 1e-4, 0.1, maximize=True),
    "AdamW": lambda o, p: o.AdamW(p, 0.05),
    "AdamW-amsgrad": lambda o, p: o.AdamW(p, 0.05, (0.8, 0.95), 1e-4, 0.1, True, maximize=True),
    "Adagrad": lambda o, p: o.Adagrad(p, 0.05),
    "Adagrad-decay": lambda o, p: o.Adagrad(p, 0.05, 0.1, 0.1, 0.2, 1e-4, maximize=True),
    "Adadelta": lambda o, p: o.Adadelta(p, 0.5),
    "Adadelta-decay": lambda o, p: o.Adadelta(p, 0.5, 0.8, 1e-4, 0.1, maximize=True),
    "Adamax": lambda o, p: o.Adamax(p, 0.05),
    "Adamax-decay": lambda o, p: o.Adamax(p, 0.05, (0.8, 0.95), 1e-4, 0.1, maximize=True),
    "ASGD": lambda o, p: o.ASGD(p, 0.05),
    "ASGD-mean": lambda o, p: o.ASGD(p, 0.05, 0.01, 0.5, 4.0, 0.1, True),
    "NAdam": lambda o, p: o.NAdam(p, 0.05),
    "NAdam-decay": lambda o, p: o.NAdam(p, 0.05, (0.8, 0.95), 1e-4, 0.1, 0.01),
    "RAdam": lambda o, p: o.RAdam(p, 0.05),
    "RAdam-decay": lambda o, p: o.RAdam(p, 0.05, (0.8, 0.95), 1e-4, 0.1),
    "RMSprop": lambda o, p: o.RMSprop(p, 0.05),
    "RMSprop-momentum": lambda o, p: o.RMSprop(p, 0.05, 0.9, 1e-4, 0.1, 0.8),
    "RMSprop-centered": lambda o, p: o.RMSprop(p, 0.05, 0.9, 1e-4, 0.1, 0.8, True, True),
    "Rprop": lambda o, p: o.Rprop(p, 0.05),
    "Rprop-etas": lambda o, p: o.Rprop(p, 0.05, (0.3, 1.5), (0.01, 0.2), maximize=True),
}

# Names, and functions of the module of schedules and of an optimizer.
SCHEDULES = {
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5], 0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.5, 0.9, 4),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.8),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 6, 2.0),
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1.0 + epoch]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.9),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 4, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, 2, "triangular2"),
    "CyclicLR-range": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 4, mode="exp_range", gamma=0.9),
    "SequentialLR": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [4]),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, "min", 0.5, 1, cooldown=1),
    "ReduceLROnPlateau-max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.5, 0, 0.1, "abs", 0, [0.02, 0.0]),
}


def groups(system):
    """Two groups of parameters, of which the second has settings of its own."""
    begin = np.random.default_rng(3)
    parameters = [
        system.Parameter(system.Tensor(begin.standard_normal(shape).astype("f4")), name=f"w{i}")
        for i, shape in enumerate([(2, 3), (3,), (4,)])
    ]
    return parameters, [{"params": parameters[:2]}, {"params": parameters[2:], "lr": 0.02}]


def gradients(step):
    """The gradients of a step, the same ones in both systems."""
    drawn = np.random.default_rng(100 + step)
    shapes = [(2, 3), (3,), (4,)]
    return [(drawn.standard_normal(shape) * 10.0 ** drawn.integers(-3, 2)).astype("f4") for shape in shapes]


def trained(system, optim, name):
    """All elements of the parameters after the steps; before step 5 the rate of the first group is halved."""
    parameters, given = groups(system)
    optimizer = OPTIMIZERS[name](optim, given)
    for step in range(STEPS):
        if step == 5:
            rate = optimizer.param_groups[0]["lr"]
            system.ops.assign(rate, system.Tensor(np.float32(float(rate.asnumpy()) / 2)))
        optimizer(tuple(system.Tensor(one) for one in gradients(step)))
    return np.concatenate([one.asnumpy().reshape(-1) for one in parameters])


def scheduled(system, optim, name):
    """The rates of both groups after each of the steps."""
    _, given = groups(system)
    optimizer = optim.SGD(given, 0.1)
    schedule = SCHEDULES[name](optim.lr_scheduler, optimizer)
    measures = [3.0, 2.0, 2.0, 2.5, 1.0, 1.05, 1.2, 1.0, 1.1, 1.2]
    found = [[float(one.asnumpy()) for one in optimizer.lrs]]
    for measure in measures:
        schedule.step(*([system.Tensor(np.float32(measure))] if name.startswith("Reduce") else []))
        found.append([float(one.asnumpy()) for one in optimizer.lrs])
    return np.array(found).reshape(-1)
