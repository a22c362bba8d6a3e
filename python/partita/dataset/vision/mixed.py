"""Batches whose images and labels are mixed with each other's."""

from __future__ import annotations

import numpy as np

from partita.dataset.vision.adjusted import stored
from partita.dataset.vision.base import Drawn, require_kind, require_number
from partita.dataset.vision.drawn import _probability
from partita.dataset.vision.enums import ImageBatchFormat


def _require_batch(where, images, labels):
    if images.ndim != 4 or labels.ndim not in (2, 3) or len(images) != len(labels):
        raise ValueError(
            f"[{where}] no batch of images and labels, got shapes {images.shape} and {labels.shape}, expected four "
            "axes, and (rows, classes) after OneHot and batch"
        )
    if labels.dtype.kind not in "iu":
        raise TypeError(f"[{where}] labels are not integers, got {labels.dtype}, expected those of OneHot")


def _mixed_labels(labels, share, order):
    """Each label times its share, and that of the other image times the rest, as float32."""
    share = np.reshape(share, (-1,) + (1,) * (labels.ndim - 1)).astype(np.float32)
    return share * labels.astype(np.float32) + (1 - share) * labels[order].astype(np.float32)


class MixUpBatch(Drawn):
    """For `map` after `batch`, of the columns images and labels: each image of a batch times a share, and another times
    the rest, and their labels likewise (Zhang et al. 2018). Labels are shares of classes, [rows,classes], such as
    OneHot makes, and become float32; images keep their element type. The share is one number of Beta(alpha, alpha) for
    the batch. Raises ValueError for labels of one dimension."""

    takes_columns = True

    def __init__(self, alpha: float = 1.0):
        self.alpha = float(require_number("MixUpBatch", "alpha", alpha, 1e-9))

    def drawn(self, images, labels, generator):
        _require_batch("MixUpBatch", images, labels)
        share, order = np.float32(generator.beta(self.alpha, self.alpha)), generator.permutation(len(images))
        made = images.astype(np.float32) * share + images[order].astype(np.float32) * (1 - share)
        return stored(made, images.dtype), _mixed_labels(labels, share, order)


class CutMixBatch(Drawn):
    """For `map` after `batch`, of the columns images and labels [rows,classes]: with the probability `prob`, a window
    of each image comes from another one, and labels, as float32, are mixed by the areas (Yun et al. 2019). The area is
    drawn by Beta(alpha, alpha). `image_batch_format` says where the channels are: NHWC or NCHW. Raises ValueError for
    labels of one dimension."""

    takes_columns = True

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0):
        self.format = require_kind("CutMixBatch", "image_batch_format", image_batch_format, ImageBatchFormat)
        self.alpha = float(require_number("CutMixBatch", "alpha", alpha, 1e-9))
        self.prob = _probability("CutMixBatch", prob)

    def _window(self, height, width, generator):
        """(top, left, height, width)."""
        cut = 1 - generator.beta(self.alpha, self.alpha)
        made = []
        for size in (height, width):
            half, middle = int(size * cut) // 2, int(generator.integers(size + 1))
            first, last = (min(max(one, 0), size - 1) for one in (middle - half, middle + half))
            made.append((first, min(max(last - first, 1), max(size - 1, 1))))
        return made[0][0], made[1][0], made[0][1], made[1][1]

    def drawn(self, images, labels, generator):
        _require_batch("CutMixBatch", images, labels)
        axis = 1 if self.format == ImageBatchFormat.NCHW else 3
        if images.shape[axis] not in (1, 3):
            raise ValueError(
                f"[CutMixBatch] another order of axes, got shape {images.shape}, expected 1 or 3 channels on axis "
                f"{axis}"
            )
        order, made, shares = generator.permutation(len(images)), images.copy(), np.ones(len(images))
        views = (np.moveaxis(one, 1, 3) if axis == 1 else one for one in (made, images))
        target, source = views
        height, width = source.shape[1:3]
        for i, other in enumerate(order):
            if generator.random() < self.prob:
                top, left, h, w = self._window(height, width, generator)
                target[i, top : top + h, left : left + w] = source[other, top : top + h, left : left + w]
                shares[i] = 1 - h * w / (height * width)
        return made, _mixed_labels(labels, shares, order)


class MixUp(Drawn):
    """Each image of a batch times a share of its own, and the next one times the rest, and their labels likewise.
    Without `is_single` the others are those of the batch before."""

    takes_columns = True

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True):
        self.alpha, self.is_single = float(require_number("MixUp", "alpha", alpha, 1e-9)), bool(is_single)
        self.batch_size, self._before = batch_size, None

    def drawn(self, images, labels, generator):
        if len(images) != self.batch_size or len(labels) != self.batch_size:
            raise ValueError(
                f"[MixUp] another number of rows, got {len(images)} and {len(labels)}, expected batch_size "
                f"{self.batch_size}"
            )
        share = generator.beta(self.alpha, self.alpha, self.batch_size)
        given = images, labels
        if self.is_single:
            others = [np.roll(one, -1, 0) for one in given]
        else:
            others, share = (given, np.ones_like(share)) if self._before is None else (self._before, share)
        made = []
        for one, other in zip(given, others):
            part = share.reshape((-1,) + (1,) * (one.ndim - 1))
            made.append(part * one + (1 - part) * other)
        self._before = None if self.is_single else made
        return tuple(made)
