"""How cells are computed: modes, stages, recomputation."""

from collections.abc import Callable

from partita._precision import is_half, note_cell
from partita._warnings import warn
from partita.common import dtype as mstype
from partita.common._types import DType
from partita.common.tensor import Tensor
from partita.ops import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class CellSettings:
    """The settings of a cell that say how it is computed. `Cell` makes the attributes."""

    _keeps_digits = False  # whether it computes in float32 also within cells of 16 bits

    def apply(self, fn: Callable) -> "Self":
        """Calls a function with each cell within this one, the inner ones first, and returns this one."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    def set_train(self, mode: bool = True) -> "Self":
        """Whether dropout and statistics of the batch are on, here and in all cells within. Returns the cell."""
        for _, cell in self.cells_and_names():
            cell._count_change()
            cell.__dict__["training"] = bool(mode)
        return self

    def set_grad(self, requires_grad: bool = True) -> "Self":
        """Keeps gradients of the calls that follow, for those who ask for them, and returns the cell."""
        self.requires_grad = bool(requires_grad)
        return self

    def add_flags(self, **flags) -> "Self":
        """Keeps named values, which `get_flags` returns, and returns the cell."""
        self._flags.update(flags)
        return self

    def cast(self, x: Tensor, dtype: DType) -> Tensor:
        """A tensor in another element type: a name that cells of earlier versions of the documented system have."""
        return F.cast(x, dtype)

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict:
        """Draws the values of parameters that were not drawn yet, and gives them by their old selves."""
        found = {}
        for param in self.get_parameters():
            param.init_data()
            found[param] = param
        return found

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> "Self":
        """Sets `comm_fusion` of the trainable parameters. It has no effect: reductions are packed by size."""
        for param in self.trainable_params(recurse):
            param.comm_fusion = fusion_type
        return self

    def recompute(self, **kwargs) -> None:
        """Makes the backward pass recompute results within this cell instead of keeping them, which takes time and
        saves memory. Raises ValueError for unknown keys."""
        known = ("mp_comm_recompute", "parallel_optimizer_comm_recompute", "recompute_slice_activation")
        for name in kwargs:
            if name not in known:
                raise ValueError(f"[Cell.recompute] unknown key, got '{name}', expected one of {known}")
        self._count_change()
        self.__dict__["_recompute"] = True

    def _get_attr_from_cell(self, network):
        """Kept, without effect: how a network is compiled does not depend on the cells around it."""

    @property
    def pipeline_stage(self) -> int | None:
        return self._stage

    @pipeline_stage.setter
    def pipeline_stage(self, value):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"[Cell] the pipeline stage is not an integer, got {value!r}, expected one from 0")
        if value < 0:
            raise ValueError(f"[Cell] bad pipeline stage, got {value}, expected an integer from 0")
        self._count_change()
        object.__setattr__(self, "_stage", value)

    def to_float(self, dst_type: DType) -> "Self":
        """Makes products of this cell, and of cells within it that have no precision of their own, compute from
        operands of this type, and returns the cell. Parameters and results stay float32. Raises TypeError for other
        types than float16, bfloat16 and float32."""
        if dst_type not in (mstype.float16, mstype.bfloat16, mstype.float32):
            raise TypeError(
                f"[Cell.to_float] not a type of products, got {dst_type}, expected float16, bfloat16 or float32"
            )
        self._set_precision(dst_type.core)
        return self

    def _set_precision(self, precision):
        """Sets the precision of products as the option `training.precision` has it; None is that of what the cell is
        called in."""
        note_cell(precision)
        self._count_change()
        self.__dict__["_precision"] = precision

    def _float_type(self, dtype):
        """The element type that a layer is given. Raises TypeError unless it is one of floats."""
        dtype = mstype.to_dtype(dtype)
        if not mstype.is_float(dtype):
            raise TypeError(
                f"[{type(self).__name__}] dtype is not a type of floats, got {dtype}, "
                "expected float16, bfloat16, float32 or float64"
            )
        return dtype

    def _with_masters(self, dtype):
        """The type of the parameters of a layer that computes in `dtype`: float32 if that has 16 bits. Raises TypeError
        unless it is a type of floats."""
        dtype = self._float_type(dtype)
        if not is_half(dtype.core):
            return dtype
        self._set_precision(dtype.core)
        return mstype.float32

    def _precision_within(self, around):
        """The precision of products where the cell is called in a cell that computes in `around`."""
        return "f32" if self._keeps_digits else self._precision or around

    def offload(self, *_):
        """Raises NotImplementedError: recomputation saves memory in place of offloading."""
        raise NotImplementedError("[Cell.offload] memory cannot be offloaded, got a call, expected Cell.recompute")

    def place(self, role: str, rank_id: int) -> None:
        """Kept, without effect: which rank computes what is said by stages and annotations."""
        warn(f"[Cell.place] has no effect here, got rank {rank_id}: set_stage or pipeline_stage chooses ranks")

    def set_inputs(self, *inputs, **kwargs) -> None:
        """Kept, without effect: a network is built anew for each shape."""

    def compile(self, *args, **kwargs) -> None:
        """Kept, without effect: a network is compiled when it is first run."""
