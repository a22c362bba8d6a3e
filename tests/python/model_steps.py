"""A step of a training that a script writes, with an optimizer of its own: moving averages, clipped and added up
gradients. `model_steps.py VALUES` trains by Model and writes the parameters, or compares them when the file is there.
Ranks are processes, each with its rows."""

import os
import sys

import numpy as np

import partita as ms
from partita import Parameter, ParameterTuple, Tensor, nn, ops
from partita import dataset as ds
from partita.communication import get_group_size, get_rank, init

BETAS, EPSILON = (0.9, 0.999), 1e-8

_average = ops.MultitypeFuncGraph("average")
_adapt = ops.MultitypeFuncGraph("adapt")
_unscaled = ops.MultitypeFuncGraph("unscaled")


@_average.register("Tensor", "Tensor", "Tensor")
def _averaged(decay, mean, weight):
    return ops.assign(mean, mean * decay + weight * (1 - decay))


@_unscaled.register("Tensor", "Tensor")
def _over(scale, gradient):
    return gradient * ops.cast(ops.Reciprocal()(scale), gradient.dtype)


@_adapt.register(*["Tensor"] * 8, "Bool")
def _adapted(first, second, rate, decay, weight, m, v, gradient, decays):
    next_m = BETAS[0] * m + (1 - BETAS[0]) * gradient
    next_v = BETAS[1] * v + (1 - BETAS[1]) * ops.square(gradient)
    update = next_m / (1 - first) / (EPSILON + ops.sqrt(next_v / (1 - second)))
    update = decay * weight + update if decays else update
    made = ops.depend(weight - rate * update, ops.assign(m, next_m))
    ops.assign(v, next_v)
    return ops.assign(weight, made)


class OwnAdamW(nn.Optimizer):
    """Adam with decay of weights, as scripts write it for the documented base class."""

    def __init__(self, params, learning_rate, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        self.m = self.parameters.clone(prefix="m", init="zeros")
        self.v = self.parameters.clone(prefix="v", init="zeros")
        self.first = Parameter(Tensor(np.ones(1, "f4")), name="first")
        self.second = Parameter(Tensor(np.ones(1, "f4")), name="second")

    def get_lr(self):
        rate = self.learning_rate
        if self.dynamic_lr:
            if self.is_group_lr:
                rate = tuple(one(self.global_step).reshape(()) for one in self.learning_rate)
            else:
                rate = self.learning_rate(self.global_step).reshape(())
        if self._is_dynamic_lr_or_weight_decay():
            self.assignadd(self.global_step, self.global_step_increase_tensor)
        return rate

    @ms.jit
    def construct(self, gradients):
        rate, decay = self.get_lr(), self.get_weight_decay()
        first, second = self.first * BETAS[0], self.second * BETAS[1]
        self.first, self.second = first, second
        of_all = (self.parameters, self.m, self.v, gradients, self.decay_flags)
        if not self.is_group:
            return self.hyper_map(ops.partial(_adapt, first, second, rate, decay), *of_all)
        if not self.is_group_lr:
            return self.hyper_map(ops.partial(_adapt, first, second, rate), decay, *of_all)
        return self.hyper_map(ops.partial(_adapt, first, second), rate, decay, *of_all)


class Accumulated(ms.boost.GradientAccumulation):
    """Adds up gradients before the reducer sees them."""

    def __init__(self, steps, optimizer, reducer):
        super().__init__(steps, optimizer)
        self.reducer = reducer

    def construct(self, loss, gradients):
        add = ops.partial(ms.boost.grad_accumulation.gradient_accumulation_op, self._max_accumulation_step)
        loss = ops.depend(loss, self.hyper_map(add, self._grad_accumulation, gradients))
        self._accumulation_step += 1
        if self._accumulation_step >= self._max_accumulation_step:
            self.optimizer(self.reducer(self._grad_accumulation))
            clear = ops.partial(ms.boost.grad_accumulation.gradient_clear_op)
            loss = ops.depend(loss, self.hyper_map(clear, self._grad_accumulation))
            self._accumulation_step = 0
        else:
            loss = ops.depend(loss, self.optimizer.get_lr())
        return loss


class OwnStep(nn.TrainOneStepWithLossScaleCell):
    """A step with moving averages of all parameters, of gradients that are clipped and added up."""

    def __init__(self, network, optimizer, scale, averages=True, clip=0.0, steps=1):
        super().__init__(network, optimizer, scale)
        self.averages, self.clip, self.steps = averages, clip, steps
        self.updates = Parameter(Tensor(0.0, ms.float32))
        if averages:
            self.all_weights = ParameterTuple(list(network.get_parameters()))
            self.means = self.all_weights.clone("ema", init="same")
        if steps > 1:
            self.accumulation = Accumulated(steps, optimizer, self.grad_reducer)

    def average(self):
        self.updates += 1
        decay = 0.9 * (1 - ops.exp(-self.updates / 4))
        return self.hyper_map(ops.partial(_average, decay), self.means, self.all_weights)

    def construct(self, *inputs):
        loss = self.network(*inputs)
        scale = self.scale_sense
        status, scale = self.start_overflow_check(loss, scale)
        sens = ops.ones_like(loss) * ops.cast(scale, loss.dtype)
        gradients = self.grad(self.network, self.weights)(*inputs, sens)
        gradients = self.hyper_map(ops.partial(_unscaled, scale), gradients)
        if self.clip:
            gradients = ops.clip_by_global_norm(gradients, clip_norm=self.clip)
        if self.loss_scaling_manager:
            gradients = self.grad_reducer(gradients)
            if self.process_loss_scale(self.get_overflow_status(status, gradients)):
                return loss
            loss = ops.depend(loss, self.optimizer(gradients))
        elif self.steps > 1:
            loss = self.accumulation(loss, gradients)
        else:
            loss = ops.depend(loss, self.optimizer(self.grad_reducer(gradients)))
        return ops.depend(loss, self.average()) if self.averages else loss


def network():
    """Two layers with numbers of their own."""
    rows = np.random.default_rng(5)
    net = nn.SequentialCell(nn.Dense(4, 6), nn.Tanh(), nn.Dense(6, 3))
    for one in net.get_parameters():
        one.set_data(Tensor(rows.standard_normal(one.shape).astype("f4") * 0.5))
    return net


def rows(count=24):
    drawn = np.random.default_rng(6)
    x = drawn.standard_normal((count, 4)).astype("f4")
    return x, x[:, :3].argmax(1).astype("i4")


def trained(mode, sink, rates, decay, scale, epochs=2, batch=6, shards=(1, 0), **options):
    """(parameters of the step, losses that a callback heard of)."""
    ms.set_context(mode=mode)
    net = network()
    optimizer = OwnAdamW(net.trainable_params(), rates, decay)
    step = OwnStep(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer, scale, **options)
    options = dict(num_shards=shards[0], shard_id=shards[1]) if shards[0] > 1 else {}
    data = ds.NumpySlicesDataset(rows(), ["x", "y"], shuffle=False, **options).batch(batch, drop_remainder=True)
    losses = []

    class Heard(ms.train.Callback):
        def on_train_step_end(self, run_context):
            losses.append(float(run_context.original_args().net_outputs))

    ms.train.Model(step).train(epochs, data, callbacks=[Heard()], dataset_sink_mode=sink)
    return {one.name: one.asnumpy().copy() for one in step.get_parameters()}, losses, optimizer


def main():
    init()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    ranks, rank = get_group_size(), get_rank()
    found = {}
    for name, options in (("averages", {}), ("clipped", {"clip": 0.1}), ("added", {"steps": 2})):
        for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
            of_rank = 2, 12 // ranks, (ranks, rank)
            own, losses, _ = trained(mode, False, [0.05] * 8, 0.1, Tensor(64.0), *of_rank, **options)
            found.update({f"{name}{mode}/{key}": one for key, one in own.items()})
            found[f"{name}{mode}/losses"] = np.array(losses)
    if not os.path.exists(sys.argv[1]):
        np.savez(sys.argv[1], **found)
        return
    kept = np.load(sys.argv[1])
    for key, one in found.items():
        np.testing.assert_allclose(one, kept[key], rtol=2e-5, atol=2e-6, err_msg=key)
    print("steps of Model: ok", flush=True)


if __name__ == "__main__":
    main()
