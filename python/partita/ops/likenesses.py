"""Methods of tensors that make tensors like them, and that change them in place."""

from partita.context import get_context
from partita.ops import functional as F
from partita.ops.assignment import assign_item


class Likenesses:
    """Methods that make tensors like this one, or say what it is like."""

    @property
    def device(self):
        """The kind of device that computes."""
        return get_context("device_target")

    def new_zeros(self, size, dtype=None):
        """Zeros of a shape, of this element type unless another one is given."""
        return F.full(size, 0, dtype=dtype or self.dtype)

    def new_ones(self, size, dtype=None):
        """Ones of a shape, of this element type unless another one is given."""
        return F.full(size, 1, dtype=dtype or self.dtype)

    def new_full(self, size, fill_value, *, dtype=None):
        """One number in a shape, of this element type unless another one is given."""
        return F.full(size, fill_value, dtype=dtype or self.dtype)

    def fill(self, value):
        """One number in this shape and of this element type."""
        return F.full(self.shape, value, dtype=self.dtype)

    def type(self, dtype=None):
        """The name of the element type, or the elements in another one."""
        return str(self.dtype) if dtype is None else self.astype(dtype)

    def type_as(self, other):
        """The elements in the element type of another tensor."""
        return self.astype(other.dtype)

    def view_as(self, other):
        """The elements in the shape of another tensor."""
        return self.reshape(other.shape)

    reshape_as = view_as

    def contiguous(self):
        """The tensor itself: elements stand one after the other."""
        return self

    def is_contiguous(self):
        """Whether elements stand one after the other: they always do."""
        return True

    def clone(self):
        """A tensor of the same elements, through which gradients pass."""
        return self.copy()

    def numel(self):
        """Number of elements."""
        return self.size

    nelement = numel

    def ndimension(self):
        """Number of dimensions."""
        return self.ndim


class InPlace:
    """Methods that change a tensor and return it."""

    def copy_(self, src):
        """Takes the elements of another tensor, or a number."""
        assign_item(self, Ellipsis, src)
        return self

    def add_(self, other):
        """Adds a tensor or a number."""
        return self.copy_(F.add(self, other))

    def sub_(self, other):
        """Subtracts a tensor or a number."""
        return self.copy_(F.sub(self, other))

    def mul_(self, other):
        """Multiplies by a tensor or a number."""
        return self.copy_(F.mul(self, other))

    def div_(self, other):
        """Divides by a tensor or a number."""
        return self.copy_(F.div(self, other))

    def masked_fill_(self, mask, value):
        """Writes a number where a mask holds."""
        return self.copy_(F.masked_fill(self, mask, value))

    def fill_(self, value):
        """Writes one number everywhere."""
        return self.copy_(F.full(self.shape, value, dtype=self.dtype))

    def zero_(self):
        """Writes 0 everywhere."""
        return self.fill_(0)
