"""Gradients of ops, as ops."""

from partita._names import refuse_missing
from partita.ops import functional as F
from partita.ops.composite import GradOperation
from partita.ops.primitive import Primitive


class StridedSliceGrad(Primitive):
    """(dy, shape, begin, end, strides) gives a tensor of the shape, of zeros but for dy in the part that
    `strided_slice` with these masks takes."""

    def __init__(self, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0):
        super().__init__()
        self.masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask

    def compute(self, dy, shapex, begin, end, strides):
        def part(x):
            return F.strided_slice(x, begin, end, strides, *self.masks)

        return GradOperation(sens_param=True)(part)(F.zeros(tuple(shapex), dy.dtype), dy)


__getattr__ = refuse_missing(globals())
