"""Ops: functions of tensors, and the same as objects that carry sharding annotations."""
from partita._names import refuse_missing
from partita.ops import functional, operations, registry
from partita.ops.communication import AllGather, AllReduce, Broadcast, Receive, ReduceScatter, Send
from partita.ops.composite import GradOperation, grad, value_and_grad
from partita.ops.functional import (  # noqa: F401
    abs, add, all, any, arange, argmax, avg_pool2d, bias_add, broadcast_to, cast, cat, chunk, clamp, clip, clip_by_value,
    concat, conv2d, cross_entropy, cumsum, div, dropout, equal, erf, exp, expand_dims, fill, flatten, full, gather, gelu,
    greater, greater_equal, isfinite, l1_loss, layer_norm, leaky_relu, less, less_equal, log, log_softmax, logical_and,
    logical_not, logical_or, masked_fill, matmul, max, max_pool2d, maximum, mean, min, minimum, mse_loss, mul, neg,
    not_equal, one_hot, ones, ones_like, permute, pow, rank, reduce_max, reduce_mean, reduce_min, reduce_sum, relu,
    repeat_interleave, reshape, rms_norm, rsqrt, scalar_to_array, scalar_to_tensor, select, shape, sigmoid, silu, size,
    softmax, softplus, split, sqrt, square, squeeze, stack, std, sub, sum, swapaxes, tanh, top_k, topk, transpose,
    unsqueeze, var, where, zeros, zeros_like)
from partita.ops.primitive import Primitive
from partita.communication.comm_func import ReduceOp
from partita.ops.primitives import *  # noqa: F401,F403

__getattr__ = refuse_missing(globals())
