"""Methods of tensors that make tensors like them, and that change them in place."""

from partita.common._types import DType, Ints, Number
from partita.common.tensor import Tensor
from partita.context import get_context
from partita.ops import functional as F
from partita.ops.assignment import assign_item


class Likenesses:
    """Methods that make tensors like this one, or say what it is like."""

    @property
    def device(self) -> str:
        """The kind of device that computes."""
        return get_context("device_target")

    def new_zeros(self, size: Ints, dtype: DType | str | type | None = None) -> Tensor:
        """Zeros of a shape, of this element type unless another one is given."""
        return F.full(size, 0, dtype=dtype or self.dtype)

    def new_ones(self, size: Ints, dtype: DType | str | type | None = None) -> Tensor:
        """Ones of a shape, of this element type unless another one is given."""
        return F.full(size, 1, dtype=dtype or self.dtype)

    def new_full(self, size: Ints, fill_value: Number, *, dtype: DType | str | type | None = None) -> Tensor:
        """One number in a shape, of this element type unless another one is given."""
        return F.full(size, fill_value, dtype=dtype or self.dtype)

    def fill(self, value: Number) -> Tensor:
        """One number in this shape and of this element type."""
        return F.full(self.shape, value, dtype=self.dtype)

    def type(self, dtype: DType | str | type | None = None) -> str | Tensor:
        """The name of the element type, or the elements in another one."""
        return str(self.dtype) if dtype is None else self.astype(dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """The elements in the element type of another tensor."""
        return self.astype(other.dtype)

    def view_as(self, other: Tensor) -> Tensor:
        """The elements in the shape of another tensor."""
        return self.reshape(other.shape)

    reshape_as = view_as

    def data_sync(self, to_host: bool = True) -> None:
        """Returns at once: values are where NumPy reads them."""

    def contiguous(self) -> Tensor:
        """The tensor itself: elements stand one after the other."""
        return self

    def is_contiguous(self) -> bool:
        """Whether elements stand one after the other: they always do."""
        return True

    def clone(self) -> Tensor:
        """A tensor of the same elements, through which gradients pass."""
        return self.copy()

    def numel(self) -> int:
        """Number of elements, which `size` is, too."""
        return self.size

    nelement = numel

    def ndimension(self) -> int:
        """Number of dimensions."""
        return self.ndim


class InPlace:
    """Methods that change a tensor and return it."""

    def copy_(self, src: Tensor | Number) -> Tensor:
        """Takes the elements of another tensor, or a number."""
        assign_item(self, Ellipsis, src)
        return self

    def add_(self, other: Tensor | Number) -> Tensor:
        """Adds a tensor or a number."""
        return self.copy_(F.add(self, other))

    def sub_(self, other: Tensor | Number) -> Tensor:
        """Subtracts a tensor or a number."""
        return self.copy_(F.sub(self, other))

    def mul_(self, other: Tensor | Number) -> Tensor:
        """Multiplies by a tensor or a number."""
        return self.copy_(F.mul(self, other))

    def div_(self, other: Tensor | Number) -> Tensor:
        """Divides by a tensor or a number."""
        return self.copy_(F.div(self, other))

    def masked_fill_(self, mask: Tensor, value: Number) -> Tensor:
        """Writes a number where a mask holds."""
        return self.copy_(F.masked_fill(self, mask, value))

    def fill_(self, value: Number) -> Tensor:
        """Writes one number everywhere."""
        return self.copy_(F.full(self.shape, value, dtype=self.dtype))

    def zero_(self) -> Tensor:
        """Writes 0 everywhere."""
        return self.fill_(0)
