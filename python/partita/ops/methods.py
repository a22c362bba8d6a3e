"""The operators of tensors, and their methods that compute: functions of this package, which installs them."""

import builtins
import numbers
import types
import weakref
from collections.abc import Sequence

from partita import _later
from partita._current import current
from partita.common import dtype as mstype
from partita.common._types import DType, Ints, Number
from partita.common.tensor import Tensor
from partita.ops import functional as F
from partita.ops.assignment import assign_item, is_basic
from partita.ops import later
from partita.ops.likenesses import InPlace, Likenesses
from partita.ops.program_tools import shown
from partita.ops.scattered import added_at

# Operators of two operands by the functions that they call; those of arithmetic also swap their operands.
_ARITHMETIC = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
    "matmul": "matmul",
    "floordiv": "floor_div",
    "mod": "floor_mod",
}
_LOGIC = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
_COMPARISONS = {  # operators, and methods of these names
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_OF_ONE = {"neg": "neg", "abs": "abs", "invert": "logical_not"}
# Methods by the functions that they call with the tensor as the first argument.
_NAMED_AS_FUNCTIONS = """
    abs add sub mul div exp log sqrt rsqrt square neg tanh sigmoid relu pow floor_div remainder matmul squeeze
    expand_dims unsqueeze broadcast_to equal not_equal less less_equal greater greater_equal logical_not logical_and
    logical_or split chunk clip clamp floor isfinite erf maximum minimum softmax log_softmax topk all any var std
    swapaxes tril triu reciprocal sign round trunc ceil prod cumprod logsumexp norm flip roll
    moveaxis argmin sort argsort diagonal tile gather_elements gather_nd index_select masked_select nonzero unbind
    amax amin tensor_split narrow lerp addcmul isclose logical_xor baddbmm addmm mm mv hardtanh elu inner dot
    addbmm addmv addr bmm bincount bitwise_and bitwise_or bitwise_xor count_nonzero isinf isnan is_floating_point
    multiply outer scatter searchsorted swapdims t true_divide unique
    sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh arcsin arccos arctan arctan2 arcsinh arccosh arctanh
    expm1 log1p erfc erfinv lgamma digamma
    absolute addcdiv allclose approximate_equal bitwise_left_shift bitwise_not bitwise_right_shift conj copysign
    deg2rad divide fills floor_divide fmax fmin fmod frac gcd hardshrink heaviside hypot inv invert i0
    igamma igammac imag mvlgamma is_complex isneginf isposinf isreal lcm ldexp log10 log2 logaddexp logaddexp2 logit
    multinomial nan_to_num negative nextafter positive rad2deg random_categorical real sgn signbit sinc soft_shrink
    subtract xdivy xlogy
    cholesky cholesky_inverse cholesky_solve cov cross det eigvals geqrf ger histc inverse log_matrix_determinant logdet
    lstsq lu_solve matrix_determinant matrix_power orgqr ormqr renorm slogdet svd
    aminmax argwhere cummax cummin diag diagflat diagonal_scatter diff dsplit fliplr flipud hsplit index_fill
    logcumsumexp msort nanmean nanmedian nanquantile nansum put_ quantile ravel reverse rot90 select_scatter
    slice_scatter top_k unfold unique_consecutive unique_with_pad unsorted_segment_max unsorted_segment_min
    unsorted_segment_prod vsplit
    """.split()
_CALLS = {**{name: name for name in _NAMED_AS_FUNCTIONS}, **_COMPARISONS}
_CALLS.update({"sum": "total", "mean": "average", "trace": "diagonal_sum"})
_CALLS.update({f"scatter_{kind}": f"tensor_scatter_{kind}" for kind in ("sub", "mul", "div", "max", "min")})


def _of_extreme(
    self,
    axis: Ints | None = None,
    keepdims: bool = False,
    *,
    initial: Number | None = None,
    where: Tensor | bool = True,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Shows the parameters of the largest and the smallest element."""


def _gathered(self, input_indices: Tensor, axis: int, batch_dims: int = 0) -> Tensor:
    """Shows the parameters of `gather`."""


def _added(self, indices: Tensor, y: Tensor, axis: int) -> Tensor:
    """Shows the parameters of `index_add`."""


def _sum(
    self,
    axis: Ints | None = None,
    dtype: DType | str | type | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    *,
    dim: Ints | None = None,
    keepdim: bool | None = None,
) -> Tensor:
    """The sum over dimensions, or of all elements; of integers and bools as int64. The second place is `dtype` after
    `axis`, and `keepdim` after `dim`. The result has the shape without the dimensions, or with `keepdims` with size 1
    there, and `initial` is added to it. Raises ValueError for a dimension that the tensor has not.

    >>> ms.Tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0).asnumpy().tolist()
    [4.0, 6.0]
    """


def _mean(
    self,
    axis: Ints | None = None,
    keep_dims: bool = False,
    *,
    dtype: DType | str | type | None = None,
    dim: Ints | None = None,
    keepdim: bool | None = None,
) -> Tensor:
    """The mean over dimensions, or of all elements; of integers an integer, rounded towards 0, and of bools float32.
    The result has the shape without the dimensions, or with `keep_dims` with size 1 there. Raises ValueError for a
    dimension that the tensor has not.

    >>> ms.Tensor([[1.0, 2.0], [3.0, 4.0]]).mean(1, True).shape
    (2, 1)
    """


_SHOWN = {"sum": _sum, "mean": _mean}  # methods whose functions have no name in ops, and what they say


class _Methods:
    """Methods whose parameters are not those of the function."""

    @property
    def T(self) -> Tensor:
        return F.transpose(self, tuple(reversed(range(self.ndim))))

    def _item(self, index):
        return F.tensor_index(self, index)

    def __getitem__(self, index):
        found = F.tensor_index(self, index)
        if found is self:
            return found
        found._view = self, index  # what is assigned to its items is assigned to those of this tensor
        if is_basic(index):
            views = getattr(self, "_views", None)
            if views is None:
                views = self._views = weakref.WeakSet()
            views.add(found)
        build = current()
        if build is not None and build.is_recorded:
            build.viewed.append(weakref.ref(found))
        return found

    def __setitem__(self, index, value):
        """Changes elements. What was indexed before by numbers and slices is a view: it changes, too. If this tensor is
        itself what an index of another gave, the other one changes."""
        assign_item(self, index, value)

    def astype(self, dtype: DType | str | type, copy: builtins.bool = True) -> Tensor:
        """The elements in another element type, in this shape. Raises TypeError for what is no element type."""
        return F.cast(self, dtype)

    def to(self, dtype: DType | str | type) -> Tensor:
        """The elements in another element type. The name of a kind of device ("CPU", "GPU", "Ascend") leaves them where
        they are. Raises TypeError for what is neither."""
        return self if isinstance(dtype, str) and dtype in ("CPU", "GPU", "Ascend") else self.astype(dtype)

    def float(self) -> Tensor:
        """The elements as float32, in this shape."""
        return self.astype(mstype.float32)

    def int(self) -> Tensor:
        """The elements as int32, in this shape; fractions are cut off."""
        return self.astype(mstype.int32)

    def bool(self) -> Tensor:
        """The elements as bools: whether each is other than 0."""
        return self.astype(mstype.bool_)

    def half(self) -> Tensor:
        """The elements as float16."""
        return self.astype(mstype.float16)

    def long(self) -> Tensor:
        """The elements as int64, in this shape; fractions are cut off."""
        return self.astype(mstype.int64)

    def reshape(self, *shape: Ints) -> Tensor:
        """The elements in another shape, given as numbers or as one tuple, of which one size may be -1: it is computed
        from the others. Raises ValueError for another number of elements."""
        return F.reshape(self, _shape_of(shape))

    def view(self, *shape: Ints) -> Tensor:
        """The elements in another shape, with as many elements; see `reshape`."""
        return self.reshape(*shape)

    def permute(self, *axes: Ints) -> Tensor:
        """The dimensions in another order, given as numbers or as one tuple: dimension i of the result is dimension
        `axes[i]` of this tensor. Raises ValueError unless each stands once."""
        return F.transpose(self, _shape_of(axes))

    def transpose(self, *axes: Ints) -> Tensor:
        """Two dimensions exchanged, or all of them in another order: in that of a tuple, or of three and more numbers;
        without any reversed. Raises ValueError for dimensions that the tensor has not."""
        if len(axes) == 2:
            return F.swapaxes(self, *axes)
        return F.transpose(self, _shape_of(axes) if axes else tuple(reversed(range(self.ndim))))

    def flatten(self, order: str = "C", *, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """The dimensions from `start_dim` to `end_dim` as one; all of them without these, in one row."""
        return F.flatten(self, order, start_dim=start_dim, end_dim=end_dim)

    @shown(_of_extreme)
    def max(self, *args, **kwargs) -> Tensor | tuple[Tensor, Tensor]:
        """The largest element, or those along `axis`, in the shape without it, or with `keepdims` with size 1 there;
        (largest, where) along a number that stands first, or with `return_indices`. Raises ValueError for an axis that
        the tensor has not."""
        return _extreme(F.largest, self, args, kwargs)

    @shown(_of_extreme)
    def min(self, *args, **kwargs) -> Tensor | tuple[Tensor, Tensor]:
        """The smallest element, or those along `axis`, in the shape without it, or with `keepdims` with size 1 there;
        (smallest, where) along a number that stands first, or with `return_indices`. Raises ValueError for an axis that
        the tensor has not."""
        return _extreme(F.smallest, self, args, kwargs)

    def argmax(
        self,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        dim: builtins.int | None = None,
        keepdim: builtins.bool | None = None,
    ) -> Tensor:
        """Where the largest element is, as int64; the first of equal ones. Of all elements in one row, or along `axis`
        in the shape without it, or with `keepdims` with size 1 there. Raises ValueError for an axis that the tensor has
        not."""
        keeps = keepdims if keepdim is None else keepdim
        return F.argmax(self, axis if dim is None else dim, keeps)

    def cumsum(
        self,
        axis: builtins.int | None = None,
        dtype: DType | str | type | None = None,
        *,
        dim: builtins.int | None = None,
    ) -> Tensor:
        """Sums of the elements up to each one along an axis, in this shape; of all in one row without an axis; of bytes
        and bools as int32."""
        x = F.cast(self, mstype.int32) if self.dtype in (mstype.uint8, mstype.bool_) and dtype is None else self
        axis = axis if dim is None else dim
        return F.cumsum(F.reshape(x, [-1]) if axis is None else x, axis or 0, dtype)

    def masked_fill(self, mask: Tensor, value: Number) -> Tensor:
        """A number in place of the elements where the mask, bools of a shape that broadcasts, holds; of integers
        without its fraction."""
        if isinstance(value, numbers.Real) and not mstype.is_float(self.dtype):
            value = bool(value) if self.dtype == mstype.bool_ else int(value)
        return F.masked_fill(self, mask, value)

    def select(self, condition: Tensor, y: Tensor | Number) -> Tensor:
        """These elements where the condition holds, else those of `y`."""
        return F.select(condition, self, y)

    def where(self, condition: Tensor, y: Tensor | Number) -> Tensor:
        """These elements where the condition, bools of a shape that broadcasts, holds, else those of `y`."""
        return F.select(condition, self, y)

    def expand_as(self, other: Tensor) -> Tensor:
        """The elements repeated along dimensions of one element, so that the shape is that of another tensor."""
        return F.broadcast_to(self, other.shape)

    def expand(self, *size: Ints) -> Tensor:
        """The elements repeated along dimensions of one element, and along new ones in front; -1 keeps a size. The
        sizes are given as numbers or as one tuple. Raises ValueError for a size that is neither."""
        return F.broadcast_to(self, _shape_of(size))

    def repeat(self, *repeats: Ints, axis: builtins.int | None = None) -> Tensor:
        """The tensor several times along each dimension, and along new ones in front: sizes are multiplied by
        `repeats`. With `axis` each slice along it several times, as in earlier versions of the documented system.
        Raises ValueError for fewer numbers than dimensions."""
        if axis is not None:
            return F.repeat_interleave(self, *repeats, axis)
        counts = _shape_of(repeats)
        if len(counts) < self.ndim:
            raise ValueError(
                f"[Tensor.repeat] too few numbers of copies, got {tuple(counts)}, expected one for each of "
                f"{self.ndim} dimensions"
            )
        return F.tile(self, tuple(counts))

    @property
    def strides(self) -> tuple[builtins.int, ...]:
        """By how many bytes each dimension advances."""
        found, step = [], self.itemsize
        for size in reversed(self.shape):
            found.append(step)
            step *= size
        return tuple(reversed(found))

    def __contains__(self, value):
        """Whether an element is equal to the value."""
        return builtins.bool(F.any(F.equal(self, value)))

    @shown(_gathered)
    def gather(self, *args, **kwargs) -> Tensor:
        """(places, axis): the slices at these places, so that the shape of these stands in place of the axis. (axis,
        places): the elements at places along an axis, in the shape of the places. Raises IndexError for places
        outside."""
        if "dim" in kwargs or "index" in kwargs or (args and isinstance(args[0], builtins.int)):
            return F.gather_elements(self, *args, **kwargs)
        return F.gather(self, *args, **kwargs)

    @shown(_added)
    def index_add(self, *args, alpha: Number = 1, **kwargs) -> Tensor:
        """(axis, places, slices) or (places, slices, axis): the tensor with slices, times alpha, added at places."""
        names = ("dim", "index", "source") if args and isinstance(args[0], builtins.int) else ("indices", "y", "axis")
        given = dict(zip(names, args)) | kwargs
        axis = given["dim"] if "dim" in given else given["axis"]
        index = given["index"] if "index" in given else given["indices"]
        source = given["source"] if "source" in given else given["y"]
        return added_at(self, index, source if alpha == 1 else F.mul(source, alpha), axis)

    def take(self, indices: Tensor, axis: builtins.int | None = None, mode: str = "clip") -> Tensor:
        """The elements at places of all in one row, or of an axis, below 0 from its end: their shape stands in place of
        the axis. Places outside are moved to the ends, or with "wrap" counted around. Raises ValueError for another
        mode."""
        if mode not in ("clip", "wrap"):
            raise ValueError(f"[Tensor.take] unknown mode, got {mode!r}, expected clip or wrap")
        x, ids = (self.reshape(-1), 0) if axis is None else (self, axis), Tensor(indices)
        (x, axis), size = x, x[0].shape[x[1]]
        if mode == "wrap":
            return F.gather(x, F.floor_mod(ids, size), axis)
        return F.gather(x, F.clamp(F.select(ids < 0, ids + size, ids), 0, size - 1), axis)

    def movedim(self, source: Ints, destination: Ints) -> Tensor:
        """The dimensions in another order: some of them at other places."""
        return F.moveaxis(self, source, destination)

    def repeat_interleave(
        self, repeats: builtins.int | Sequence[builtins.int] | Tensor, dim: builtins.int | None = None
    ) -> Tensor:
        """Each element, along a dimension each slice, several times."""
        return F.repeat_interleave(self, repeats, dim)


    def qr(self, some: builtins.bool = True) -> tuple[Tensor, Tensor]:
        """(Q, R) of matrices; unless `some`, Q is square."""
        return F.qr(self, "reduced" if some else "complete")

    def triangular_solve(
        self,
        A: Tensor,
        upper: builtins.bool = True,
        transpose: builtins.bool = False,
        unitriangular: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """(X, A) with A X = this tensor, where A is a triangle; see mint.triangular_solve."""
        solved = _later.imported("partita.ops.linear_solutions").triangular_solve
        return solved(self, A, upper, transpose, unitriangular)

    def adjoint(self) -> Tensor:
        """The matrices with rows and columns exchanged."""
        return F.swapaxes(self, -1, -2)

    @property
    def mT(self) -> Tensor:
        return F.swapaxes(self, -1, -2)

    mH = mT

    @property
    def H(self) -> Tensor:
        if self.ndim != 2:
            raise ValueError(f"[Tensor.H] no matrix, got {self.ndim} dimensions, expected two")
        return F.swapaxes(self, 0, 1)


def _shape_of(args):
    return args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


def _extreme(function, tensor, args, kwargs):
    """Calls the function of the largest or smallest elements; a number that stands first is `dim`."""
    if args and args[0] is not None and not isinstance(args[0], (tuple, list)) and "keepdims" not in kwargs:
        kwargs["dim"], args = args[0], args[1:]
        if args:
            kwargs["keepdim"], args = args[0], args[1:]
    return function(tensor, *args, **kwargs)


def _operator(function, swapped=False):
    def call(self, other):
        if other is None or isinstance(other, str):
            return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return call


class _Later:
    """A method of a module that is not imported yet: it gives `Tensor` the method itself when it is first asked for."""

    is_later = True

    def __init__(self, load):
        self.load = load

    def __get__(self, tensor, owner=None):
        name = self.__name__
        if getattr(vars(Tensor).get(name), "is_later", False):  # a library may have set another one
            self.load(name)
        return getattr(owner if tensor is None else tensor, name)


def _method(name):
    """The method that calls a function, which may be one of a module that is not imported yet."""
    if name in F.LATER:
        return _Later(lambda own: _give(own, _copied(getattr(F, name))))
    return _copied(getattr(F, name))


def _of_module(module):
    """A method that gives tensors the methods of a module, itself among them."""

    def load(name):
        for one in _later.imported(f"partita.ops.{module}").CLASSES:
            for own, method in vars(one).items():
                if getattr(vars(Tensor).get(own), "is_later", False):
                    _give(own, method)

    return _Later(load)


def _copied(function):
    """The function as a method: a copy of it whose first parameter is `self`, so that a call costs no other call."""
    code = function.__code__
    first = code.co_varnames[0]
    names = ("self", *code.co_varnames[1:])
    cells = tuple("self" if name == first else name for name in code.co_cellvars)
    made = types.FunctionType(
        code.replace(co_varnames=names, co_cellvars=cells),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__, made.__module__ = function.__kwdefaults__, function.__module__
    made.__doc__ = function.__doc__ and function.__doc__.replace(f"`{first}`", "`self`")
    made.__annotations__ = {name: one for name, one in function.__annotations__.items() if name != first}
    return made


def _give(name, member):
    if not isinstance(member, property):
        member.__name__, member.__qualname__ = name, f"Tensor.{name}"
    setattr(Tensor, name, member)


def _install():
    """Gives `Tensor` its operators and methods."""
    members = {**vars(Likenesses), **vars(InPlace), **vars(_Methods)}
    found = {name: one for name, one in members.items() if isinstance(one, (property, types.FunctionType))}
    found.update((name, _method(function)) for name, function in _CALLS.items())
    found.update((f"__{name}__", _method(function)) for name, function in _OF_ONE.items())
    for name, function in {**_ARITHMETIC, **_LOGIC, **_COMPARISONS}.items():
        found[f"__{name}__"] = _operator(getattr(F, function))
    for name, function in _ARITHMETIC.items():
        found[f"__r{name}__"] = _operator(getattr(F, function), swapped=True)
    for name, one in _SHOWN.items():
        found[name].__doc__, found[name].__annotations__ = one.__doc__, one.__annotations__
    for module, names in later.METHODS.items():
        found.update((name, _of_module(module)) for name in names.split())
    for name, one in found.items():
        _give(name, one)


_install()
