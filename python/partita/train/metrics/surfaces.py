"""Distances between the surfaces of predicted and true regions."""

from __future__ import annotations

import numpy as np

from partita._names import refuse_missing
from partita.train.metrics.metric import Metric, rearrange_inputs

_LENGTHS = {
    "euclidean": lambda steps: np.sqrt((steps.astype(float) ** 2).sum(axis=-1)),
    "chessboard": lambda steps: np.abs(steps).max(axis=-1).astype(np.int32),
    "taxicab": lambda steps: np.abs(steps).sum(axis=-1).astype(np.int32),
}
_AT_ONCE = 1 << 22  # distances that are held at once


def _edges(region):
    """The elements of a region of which a neighbour along an axis is not in it, or is beyond the border."""
    inner = region.copy()
    for axis in range(region.ndim):
        padded = np.pad(region, [(1, 1) if i == axis else (0, 0) for i in range(region.ndim)])
        before, after = (np.take(padded, range(at, at + region.shape[axis]), axis) for at in (0, 2))
        inner &= before & after
    return inner ^ region


class _Surfaces(Metric):
    """The base: edges of the last batch, and the distances of the elements of one to the nearest of the other."""

    def __init__(self, distance_metric: str):
        super().__init__()
        if distance_metric not in _LENGTHS:
            raise ValueError(
                f"[{type(self).__name__}] unknown distance_metric, got {distance_metric!r}, expected one of "
                f"{list(_LENGTHS)}"
            )
        self.distance_metric = distance_metric
        self.clear()

    def clear(self) -> None:
        self._y_pred_edges, self._y_edges, self._is_update = 0, 0, False

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """Predictions and labels of one shape, and the number of the label that is measured."""
        if len(inputs) != 3 or not isinstance(inputs[2], (int, float)):
            raise ValueError(
                f"[{type(self).__name__}] bad inputs, got {len(inputs)}, expected prediction, label and the number of "
                "a label"
            )
        y_pred, y = (self._convert_data(one) for one in inputs[:2])
        label = inputs[2]
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise ValueError(
                f"[{type(self).__name__}] labels do not fit the predictions {list(y_pred.shape)}, got {list(y.shape)}, "
                "expected the same"
            )
        if label not in y_pred and label not in y:
            raise ValueError(f"[{type(self).__name__}] there is no such label, got {label}, expected one of the values")
        y_pred, y = (one if one.dtype == bool else one == label for one in (y_pred, y))
        self._y_pred_edges, self._y_edges = self._edges_of(y_pred, y)
        self._is_update = True

    def _edges_of(self, y_pred, y):
        return _edges(y_pred), _edges(y)

    def _distances(self, own, other):
        """The distance of each element of an edge to the nearest one of another edge."""
        begins, ends = np.argwhere(own), np.argwhere(other)
        if not len(begins):
            return np.zeros(0)
        if not len(ends):
            return np.full(len(begins), np.inf)
        length, step = _LENGTHS[self.distance_metric], max(1, _AT_ONCE // len(ends))
        parts = [begins[at : at + step, None] - ends[None] for at in range(0, len(begins), step)]
        return np.concatenate([length(one).min(axis=1) for one in parts])

    def _both(self):
        """The distances from the prediction to the label, and back."""
        self._require_rows(self._is_update)
        pairs = (self._y_pred_edges, self._y_edges), (self._y_edges, self._y_pred_edges)
        return (self._distances(*one) for one in pairs)


class HausdorffDistance(_Surfaces):
    """The largest distance of an element of one surface to the other surface, or a percentile of these distances."""

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ):
        super().__init__(distance_metric)
        if percentile is not None and not isinstance(percentile, float):
            raise TypeError(f"[HausdorffDistance] percentile is not a float, got {percentile!r}, expected one or None")
        self.percentile, self.directed, self.crop = percentile, directed, crop

    def _edges_of(self, y_pred, y):
        if self.crop:
            both = y_pred | y
            if not both.any():
                return np.zeros_like(y_pred), np.zeros_like(y)
            found = np.argwhere(both)
            box = tuple(slice(low, high + 1) for low, high in zip(found.min(axis=0), found.max(axis=0)))
            y_pred, y = (np.squeeze(one[box]) for one in (y_pred, y))
        return _edges(y_pred), _edges(y)

    def _farthest(self, distances):
        if not len(distances):
            return np.inf
        if not self.percentile:
            return distances.max()
        if not 0 <= self.percentile <= 100:
            raise ValueError(f"[HausdorffDistance] bad percentile, got {self.percentile}, expected 0 to 100")
        return np.percentile(distances, self.percentile)

    def eval(self) -> float:
        there, back = self._both()
        return self._farthest(there) if self.directed else max(self._farthest(there), self._farthest(back))


class _MeanOfSurfaces(_Surfaces):
    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean"):
        super().__init__(distance_metric)
        if not isinstance(symmetric, bool):
            raise TypeError(f"[{type(self).__name__}] symmetric is not a bool, got {symmetric!r}, expected one")
        self.symmetric = symmetric

    def eval(self) -> float:
        there, back = self._both()
        if not len(there):
            return np.inf
        first = self._mean(there)
        if not self.symmetric:
            return first
        return self._joined((first, self._mean(back))) if len(back) else np.inf


class MeanSurfaceDistance(_MeanOfSurfaces):
    """The mean distance of the elements of the predicted surface to the true one."""

    _mean = staticmethod(np.mean)
    _joined = staticmethod(np.mean)


class RootMeanSquareDistance(_MeanOfSurfaces):
    """The mean squared distance of the elements of the predicted surface to the true one; of both directions, the root
    of the mean."""

    @staticmethod
    def _mean(distances):
        return (distances**2).mean()

    @staticmethod
    def _joined(means):
        return np.sqrt(np.mean(means))


__getattr__ = refuse_missing(globals())
