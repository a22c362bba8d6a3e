"""Names of sparse tensors, which do not exist here."""


class _Sparse:
    """Not there: see Tensor."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            f"[{type(self).__name__}] sparse tensors are not supported, got a call, expected a Tensor of all elements"
        )


class RowTensor(_Sparse):
    """Not there: see Tensor."""


RowTensorInner = RowTensor  # its name within the documented system


class COOTensor(_Sparse):
    """Not there: see Tensor."""


class CSRTensor(_Sparse):
    """Not there: see Tensor."""


class SparseTensor(_Sparse):
    """Not there: see Tensor."""
