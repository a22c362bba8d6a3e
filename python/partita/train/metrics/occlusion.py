"""How much the score of a class falls when parts of an image are hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partita._names import refuse_missing
from partita.common.tensor import Tensor
from partita.nn.cell import Cell
from partita.train.metrics.metric import Metric, rearrange_inputs


class OcclusionSensitivity(Metric):
    """The score of a class without, less that with `pad_val` around an element (`margin` on each side); for all
    elements of an image, or those of a box."""

    def __init__(
        self, pad_val: float = 0.0, margin: int | Sequence = 2, n_batch: int = 128, b_box: Sequence | None = None
    ):
        super().__init__()
        for name, value, kinds in (
            ("pad_val", pad_val, float),
            ("margin", margin, (int, list)),
            ("n_batch", n_batch, int),
            ("b_box", b_box, (list, type(None))),
        ):
            if not isinstance(value, kinds):
                raise TypeError(f"[OcclusionSensitivity] bad {name}, got {value!r}, expected another type")
        self.pad_val, self.margin, self.n_batch, self.b_box = pad_val, margin, n_batch, b_box
        self.clear()

    def clear(self) -> None:
        self._baseline, self._sensitivity_im, self._is_update = 0, 0, False

    def _box(self, sizes):
        """(first, last) element of each dimension that is measured."""
        if self.b_box is None:
            return np.zeros(len(sizes), int), sizes - 1
        if len(self.b_box) != 2 * len(sizes):
            raise ValueError(
                f"[OcclusionSensitivity] bad b_box, got {len(self.b_box)} numbers, expected {2 * len(sizes)}"
            )
        low, high = np.maximum(self.b_box[::2], 0), np.array(self.b_box[1::2])
        high = np.where(high < 0, sizes - 1, high)
        if (high >= sizes).any() or (low > high).any():
            raise ValueError(f"[OcclusionSensitivity] b_box is beyond the image, got {self.b_box}, expected {sizes}")
        return low, high

    @rearrange_inputs
    def update(self, *inputs) -> None:
        """A network, an image [1, ..] and the class as an integer or an array of one."""
        if len(inputs) != 3 or not isinstance(inputs[0], Cell):
            raise ValueError("[OcclusionSensitivity] bad inputs, got others, expected a network, an image and a class")
        network, image = inputs[0], self._convert_data(inputs[1])
        label = inputs[2] if isinstance(inputs[2], int) else int(self._convert_data(inputs[2]).reshape(()))
        if image.shape[0] != 1:
            raise RuntimeError(f"[OcclusionSensitivity] too many images, got {image.shape[0]}, expected 1")
        low, high = self._box(np.array(image.shape[1:]))
        self._baseline = network(Tensor(image)).asnumpy()[0, label].item()
        hidden, scores = [], []
        margins = self.margin if isinstance(self.margin, list) else [self.margin] * len(low)
        for at in np.ndindex(*(high - low + 1)):
            around = [slice(max(0, i - m), i + m) for i, m in zip(low + at, margins)]
            one = image.copy()
            one[(..., *around)] = self.pad_val
            hidden.append(one)
            if len(hidden) == self.n_batch:
                scores.append(network(Tensor(np.vstack(hidden))).asnumpy()[:, label])
                hidden = []
        if hidden:
            scores.append(network(Tensor(np.vstack(hidden))).asnumpy()[:, label])
        self._sensitivity_im, self._is_update = np.concatenate(scores).reshape(high - low + 1), True

    def eval(self) -> np.ndarray:
        self._require_rows(self._is_update)
        return self._baseline - np.squeeze(self._sensitivity_im)


__getattr__ = refuse_missing(globals())
