"""Boxes in images: how they overlap, what is in them, and their offsets from anchors."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from partita.common import dtype as mstype
from partita.common.tensor import Tensor
from partita.ops.creation import full, zeros_like
from partita.ops.derived import stop_gradient
from partita.ops.elementwise import (
    add,
    cast,
    clip_by_value,
    div,
    exp,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    mul,
    select,
    sub,
)
from partita.ops.hosted import Hosted
from partita.ops.picked import require_known
from partita.ops.reductions import reduce_mean
from partita.ops.shapes import broadcast_to, expand_dims, gather, reshape, sliced, stack, transpose
from partita.ops.support import as_tensor

__all__ = "bounding_box_decode bounding_box_encode check_valid crop_and_resize iou".split()


def _columns(where, boxes, count=4):
    boxes = as_tensor(boxes, where)
    if boxes.ndim != 2 or boxes.shape[1] != count:
        raise ValueError(f"[{where}] no boxes, got shape {boxes.shape}, expected [boxes, {count}]")
    return [reshape(sliced(boxes, [(0, boxes.shape[0]), (i, i + 1)]), [-1]) for i in range(count)]


def iou(anchor_boxes: Tensor | float, gt_boxes: Tensor | float, mode: str = "iou") -> Tensor:
    """[m, n]: the area that each of m true boxes (x0, y0, x1, y1) shares with each of n anchors, over that of both, or
    "iof" over that of the true box. Boxes include the pixels of their ends. Raises ValueError for other shapes, or
    another mode."""
    if mode not in ("iou", "iof"):
        raise ValueError(f"[iou] unknown mode, got {mode!r}, expected iou or iof")
    ax0, ay0, ax1, ay1 = _columns("iou", anchor_boxes)
    bx0, by0, bx1, by1 = (expand_dims(one, 1) for one in _columns("iou", gt_boxes))
    width = maximum(add(sub(minimum(ax1, bx1), maximum(ax0, bx0)), 1), 0)
    height = maximum(add(sub(minimum(ay1, by1), maximum(ay0, by0)), 1), 0)
    shared = mul(width, height)
    first = mul(add(sub(ax1, ax0), 1), add(sub(ay1, ay0), 1))
    second = mul(add(sub(bx1, bx0), 1), add(sub(by1, by0), 1))
    return div(shared, second if mode == "iof" else sub(add(first, second), shared))


def check_valid(bboxes: Tensor | float, img_metas: Tensor | float) -> Tensor:
    """Whether boxes (x0, y0, x1, y1) are within an image of (height, width, factor): both sizes times the factor."""
    x0, y0, x1, y1 = _columns("check_valid", bboxes)
    metas = as_tensor(img_metas, "check_valid")
    height, width = (sub(mul(metas[i], metas[2]), 1) for i in (0, 1))
    low = logical_and(greater_equal(x0, 0), greater_equal(y0, 0))
    return logical_and(low, logical_and(less_equal(x1, width), less_equal(y1, height)))


def _centres(where, boxes):
    """(middle x, middle y, width, height) of boxes that include the pixels of their ends."""
    x0, y0, x1, y1 = _columns(where, boxes)
    return mul(add(x0, x1), 0.5), mul(add(y0, y1), 0.5), add(sub(x1, x0), 1.0), add(sub(y1, y0), 1.0)


def bounding_box_encode(
    anchor_box: Tensor | float,
    groundtruth_box: Tensor | float,
    means: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    stds: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """The offsets of true boxes from anchors: of the middles in sizes of the anchor, and logarithms of the relations of
    the sizes; less their means, over their standard deviations."""
    px, py, pw, ph = _centres("bounding_box_encode", anchor_box)
    gx, gy, gw, gh = _centres("bounding_box_encode", groundtruth_box)
    parts = div(sub(gx, px), pw), div(sub(gy, py), ph), log(div(gw, pw)), log(div(gh, ph))
    return stack([div(sub(one, float(m)), float(s)) for one, m, s in zip(parts, means, stds)], 1)


def bounding_box_decode(
    anchor_box: Tensor | float,
    deltas: Tensor | float,
    max_shape: Sequence[int],
    means: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    stds: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """The boxes that have offsets from anchors, within an image of (height, width). Sizes change by at most the factor
    1 / wh_ratio_clip."""
    px, py, pw, ph = _centres("bounding_box_decode", anchor_box)
    given = _columns("bounding_box_decode", deltas)
    dx, dy, dw, dh = (add(mul(one, float(s)), float(m)) for one, m, s in zip(given, means, stds))
    most = abs(math.log(wh_ratio_clip))
    width, height = (mul(size, exp(clip_by_value(one, -most, most))) for size, one in ((pw, dw), (ph, dh)))
    x, y = add(px, mul(pw, dx)), add(py, mul(ph, dy))
    ends = float(max_shape[1]), float(max_shape[0])
    made = []
    for side, shift in ((-0.5, 0.5), (0.5, -0.5)):
        for middle, size, end in ((x, width, ends[0]), (y, height, ends[1])):
            made.append(clip_by_value(add(add(middle, mul(size, side)), shift), 0.0, end))
    return stack(made, 1)


def _kept(boxes, threshold):
    """Boxes (x0, y0, x1, y1, score) with the highest scores first, their numbers in this order, and which of them stay:
    those that share at most a part of an area with each better one that stays."""
    order = np.argsort(-boxes[:, 4].astype(np.float64), kind="stable")
    rows = boxes[order]
    corners = rows[:, :4].astype(np.float64)
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    stays = np.ones(len(rows), bool)
    for i in range(len(rows)):
        if not stays[i]:
            continue
        low, high = np.maximum(corners[i, :2], corners[i + 1 :, :2]), np.minimum(corners[i, 2:], corners[i + 1 :, 2:])
        shared = np.maximum(high - low, 0).prod(1)
        both = area[i] + area[i + 1 :] - shared
        with np.errstate(all="ignore"):
            stays[i + 1 :] &= ~(shared / both > threshold)
    return rows, np.arange(len(rows), dtype=np.int32), stays


@functools.lru_cache(maxsize=256)
def _keeping(threshold):
    def results(shape):
        return shape, (shape[0],), (shape[0],)

    def types(dtype):
        return dtype, mstype.int32, mstype.bool_

    return Hosted("nms_with_mask", lambda boxes: _kept(boxes, threshold), results, types, options=(threshold,))


def nms_with_mask(bboxes, threshold):
    """(boxes with the highest scores first, their numbers in this order, whether they stay): see ops.NMSWithMask."""
    boxes = as_tensor(bboxes, "NMSWithMask")
    if boxes.ndim != 2 or boxes.shape[1] != 5:
        raise ValueError(f"[NMSWithMask] no boxes with scores, got shape {boxes.shape}, expected [boxes, 5]")
    return _keeping(float(threshold))(boxes)


def best_boxes(boxes, scores, most, iou_threshold, score_threshold):
    """The numbers, as int32, of at most `most` boxes [n, 4] given by two opposite corners, of scores above a threshold,
    the highest first, without those that share more than a part of an area with a better one. They are read."""
    boxes, scores = as_tensor(boxes, "NonMaxSuppressionV3"), as_tensor(scores, "NonMaxSuppressionV3")
    limits = [as_tensor(one, "NonMaxSuppressionV3") for one in (most, iou_threshold, score_threshold)]
    require_known("NonMaxSuppressionV3", boxes, scores, *limits)
    corners, points = boxes.asnumpy().astype(np.float64), scores.asnumpy().astype(np.float64)
    if corners.ndim != 2 or corners.shape[1] != 4 or points.shape != corners.shape[:1]:
        raise ValueError(f"[NonMaxSuppressionV3] no boxes, got {boxes.shape} and {scores.shape}, expected [n, 4], [n]")
    count, threshold, least = (one.asnumpy().reshape(-1)[0].item() for one in limits)
    ends = np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])
    order = np.argsort(-points, kind="stable")
    order = order[points[order] > least]
    rows = np.concatenate([ends[0], ends[1], points[:, None]], 1)[order]
    return Tensor(order[_kept(rows, threshold)[2]][: max(count, 0)].astype(np.int32))


def _pixels(rows, images, y, x, shape):
    """rows[images * height * width, c] at places of tensors [k, h, 1], [k, 1, w], of images [k, 1, 1]."""
    number = add(mul(add(mul(images, shape[0]), y), shape[1]), x)
    return gather(rows, number, 0)


def _along(first, last, count, size):
    """Places of `count` points in parts of a dimension from first[k] to last[k], which are between 0 and 1."""
    if count == 1:
        return reshape(mul(add(first, last), 0.5 * (size - 1)), [-1, 1])
    steps = Tensor(np.arange(count, dtype=np.float32))
    step = mul(sub(last, first), (size - 1) / (count - 1))
    return add(expand_dims(mul(first, float(size - 1)), 1), mul(expand_dims(step, 1), steps))


def crop_and_resize(
    image: Tensor | float,
    boxes: Tensor | float,
    box_indices: Tensor | float,
    crop_size: Sequence[int],
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """[k, h, w, c]: what is in boxes (y0, x0, y1, x1), whose ends are shares of the sizes, of images[n, .., .., c] of
    some numbers, resized. Points outside the image have another value. The gradient reaches images and boxes."""
    image, ids = cast(as_tensor(image, "crop_and_resize"), mstype.float32), as_tensor(box_indices, "crop_and_resize")
    if method not in ("bilinear", "nearest"):
        raise NotImplementedError(
            f"[crop_and_resize] this method is not supported, got {method!r}, expected bilinear or nearest"
        )
    if image.ndim != 4 or ids.ndim != 1:
        raise ValueError(f"[crop_and_resize] bad shapes, got {image.shape} and {ids.shape}, expected [n, h, w, c], [k]")
    y0, x0, y1, x1 = _columns("crop_and_resize", boxes)
    height, width, channels = image.shape[1:]
    rows = reshape(image, [-1, channels])
    ys = expand_dims(_along(y0, y1, int(crop_size[0]), height), 2)  # [k, h, 1]
    xs = expand_dims(_along(x0, x1, int(crop_size[1]), width), 1)
    inside = logical_and(_within(ys, height), _within(xs, width))
    images = reshape(cast(ids, mstype.int64), [-1, 1, 1])
    ys, xs = (clip_by_value(one, 0.0, float(n - 1)) for one, n in ((ys, height), (xs, width)))
    if method == "nearest":
        nearest = [cast(floor(add(one, 0.5)), mstype.int64) for one in (ys, xs)]
        made = _pixels(rows, images, *nearest, (height, width))
    else:
        made = _between(rows, images, ys, xs, (height, width))
    inside = broadcast_to(expand_dims(inside, 3), made.shape)
    return select(inside, made, full(made.shape, float(extrapolation_value), dtype=made.dtype))


def _within(places, size):
    return logical_and(greater_equal(places, 0.0), less_equal(places, float(size - 1)))


def _between(rows, images, ys, xs, shape):
    """The pixels at places between others: their means by distance."""
    whole = []
    for places, size in ((ys, shape[0]), (xs, shape[1])):
        low = cast(floor(places), mstype.int64)
        high = minimum(add(low, 1), size - 1)
        whole.append((low, high, expand_dims(sub(places, cast(low, places.dtype)), 3)))
    (top, bottom, down), (left, right, across) = whole

    def mixed(first, second, share):
        return add(mul(first, sub(1.0, share)), mul(second, share))

    above, below = (mixed(*(_pixels(rows, images, y, x, shape) for x in (left, right)), across) for y in (top, bottom))
    return mixed(above, below, down)


def roi_align(features, rois, pooled, scale, samples, end_mode):
    """[k, c, ph, pw] of features[n, c, h, w] in regions (image, x0, y0, x1, y1): means of samples x samples points of
    each part (He et al., Mask R-CNN, 2017). See ops.ROIAlign."""
    x = as_tensor(features, "ROIAlign")
    numbers, x0, y0, x1, y1 = _columns("ROIAlign", stop_gradient(rois), 5)
    if x.ndim != 4:
        raise ValueError(f"[ROIAlign] no images, got shape {x.shape}, expected [n, c, h, w]")
    channels, height, width = x.shape[1:]
    rows = reshape(transpose(x, [0, 2, 3, 1]), [-1, channels])
    images = reshape(cast(numbers, mstype.int64), [-1, 1, 1])
    places, inside = [], []
    for first, last, parts, size in ((y0, y1, pooled[0], height), (x0, x1, pooled[1], width)):
        begin, length = mul(first, scale), mul(sub(add(last, float(end_mode)), first), scale)
        length = maximum(length, 1.0) if end_mode == 0 else length
        shares = Tensor(((np.arange(parts * samples) + 0.5) / (parts * samples)).astype(x.dtype.numpy))
        at = add(expand_dims(begin, 1), mul(expand_dims(length, 1), shares))
        inside.append(logical_not(logical_or(less(at, -1.0), greater(at, float(size)))))
        places.append(clip_by_value(at, 0.0, float(size - 1)))
    ys, xs = expand_dims(places[0], 2), expand_dims(places[1], 1)
    found = _between(rows, images, ys, xs, (height, width))
    both = logical_and(expand_dims(inside[0], 2), expand_dims(inside[1], 1))
    found = select(broadcast_to(expand_dims(both, 3), found.shape), found, zeros_like(found))
    parts = reshape(found, [found.shape[0], pooled[0], samples, pooled[1], samples, channels])
    return transpose(reduce_mean(parts, (2, 4)), [0, 3, 1, 2])
