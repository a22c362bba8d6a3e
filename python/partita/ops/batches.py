"""Normalization by the statistics of a batch, or by moving ones."""

from __future__ import annotations

from partita import _trace
from partita.common.parameter import Parameter
from partita.common.tensor import Tensor
from partita.ops.elementwise import add, cast, mul, rsqrt, stop_gradient, sub
from partita.ops.shapes import reshape
from partita.ops.support import F, attributes, run

__all__ = "batch_norm normalized".split()


def _apply(trace, op, operands, **attrs):
    return F.apply(trace, op, operands, attributes(**attrs))


def _called(name, function, *inputs):
    return function(*inputs)


def normalized(x, gamma, beta, moving_mean, moving_variance, of_batch, epsilon, momentum, call=_called):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta per channel of x[n, c, ..]. `of_batch`: by the statistics of
    the batch, of which moving ones take the share 1 - momentum. `call` calls a function as a primitive of a layer."""
    build = _trace.current()
    options = moving_mean, moving_variance, epsilon, momentum
    if build is not None and build.builds_network:
        return _in_network(build, x, gamma, beta, of_batch and build.training, *options, call)
    return _at_once(x, gamma, beta, of_batch, *options)


def _in_network(build, x, gamma, beta, of_batch, moving_mean, moving_variance, epsilon, momentum, call):
    values = x.size // x.shape[1]

    def add(build, a, gamma, beta):
        trace = build.trace
        mean, variance = build.statistic(moving_mean), build.statistic(moving_variance)
        if not of_batch:
            return _apply(trace, "batch_norm_inference", [a, gamma, beta, mean, variance], epsilon=epsilon)[0]
        groups = trace.statistics_groups()
        y, batch_mean, rstd = _apply(trace, "batch_norm", [a, gamma, beta], epsilon=epsilon, groups=groups)
        running = _apply(
            trace,
            "running_statistics",
            [mean, variance, batch_mean, rstd],
            momentum=1.0 - momentum,
            epsilon=epsilon,
            count=values // groups,
        )
        build.update_statistic(moving_mean, running[0])
        build.update_statistic(moving_variance, running[1])
        return y

    statistics = _trace.Same(moving_mean), _trace.Same(moving_variance)
    key = "batch_norm", *statistics, epsilon, momentum, of_batch
    name = "bn_train" if of_batch else "bn_infer"
    made = call(name, lambda *inputs: build.do(key, add, *inputs), x, gamma, beta)
    if of_batch:
        build.moved(moving_mean, moving_variance)
    return made


def _at_once(x, gamma, beta, of_batch, moving_mean, moving_variance, epsilon, momentum):
    count = x.size // x.shape[1]

    def body(trace, a, gamma, beta, mean, variance):
        if not of_batch:
            return (_apply(trace, "batch_norm_inference", [a, gamma, beta, mean, variance], epsilon=epsilon)[0],)
        y, batch_mean, rstd = _apply(trace, "batch_norm", [a, gamma, beta], epsilon=epsilon, groups=1)
        return (
            y,
            *_apply(
                trace,
                "running_statistics",
                [mean, variance, batch_mean, rstd],
                momentum=1.0 - momentum,
                epsilon=epsilon,
                count=count,
            ),
        )

    results = run(body, x, gamma, beta, moving_mean, moving_variance)
    if of_batch and _trace.current() is None:
        moving_mean.set_data(results[1])
        moving_variance.set_data(results[2])
    return results[0]


def _of_constants(x, mean, variance, weight, bias, epsilon):
    """x, normalized by statistics that are tensors of a program, through which no gradient goes."""
    sizes = [1, -1, *[1] * (x.ndim - 2)]
    mean, variance = (stop_gradient(cast(one, weight.dtype)) for one in (mean, variance))
    scale = mul(rsqrt(add(variance, epsilon)), weight)
    centred = sub(cast(x, weight.dtype), reshape(mean, sizes))
    return cast(add(mul(centred, reshape(scale, sizes)), reshape(bias, sizes)), x.dtype)


def batch_norm(
    input_x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor,
    bias: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """x[n, c, ..], normalized per channel and scaled: by moving statistics, or with `training` by those of the batch,
    whose share `momentum` the moving ones take. These are parameters, then. The other operands are [c]. Raises
    ValueError for other shapes, TypeError for tensors as moving statistics in training, and for integers."""
    for one in (running_mean, running_var) if training else ():
        if not isinstance(one, Parameter):
            raise TypeError(f"[batch_norm] a moving statistic is no parameter, got {type(one).__name__}, expected one")
        one.statistic = True
    if input_x.ndim < 2 or weight.shape != input_x.shape[1:2]:
        raise ValueError(
            f"[batch_norm] the shapes do not fit, got {input_x.shape} and {weight.shape}, expected (n, c, ..) and (c,)"
        )
    if _trace.current() is not None and not training and not isinstance(running_mean, Parameter):
        return _of_constants(input_x, running_mean, running_var, weight, bias, float(eps))
    images = input_x if input_x.ndim in (2, 4) else reshape(input_x, [*input_x.shape[:2], -1, 1])
    options = running_mean, running_var, bool(training), float(eps), 1.0 - float(momentum)
    y = normalized(images, weight, bias, *options)
    return y if images is input_x else reshape(y, input_x.shape)
