"""Connectionist temporal classification: A. Graves et al., Connectionist temporal classification: labelling unsegmented
sequence data with recurrent neural networks, 2006. NumPy computes the paths, a step of time after the other."""

from __future__ import annotations

import functools

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.elementwise import cast, div, larger, mul
from partita.ops.hosted import Hosted
from partita.ops.losses import _with_digits, reduced, reduction_of
from partita.ops.picked import require_known
from partita.ops.shapes import reshape
from partita.ops.support import as_tensor

__all__ = ("ctc_greedy_decoder", "ctc_loss")


def _sum_of_logs(*logs):
    """log of the sum of exp, where all may be minus infinity."""
    top = functools.reduce(np.maximum, logs)
    base = np.where(np.isneginf(top), 0, top)
    with np.errstate(divide="ignore"):
        return base + np.log(sum(np.exp(one - base) for one in logs))


def _moved(logs, count, allowed=True):
    """The elements `count` places before each along the last dimension, below zero after it, where that is allowed."""
    found = np.full_like(logs, -np.inf)
    if count > 0:
        found[..., count:] = logs[..., :-count]
    else:
        found[..., :count] = logs[..., -count:]
    return np.where(allowed, found, -np.inf)


class _Paths:
    """The labels of targets[n, s] with blanks between and around them, and which of them follow each other."""

    def __init__(self, where, log_probs, targets, input_lengths, target_lengths, blank, merges):
        steps, n, classes = log_probs.shape
        for what, lengths, most in (("input_lengths", input_lengths, steps), ("target_lengths", target_lengths, None)):
            most = targets.shape[1] if most is None else most
            if lengths.shape != (n,) or lengths.min(initial=0) < 0 or lengths.max(initial=0) > most:
                raise ValueError(f"[{where}] bad {what}, got {lengths.tolist()}, expected {n} from 0 to {most}")
        if targets.size and (targets.min() < 0 or targets.max() >= classes):
            raise ValueError(f"[{where}] a target is no class, got {targets.max()}, expected 0 to {classes - 1}")
        self.labels = np.full((n, 2 * targets.shape[1] + 1), blank)
        self.labels[:, 1::2] = targets
        self.ends, self.steps = 2 * target_lengths.astype(int), input_lengths.astype(int)
        places = np.arange(self.labels.shape[1])
        self.inner = places <= self.ends[:, None]
        before = np.concatenate([np.full((n, 2), -1), self.labels[:, :-2]], 1)[:, : len(places)]
        self.skips = (places % 2 == 1) & (places > 2) & ((self.labels != before) | (not merges))
        self.stays = (places % 2 == 0) | bool(merges)
        wide = np.broadcast_to(self.labels, (steps, *self.labels.shape))
        self.logs = np.where(self.inner, np.take_along_axis(log_probs, wide, 2), -np.inf)

    def forward(self):
        """alpha[t, n, places]: the logs of the probabilities of the beginnings of paths."""
        alpha = np.full(self.logs.shape, -np.inf)
        if len(alpha):
            alpha[0, :, :2] = np.where(self.steps[:, None] > 0, self.logs[0, :, :2], -np.inf)
        for t in range(1, len(alpha)):
            last = alpha[t - 1]
            ways = np.where(self.stays, last, -np.inf), _moved(last, 1), _moved(last, 2, self.skips)
            alpha[t] = np.where((self.steps > t)[:, None], self.logs[t] + _sum_of_logs(*ways), -np.inf)
        return alpha

    def backward(self):
        """beta[t, n, places]: the logs of the probabilities of the ends of paths, with that of their first step."""
        beta, places = np.full(self.logs.shape, -np.inf), np.arange(self.logs.shape[2])
        is_last = (places == self.ends[:, None]) | (places == self.ends[:, None] - 1)
        skips = np.concatenate([self.skips[:, 2:], np.zeros((len(self.skips), 2), bool)], 1)[:, : len(places)]
        for t in reversed(range(len(beta))):
            if t + 1 < len(beta):
                later = beta[t + 1]
                ways = np.where(self.stays, later, -np.inf), _moved(later, -1), _moved(later, -2, skips)
                beta[t] = self.logs[t] + _sum_of_logs(*ways)
            beta[t] = np.where((self.steps == t + 1)[:, None], np.where(is_last, self.logs[t], -np.inf), beta[t])
        return beta

    def losses(self, alpha):
        """-log of the probability of each target."""
        rows = np.arange(len(self.ends))
        last = alpha[np.maximum(self.steps - 1, 0), rows]
        final = last[rows, self.ends]
        return -_sum_of_logs(final, np.where(self.ends > 0, last[rows, self.ends - 1], -np.inf))


def _computed(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, merges, where):
    """(losses[n], alpha[n, t, places], gradients[t, n, classes] by what log_probs are the log_softmax of)."""
    wide = log_probs.astype(np.float64)
    paths = _Paths(where, wide, targets, input_lengths, target_lengths, blank, merges)
    alpha = paths.forward()
    losses = paths.losses(alpha)
    with np.errstate(invalid="ignore"):
        shares = np.exp(alpha + paths.backward() - np.where(np.isneginf(paths.logs), 0, paths.logs) + losses[:, None])
    gradients = np.where((np.arange(len(wide))[:, None] < paths.steps)[..., None], np.exp(wide), 0)
    rows = np.arange(wide.shape[1])
    for place in range(shares.shape[2]):
        gradients[:, rows, paths.labels[:, place]] -= np.where(paths.inner[:, place], shares[:, :, place], 0)
    if zero_infinity:
        none = np.isinf(losses)
        losses, gradients = np.where(none, 0, losses), np.where(none[:, None], 0, gradients)
    kind = log_probs.dtype
    return losses.astype(kind), alpha.transpose(1, 0, 2).astype(kind), gradients.astype(kind)


@functools.cache
def _op(blank, zero_infinity, merges, where):
    """The op of targets: its gradient is that of the losses."""

    def call(log_probs, targets, input_lengths, target_lengths):
        options = blank, zero_infinity, merges, where
        return _computed(log_probs, targets, input_lengths, target_lengths, *options)

    def shapes(log_probs, targets, *_):
        return [[log_probs[1]], [log_probs[1], log_probs[0], 2 * targets[1] + 1], list(log_probs)]

    def gradient(log_probs, targets, input_lengths, target_lengths, out, dout):
        return mul(out[2], reshape(dout[0], [1, -1, 1])), None, None, None

    options = blank, zero_infinity, merges
    return Hosted(where, call, shapes, lambda log_probs, *_: [log_probs] * 3, gradient, options=options)


def ctc_parts(where, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity=False, merges=True):
    """(losses[n], logs of the probabilities of the beginnings of paths, gradients of the losses)."""
    x = as_tensor(log_probs, where)
    own = x
    if x.ndim != 3 or not mstype.is_float(x.dtype):
        raise ValueError(f"[{where}] wrong probabilities, got {x.dtype} {x.shape}, expected floats of [t, n, classes]")
    ids, ends, lengths = (
        one if isinstance(one, Tensor) else Tensor(np.asarray(one, np.int32))
        for one in (targets, input_lengths, target_lengths)
    )
    if ids.ndim != 2 or ids.shape[0] != x.shape[1]:
        raise ValueError(f"[{where}] wrong targets, got shape {ids.shape}, expected [{x.shape[1]}, labels]")
    if not 0 <= blank < x.shape[2]:
        raise ValueError(f"[{where}] the blank is no class, got {blank}, expected 0 to {x.shape[2] - 1}")
    if x.dtype in (mstype.float16, mstype.bfloat16):
        own = cast(x, mstype.float32)
    found = _op(int(blank), bool(zero_infinity), bool(merges), where)(own, ids, ends, lengths)
    return tuple(cast(one, x.dtype) for one in found), cast(lengths, mstype.int32)


@_with_digits
def ctc_loss(
    log_probs: Tensor | float,
    targets: Tensor | float,
    input_lengths: Tensor | float,
    target_lengths: Tensor | float,
    blank: int = 0,
    reduction: str | None = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """(losses, logs of probabilities): -log of the probability of each of targets[n, s] after log_probs[t, n, classes],
    and those of the beginnings of paths, [n, t, 2 s + 1]. Lengths [n] are steps and labels. The mean is over the
    samples, each over the length of its target. With `zero_infinity` targets that no path has count 0. As documented,
    the gradient is that by what log_probs are the `log_softmax` of. Raises ValueError for other shapes, a `blank` that
    is no class, or another reduction."""
    reduction = reduction_of("ctc_loss", reduction)
    given = targets, input_lengths, target_lengths, blank, zero_infinity
    (losses, logs, _), lengths = ctc_parts("ctc_loss", log_probs, *given)
    if reduction == "mean":
        losses = div(losses, cast(larger(lengths, 1), losses.dtype))
    return reduced(losses, reduction), logs


def ctc_greedy_decoder(
    inputs: Tensor | float, sequence_length: Tensor | float, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The likeliest class of each step of inputs[t, n, classes], without the last one, which is the blank, and without
    those equal to the one before. Returns (places [sample, number], classes, (samples, maximum length), -sums of the
    largest inputs), the first three as int64."""
    x, lengths = as_tensor(inputs, "ctc_greedy_decoder"), as_tensor(sequence_length, "ctc_greedy_decoder")
    require_known("ctc_greedy_decoder", x, lengths)
    values, ends = x.asnumpy(), lengths.asnumpy()
    if values.ndim != 3 or ends.shape != values.shape[1:2] or ends.max(initial=0) > len(values):
        raise ValueError(
            f"[ctc_greedy_decoder] the shapes do not fit, got {values.shape} and lengths {ends.tolist()}, expected one "
            "for each sample, at most the number of steps"
        )
    steps = np.arange(len(values))[:, None] < ends
    best = values.argmax(2)
    before = np.concatenate([np.full((1, best.shape[1]), -1), best[:-1]])
    kept = (steps & (best != values.shape[2] - 1) & ((best != before) | (not merge_repeated))).T
    counts = kept.sum(1)
    numbers = np.concatenate([np.arange(one) for one in counts]) if len(counts) else np.zeros(0)
    places = np.stack([np.repeat(np.arange(len(counts)), counts), numbers], 1).astype(np.int64)
    sums = -np.where(steps, values.max(2), 0).sum(0)[:, None].astype(values.dtype)
    shape = np.array([len(counts), counts.max(initial=0)], np.int64)
    return Tensor(places), Tensor(best.T[kept].astype(np.int64)), Tensor(shape), Tensor(sums)


def _table(places, values, ends, collapse, ignore_longer, count):
    """(labels [n, s], their numbers, which samples count) of places [number, 2] and labels."""
    targets = [values[places[:, 0] == i] for i in range(count)]
    if collapse:
        targets = [one[np.r_[True, one[1:] != one[:-1]][: len(one)]] for one in targets]
    counts = np.array([len(one) <= end for one, end in zip(targets, ends)], bool)
    if not ignore_longer and not counts.all():
        longest = len(targets[counts.argmin()])
        raise ValueError(f"[CTCLoss] a target is longer than its steps, got {longest} labels, expected fewer")
    targets = [one if counted else one[:0] for one, counted in zip(targets, counts)]
    table = np.zeros((count, max(map(len, targets), default=0)), np.int32)
    for row, one in zip(table, targets):
        row[: len(one)] = one
    return table, np.array([len(one) for one in targets], np.int32), counts


@functools.cache
def _sparse_op(collapse, merges, ignore_longer):
    """The op of logits and places of labels."""

    def call(x, places, values, ends):
        table, lengths, counts = _table(places, values, ends, collapse, ignore_longer, x.shape[1])
        wide = x.astype(np.float64)
        top = wide.max(2, keepdims=True)
        logs = wide - top - np.log(np.exp(wide - top).sum(2, keepdims=True))
        losses, _, gradients = _computed(logs, table, ends, lengths, x.shape[2] - 1, False, merges, "CTCLoss")
        losses, gradients = np.where(counts, losses, 0), np.where(counts[:, None], gradients, 0)
        return losses.astype(x.dtype), gradients.astype(x.dtype)

    def gradient(x, places, values, ends, out, dout):
        return mul(out[1], reshape(dout[0], [1, -1, 1])), None, None, None

    def shapes(x, *_):
        return [[x[1]], list(x)]

    options = collapse, merges, ignore_longer
    return Hosted("CTCLoss", call, shapes, lambda x, *_: [x] * 2, gradient, options=options)


def sparse_ctc_loss(x, places, values, sequence_length, collapse, merges, ignore_longer):
    """(losses, their gradients by x[t, n, classes]) of logits whose blank is the last class. `places` have the number
    of the sample and that of the label for each of the values."""
    x = as_tensor(x, "CTCLoss")
    if x.ndim != 3 or not mstype.is_float(x.dtype):
        raise ValueError(f"[CTCLoss] wrong logits, got {x.dtype} {x.shape}, expected floats of [t, n, classes]")
    own = cast(x, mstype.float32) if x.dtype in (mstype.float16, mstype.bfloat16) else x
    found = _sparse_op(bool(collapse), bool(merges), bool(ignore_longer))(own, places, values, sequence_length)
    return tuple(cast(one, x.dtype) for one in found)
