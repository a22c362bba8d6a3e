"""Optimizers over ten steps of the same gradients' network."""

from both import Count, give_parameters, numbers

COUNT = Count("optimizers", 10)
X, Y = numbers(8, 6), numbers(8, 3, seed=2)


def trained(system, make):
    layers = system.nn.Dense(6, 5), system.nn.LayerNorm((5,)), system.nn.Tanh(), system.nn.Dense(5, 3)
    net = system.nn.SequentialCell(*layers)  # weight decay leaves gamma and beta of the norm alone
    give_parameters(system, net)
    optimizer = make(system.nn, net.trainable_params())
    loss_fn = system.nn.MSELoss()
    step = system.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    for _ in range(10):
        _, gradients = step(system.Tensor(X), system.Tensor(Y))
        optimizer(gradients)
    return [one.asnumpy() for one in net.get_parameters()]


def case(name, make):
    COUNT.add(name, lambda system: trained(system, make))


case("SGD", lambda nn, p: nn.SGD(p, 0.1))
case("SGD momentum", lambda nn, p: nn.SGD(p, 0.1, momentum=0.9))
case("SGD dampening", lambda nn, p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.2))
case("SGD nesterov", lambda nn, p: nn.SGD(p, 0.1, momentum=0.9, nesterov=True))
case("SGD decay", lambda nn, p: nn.SGD(p, 0.1, momentum=0.9, weight_decay=0.01))
case("SGD of a list of rates", lambda nn, p: nn.SGD(p, [0.1 / (i + 1) for i in range(10)]))
case("Momentum", lambda nn, p: nn.Momentum(p, 0.1, 0.9))
case("Momentum decay", lambda nn, p: nn.Momentum(p, 0.1, 0.9, weight_decay=0.01))
case("Adam", lambda nn, p: nn.Adam(p, 0.01))
case("Adam decay", lambda nn, p: nn.Adam(p, 0.01, weight_decay=0.01))
case("AdamWeightDecay", lambda nn, p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.01))
case("Adagrad", lambda nn, p: nn.Adagrad(p, learning_rate=0.1))
case("Adadelta", lambda nn, p: nn.Adadelta(p, 1.0))
case("AdaMax", lambda nn, p: nn.AdaMax(p, 0.01))
case("RMSProp", lambda nn, p: nn.RMSProp(p, 0.01))
case("RMSProp centered", lambda nn, p: nn.RMSProp(p, 0.01, centered=True))


def groups(p, rate):
    """Weights decay, norms have a rate of their own, the rest is as the optimizer."""
    norms = [one for one in p if "gamma" in one.name or "beta" in one.name]
    weights = [one for one in p if "weight" in one.name]
    others = [one for one in p if "bias" in one.name]
    return [
        {"params": norms, "lr": rate},
        {"params": weights, "weight_decay": 0.05},
        {"params": others},
        {"order_params": p},
    ]


case("Momentum of groups", lambda nn, p: nn.Momentum(groups(p, 0.2), 0.1, 0.9, weight_decay=0.01))
case("SGD of groups", lambda nn, p: nn.SGD(groups(p, 0.2), 0.1))
case("Adam of groups", lambda nn, p: nn.Adam(groups(p, 0.02), 0.01, weight_decay=0.01))
case("AdamWeightDecay of groups", lambda nn, p: nn.AdamWeightDecay(groups(p, 0.02), 0.01, weight_decay=0.01))
COUNT.finish()
