"""Optimizers over gradients of every size: the cases of test_optimizers.py and of tests/soak/mindspore."""

import numpy as np

SIZES = (1e-7, 1e-5, 1e-3, 1e-1, 10.0, 1e3)
EPSILONS = (1e-3, 1e-5, 1e-7, 1e-8, 1e-10)
AT = (3, 10)  # steps after which parameters are compared
TOLERANCE = 1e-5  # of a parameter, as a share of its largest element

# Names, and functions of nn, parameters and epsilon, or without an epsilon.
WITH_EPSILON = {
    "Adam": lambda nn, p, eps: nn.Adam(p, 0.01, eps=eps),
    "Adam-decay": lambda nn, p, eps: nn.Adam(p, 0.01, beta1=0.8, beta2=0.95, eps=eps, weight_decay=0.1),
    "AdamWeightDecay": lambda nn, p, eps: nn.AdamWeightDecay(p, 0.01, eps=eps, weight_decay=0.1),
    "AdaMax": lambda nn, p, eps: nn.AdaMax(p, 0.01, eps=eps),
    "RMSProp": lambda nn, p, eps: nn.RMSProp(p, 0.01, epsilon=eps),
    "RMSProp-momentum": lambda nn, p, eps: nn.RMSProp(p, 0.01, momentum=0.9, epsilon=eps),
    "RMSProp-centered": lambda nn, p, eps: nn.RMSProp(p, 0.01, epsilon=eps, centered=True),
    "Adadelta": lambda nn, p, eps: nn.Adadelta(p, 0.5, epsilon=eps),
    "LazyAdam": lambda nn, p, eps: nn.LazyAdam(p, 0.01, eps=eps),
    "LazyAdam-nesterov": lambda nn, p, eps: nn.LazyAdam(p, 0.01, 0.8, 0.95, eps, use_nesterov=True),
}
WITHOUT_EPSILON = {
    "SGD": lambda nn, p: nn.SGD(p, 0.01),
    "SGD-momentum": lambda nn, p: nn.SGD(p, 0.01, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "SGD-nesterov": lambda nn, p: nn.SGD(p, 0.01, momentum=0.9, nesterov=True),
    "Momentum": lambda nn, p: nn.Momentum(p, 0.01, 0.9, weight_decay=0.1),
    "Adagrad": lambda nn, p: nn.Adagrad(p, learning_rate=0.01),
    "Adagrad-accum": lambda nn, p: nn.Adagrad(p, accum=1e-3, learning_rate=0.01, weight_decay=0.1),
    "ASGD": lambda nn, p: nn.ASGD(p, 0.01),
    "ASGD-mean": lambda nn, p: nn.ASGD(p, [0.01 + 0.002 * i for i in range(10)], 0.01, 0.5, 4.0, 0.1),
    "Rprop": lambda nn, p: nn.Rprop(p, 0.01, weight_decay=0.1),
    "Rprop-sizes": lambda nn, p: nn.Rprop(p, 0.01, (0.3, 1.5), (1e-3, 0.02)),
    "FTRL": lambda nn, p: nn.FTRL(p, learning_rate=0.01),
    "FTRL-l2": lambda nn, p: nn.FTRL(p, 0.2, 0.01, -0.4, 0.0, 0.3, weight_decay=0.1),
    "ProximalAdagrad": lambda nn, p: nn.ProximalAdagrad(p, learning_rate=0.01),
    "ProximalAdagrad-l1": lambda nn, p: nn.ProximalAdagrad(p, 0.2, 0.01, 1e-3, 0.1, weight_decay=0.1),
    "AdaFactor": lambda nn, p: nn.AdaFactor(p),
    "AdaFactor-warmup": lambda nn, p: nn.AdaFactor(p, warmup_init=True, beta1=0.0, weight_decay=0.1),
    "AdaFactor-rate": lambda nn, p: nn.AdaFactor(
        p, 0.01, (1e-20, 0.01), 0.5, 0.7, 0.8, scale_parameter=False, relative_step=False
    ),
}


def cases():
    """The names of all cases: an optimizer, the size of gradients, an epsilon."""
    names = [f"{kind} {size:g} {eps:g}" for kind in WITH_EPSILON for size in SIZES for eps in EPSILONS]
    return names + [f"{kind} {size:g} 0" for kind in WITHOUT_EPSILON for size in SIZES]


def trained(system, name):
    """The parameter after each of AT steps; it begins near 0, so that updates are not lost in it."""
    kind, size, eps = name.split()
    begin = np.array([0.0, 1e-4, -2e-4], "f4")
    parameter = system.Parameter(system.Tensor(begin), name="w")
    if kind in WITH_EPSILON:
        optimizer = WITH_EPSILON[kind](system.nn, [parameter], float(eps))
    else:
        optimizer = WITHOUT_EPSILON[kind](system.nn, [parameter])
    found = []
    for step in range(max(AT)):
        gradient = np.array([1.0, -0.7, 0.3], "f4") * np.float32(float(size) * (1 + 0.3 * np.sin(step)))
        optimizer((system.Tensor(gradient.astype("f4")),))
        if step + 1 in AT:
            found.append(parameter.asnumpy().copy())
    return found
