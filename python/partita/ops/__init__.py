"""Ops: functions of tensors, and the same as objects that carry sharding annotations."""

from partita._names import refuse_missing
from partita.common.tensor import Tensor  # noqa: F401
from partita.ops import (  # noqa: F401
    _primitive_cache,
    auto_generate,
    composite,
    functional,
    in_place,
    methods,
    operations,
    registry,
)

from partita.ops.communication import AllGather, AllReduce, Broadcast, Receive, ReduceScatter, Send
from partita.ops.custom import Custom, PyFunc
from partita.ops.hooks import HookBackward, InsertGradientOf
from partita.ops.composite import GradOperation, grad, value_and_grad
from partita.ops.jacobians import jacfwd, jacrev
from partita.ops.mapping import vmap
from partita.ops.angles import *  # noqa: F401,F403
from partita.ops.attention import *  # noqa: F401,F403
from partita.ops.functional import (  # noqa: F401
    HyperMap,
    Map,
    MultitypeFuncGraph,
    abs,
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    add,
    addbmm,
    addcdiv,
    addcmul,
    addmm,
    addmv,
    addr,
    all,
    amax,
    amin,
    any,
    arange,
    argmax,
    argmin,
    argsort,
    assign,
    assign_add,
    assign_sub,
    atleast_1d,
    atleast_2d,
    avg_pool1d,
    cross,
    avg_pool2d,
    baddbmm,
    batch_norm,
    bias_add,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    bincount,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    bmm,
    broadcast_to,
    bucketize,
    cast,
    cat,
    ceil,
    celu,
    chunk,
    clamp,
    clip,
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    concat,
    constexpr,
    conv1d,
    conv2d,
    conv3d,
    cosine_similarity,
    count_nonzero,
    cross_entropy,
    cumprod,
    cumsum,
    dense,
    depend,
    diagonal,
    div,
    dot,
    dropout,
    dtype,
    einsum,
    elu,
    eq,
    equal,
    erf,
    exp,
    expand_dims,
    eye,
    fast_gelu,
    fill,
    flatten,
    flip,
    fliplr,
    flipud,
    floor,
    floor_div,
    floor_mod,
    full,
    full_like,
    gather,
    gather_elements,
    gather_nd,
    ge,
    gelu,
    glu,
    greater,
    greater_equal,
    gt,
    hardsigmoid,
    hardswish,
    hardtanh,
    hstack,
    identity,
    index_select,
    inner,
    interpolate,
    is_floating_point,
    is_tensor,
    isclose,
    isfinite,
    isinf,
    isnan,
    l1_loss,
    layer_norm,
    le,
    leaky_relu,
    lerp,
    less,
    less_equal,
    linspace,
    log,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    logsigmoid,
    logsumexp,
    lt,
    make_range,
    masked_fill,
    masked_select,
    matmul,
    max,
    max_pool2d,
    maximum,
    mean,
    meshgrid,
    min,
    minimum,
    mish,
    mm,
    moveaxis,
    movedim,
    mse_loss,
    mul,
    multinomial,
    multiply,
    mv,
    narrow,
    ne,
    neg,
    nonzero,
    norm,
    normal,
    not_equal,
    one_hot,
    ones,
    ones_like,
    outer,
    pad,
    partial,
    permute,
    pow,
    prelu,
    prod,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    rank,
    reciprocal,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
    relu,
    relu6,
    remainder,
    repeat_elements,
    repeat_interleave,
    reshape,
    reverse,
    rms_norm,
    roll,
    round,
    rsqrt,
    scalar_to_array,
    scalar_to_tensor,
    scatter_nd_update,
    select,
    selu,
    shape,
    sigmoid,
    sign,
    silu,
    size,
    slice,
    softmax,
    softmin,
    softplus,
    softsign,
    sort,
    split,
    sqrt,
    square,
    squeeze,
    stack,
    standard_normal,
    std,
    std_mean,
    stop_gradient,
    sub,
    sum,
    swapaxes,
    swapdims,
    t,
    tanh,
    tanhshrink,
    tensor_dot,
    tensor_scatter_elements,
    tensor_split,
    tile,
    top_k,
    topk,
    trace,
    transpose,
    tril,
    triu,
    true_divide,
    trunc,
    tuple_to_array,
    unbind,
    unfold,
    index_add,
    scatter,
    searchsorted,
    unique,
    uniform,
    unique_consecutive,
    unsqueeze,
    unstack,
    var,
    var_mean,
    vstack,
    where,
    zeros,
    zeros_like,
)
from partita.ops import primitive
from partita.ops.program_tools import add_flags  # noqa: F401
from partita.ops.absent import ABSENT
from partita.ops.primitive import Primitive
from partita.communication.comm_func import ReduceOp
from partita.ops.primitives import *  # noqa: F401,F403
from partita.ops.angle_primitives import *  # noqa: F401,F403
from partita.ops.attention_primitives import *  # noqa: F401,F403
from partita.ops.derived_primitives import *  # noqa: F401,F403
from partita.ops.other_losses import *  # noqa: F401,F403
from partita.ops.elements import *  # noqa: F401,F403
from partita.ops.element_primitives import *  # noqa: F401,F403
from partita.ops.draw_primitives import *  # noqa: F401,F403
from partita.ops.in_place import *  # noqa: F401,F403
from partita.ops.applied import *  # noqa: F401,F403
from partita.ops.updates import *  # noqa: F401,F403
from partita.ops.pools import *  # noqa: F401,F403
from partita.ops.pool_primitives import *  # noqa: F401,F403
from partita.ops.channels import *  # noqa: F401,F403
from partita.ops.folds import *  # noqa: F401,F403
from partita.ops.grids import *  # noqa: F401,F403
from partita.ops.thresholds import *  # noqa: F401,F403
from partita.ops.image_primitives import *  # noqa: F401,F403
from partita.ops.ctc import *  # noqa: F401,F403
from partita.ops.margin_losses import *  # noqa: F401,F403
from partita.ops.loss_primitives import *  # noqa: F401,F403
from partita.ops.bilinear import *  # noqa: F401,F403
from partita.ops.directional import *  # noqa: F401,F403
from partita.ops.more_primitives import *  # noqa: F401,F403
from partita.ops.transposed_volumes import *  # noqa: F401,F403
from partita.ops.normalized_sums import *  # noqa: F401,F403
from partita.ops.resampling import *  # noqa: F401,F403
from partita.ops.segments import *  # noqa: F401,F403
from partita.ops.placed import *  # noqa: F401,F403
from partita.ops.filled import *  # noqa: F401,F403
from partita.ops.diagonals import *  # noqa: F401,F403
from partita.ops.assembled import *  # noqa: F401,F403
from partita.ops.extremes import *  # noqa: F401,F403
from partita.ops.differences import *  # noqa: F401,F403
from partita.ops.blocks import *  # noqa: F401,F403
from partita.ops.boxes import *  # noqa: F401,F403
from partita.ops.ranked import *  # noqa: F401,F403
from partita.ops.place_primitives import *  # noqa: F401,F403
from partita.ops.order_primitives import *  # noqa: F401,F403
from partita.ops.linear_primitives import *  # noqa: F401,F403
from partita.ops.linear_solutions import *  # noqa: F401,F403
from partita.ops.matrix_factors import *  # noqa: F401,F403
from partita.ops.matrix_measures import *  # noqa: F401,F403
from partita.ops.frequencies import *  # noqa: F401,F403
from partita.ops.sparse_names import *  # noqa: F401,F403

# Names that old scripts import from here.
composite.ones_like, composite.add_flags, primitive._primexpr = ones_like, add_flags, constexpr
for _name in in_place.__all__:
    setattr(functional, _name, getattr(in_place, _name))
for _name in "clip_by_global_norm clip_by_value gamma laplace multinomial normal poisson uniform".split():
    setattr(composite, _name, getattr(functional, _name))
composite.HyperMap, composite.Map, composite.MultitypeFuncGraph = HyperMap, Map, MultitypeFuncGraph
globals().update({k: v for k, v in ABSENT.items() if not hasattr(functional, k)})

__getattr__ = refuse_missing(globals())
