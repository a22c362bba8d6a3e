"""Metrics of numbers: errors, losses, likenesses, and scores of texts."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from partita._names import refuse_missing
from partita.train.metrics.metric import Metric, rearrange_inputs


class _Error(Metric):
    """The sum of a function of differences over the number of rows."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Predictions and labels of as many elements."""
        y_pred, y = self._arrays(inputs)
        if y.size != y_pred.size:
            raise ValueError(
                f"[{type(self).__name__}] labels do not fit the predictions {list(y_pred.shape)}, got {list(y.shape)}, "
                "expected as many elements"
            )
        self._sum += self._of(y.reshape(y_pred.shape) - y_pred).sum()
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        self._require_rows(self._samples_num)
        return self._sum / self._samples_num


class MAE(_Error):
    """The mean over rows of the sum of absolute differences: `update(predictions, labels)` takes as many elements of
    both. Raises ValueError for other numbers, RuntimeError for `eval` before a row."""

    @staticmethod
    def _of(difference):
        return np.abs(difference)


class MSE(_Error):
    """The mean over rows of the sum of squared differences: `update(predictions, labels)` takes as many elements of
    both. Raises ValueError for other numbers, RuntimeError for `eval` before a row."""

    @staticmethod
    def _of(difference):
        return np.power(difference, 2)


class Loss(Metric):
    """The mean of the losses of batches: `update(loss)` takes a scalar, or one number for each row."""

    measured = "loss"

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum_loss = self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """The loss of a batch: a scalar, or one number for each row."""
        loss = self._arrays(inputs, 1)[0]
        if loss.ndim > 1:
            raise ValueError(f"[Loss] too many dimensions, got {loss.ndim}, expected a scalar or one for each row")
        self._sum_loss += loss.reshape(-1).mean(-1)
        self._total_num += 1

    def eval(self) -> float:
        self._require_rows(self._total_num)
        return self._sum_loss / self._total_num


class Dice(Metric):
    """Twice the product of prediction and label over the sum of their squares, summed over batches, over the rows."""

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        if not isinstance(smooth, float) or smooth <= 0:
            raise ValueError(f"[Dice] bad smooth, got {smooth!r}, expected a float above 0")
        self.smooth = smooth
        self.clear()

    def clear(self) -> None:
        self._dice_coeff_sum = self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Predictions and labels of one shape."""
        y_pred, y = self._arrays(inputs)
        if y_pred.shape != y.shape:
            raise ValueError(
                f"[Dice] labels do not fit the predictions, got {list(y.shape)}, expected {list(y_pred.shape)}"
            )
        y_pred, y, rows = y_pred.ravel(), y.ravel(), y.shape[0]
        squares = np.dot(y_pred, y_pred) + np.dot(y, y)
        self._dice_coeff_sum += 2 * float(np.dot(y_pred, y)) / float(squares + self.smooth)
        self._samples_num += rows

    def eval(self) -> float:
        self._require_rows(self._samples_num)
        return self._dice_coeff_sum / float(self._samples_num)


class CosineSimilarity(Metric):
    """The products of all pairs of rows of the last batch, which are normalised for "cosine"."""

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True):
        super().__init__()
        for name, value, known in (
            ("similarity", similarity, ("dot", "cosine")),
            ("reduction", reduction, ("none", "sum", "mean")),
        ):
            if value not in known:
                raise ValueError(f"[CosineSimilarity] unknown {name}, got {value!r}, expected one of {list(known)}")
        self.similarity, self.reduction, self.zero_diagonal = similarity, reduction, zero_diagonal
        self.clear()

    def clear(self) -> None:
        self.sqr_mtx_res, self._is_update = 0, False

    @rearrange_inputs
    def update(self, inputs) -> None:
        """Rows [rows, numbers]."""
        rows = self._convert_data(inputs)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, ord=2, axis=1, keepdims=True)
        self.sqr_mtx_res, self._is_update = np.dot(rows, rows.T), True

    def eval(self) -> np.ndarray:
        self._require_rows(self._is_update)
        found = np.array(self.sqr_mtx_res)
        if self.zero_diagonal:
            np.fill_diagonal(found, 0)
        return found if self.reduction == "none" else getattr(np, self.reduction)(found, axis=-1)


class Perplexity(Metric):
    """exp of the mean negative log of the probabilities of the labels. `update(probabilities, labels)` takes
    [..,classes] and ids; rows of `ignore_label` do not count."""

    def __init__(self, ignore_label: int | None = None):
        super().__init__()
        if ignore_label is not None and (not isinstance(ignore_label, int) or isinstance(ignore_label, bool)):
            raise TypeError(f"[Perplexity] ignore_label is not an integer, got {ignore_label!r}, expected one or None")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._sum_metric, self._num_inst = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Probabilities [.., classes], and labels as ids."""
        probabilities, labels = self._arrays(inputs)
        probabilities, labels = probabilities.reshape(-1, probabilities.shape[-1]), labels.reshape(-1).astype(int)
        if len(probabilities) != len(labels):
            raise RuntimeError(
                f"[Perplexity] labels do not fit the predictions, got {len(labels)}, expected {len(probabilities)}"
            )
        if self.ignore_label is not None:
            counts = labels != self.ignore_label
            probabilities, labels = probabilities[counts], labels[counts]
        chosen = probabilities[np.arange(len(labels)), labels]
        self._sum_metric -= np.log(np.maximum(1e-10, chosen)).sum()
        self._num_inst += len(labels)

    def eval(self) -> float:
        self._require_rows(self._num_inst)
        return math.exp(self._sum_metric / self._num_inst)


def _pieces(words, longest):
    """How often each run of at most `longest` words is there."""
    counts = range(1, longest + 1)
    return Counter(tuple(words[i : i + n]) for n in counts for i in range(len(words) - n + 1))


class BleuScore(Metric):
    """BLEU (Papineni et al., 2002), 0 to 1: `update(candidates, references)` takes candidates, each a list of words,
    and for each of them a list of references. `n_gram`, 1 to 4, is the longest run of words that counts. Raises
    ValueError for another number of references than candidates."""

    def __init__(self, n_gram: int = 4, smooth: bool = False):
        super().__init__()
        if not isinstance(n_gram, int) or not 1 <= n_gram <= 4:
            raise ValueError(f"[BleuScore] bad n_gram, got {n_gram!r}, expected 1 to 4")
        self.n_gram, self.smooth = n_gram, smooth
        self.clear()

    def clear(self) -> None:
        self._found, self._all = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._length = self._reference_length = 0.0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Candidates, each a list of words, and for each of them a list of references."""
        if len(inputs) != 2 or len(inputs[0]) != len(inputs[1]):
            raise ValueError("[BleuScore] bad inputs, got others, expected candidates and as many lists of references")
        for candidate, references in zip(*inputs):
            self._length += len(candidate)
            lengths = [len(one) for one in references]
            self._reference_length += min(lengths, key=lambda length: abs(len(candidate) - length))
            made, most = _pieces(candidate, self.n_gram), Counter()
            for one in references:
                most |= _pieces(one, self.n_gram)
            for piece, count in made.items():
                self._all[len(piece) - 1] += count
                self._found[len(piece) - 1] += min(count, most[piece])
        self._is_update = True

    def eval(self) -> float:
        self._require_rows(self._is_update)
        if self._found.min() == 0:
            return np.array(0.0)
        more = 1.0 if self.smooth else 0.0
        mean = np.exp(np.log((self._found + more) / (self._all + more)).mean())
        is_long = self._length > self._reference_length
        return mean * (1.0 if is_long else np.exp(1 - self._reference_length / self._length))


__getattr__ = refuse_missing(globals())
