"""Templates of calls that compute element by element, of reductions, products and losses: see drawn_templates."""

_ANY_NUMBER = "{2|3|-1|1|0|0.5|2.0|-1.5|True}"
_PAIR = [
    "{x}; {x}", "{a}; {a:~}", "{f}; {f}", "{x}; " + _ANY_NUMBER, "{c}; {c}", "{i}; {i:~}", "{f}; {f:~}",
]  # fmt: skip
_SWAPPED = [_ANY_NUMBER + "; {x}"]

_FOR_ALL = "abs neg sign round square trunc ceil floor"  # also of integers
_FOR_FLOATS = "exp expm1 sin cos tan tanh sigmoid erf"
_FOR_POSITIVE = "log log1p sqrt rsqrt reciprocal"
_TESTS = "isfinite"
_UNARY = [
    ("ops mint Tensor", _FOR_ALL, ["{x};", "{f};", "{c};"]),
    ("ops mint Tensor", _FOR_FLOATS, ["{x};", "{f};", "{f};"]),
    ("ops mint Tensor", _FOR_POSITIVE, ["{p};", "{p};", "{x};"]),
    ("ops mint Tensor", _TESTS, ["{x};", "{f};"]),
    ("ops", "isnan isinf", ["! {f};", "! ops.log({f});"]),
    ("ops", "isnan isinf is_floating_point identity stop_gradient shape rank size dtype", ["{x};"]),
    ("ops mint Tensor", "logical_not", ["{b};", "{x};"]),
    ("ops", "atan relu6 mish silu selu softsign tanhshrink fast_gelu logsigmoid hardsigmoid hardswish", ["{f};"]),
    ("ops", "relu gelu softplus", ["{x};", "{f};"]),
    ("ops", "celu", ["{f}; [?{0.5|2.0|alpha=1.5}]"]),
    ("ops", "elu", ["{f};", "{f}; {1.0|alpha=1.0}"]),
    ("ops", "hardtanh", ["{f}; [?{-0.5, 0.5|min_val=-2.0|max_val=0.5|-1, 2}]"]),
    ("ops", "leaky_relu", ["{f}; [?{0.1|alpha=0.3|0.0}]"]),
    ("ops", "gelu", ["{f}; {'none'|'tanh'|approximate='tanh'}"]),
    ("ops", "softplus", ["{f}; {2|beta=0.5|1, 1|threshold=2}"]),
    ("ops mint", "round", ["{f}; decimals={0|1|2}"]),
    ("ops", "glu", ["{g:n,2,3}; 1", "{g:n,4};", "{g:4,n}; {0|axis=0}"]),
    ("ops", "prelu", ["{g:n,3,k}; {g:3}", "{g:n,3}; {g:1}"]),
    ("functional", "relu sigmoid silu tanh", ["{x};", "{f};"]),
    ("functional", "softplus", ["{f}; [?{2|beta=0.5|1, 1|threshold=2}]"]),
    ("functional", "gelu", ["{f}; [?approximate={'none'|'tanh'}]"]),
    ("functional", "leaky_relu", ["{f}; [?{0.1|negative_slope=0.3}]"]),
    ("op",
     "Abs Neg Sign Round Square Trunc Ceil Floor ReLU ReLU6 OnesLike ZerosLike Identity Rank Size "
     "Shape DType",
     [
        "; {x}", "; {f}",
    ]),
    ("op",
     "Exp Expm1 Sin Cos Tan Tanh Sigmoid Erf GeLU FastGeLU HSigmoid HSwish Mish SeLU Softsign "
     "Softplus Elu",
     [
        "; {f}", "; {g}",
    ]),
    ("op", "Log Log1p Sqrt Rsqrt Reciprocal", ["; {p}"]),
    ("op", "IsFinite", ["; {x}"]),
    ("op", "LogicalNot", ["; {b}"]),
    ("nn",
     "ReLU ReLU6 Sigmoid Tanh SiLU Mish HSigmoid HSwish SeLU Softsign Tanhshrink LogSigmoid FastGelu "
     "Identity",
     [
        "; {f}", "; {g}", "; {x}",
    ]),
    ("nn", "ELU CELU", ["; {f}", "1.0; {f}"]),
    ("nn", "CELU", ["{0.5|alpha=2.0}; {f}"]),
    ("nn", "GELU", ["[?{True|False|approximate=False}]; {f}"]),
    ("nn", "LeakyReLU", ["[?{0.1|alpha=0.3|1.5}]; {f}"]),
    ("nn", "Hardtanh", ["[?{-0.5, 0.5|min_val=-2.0}]; {f}"]),
    ("nn", "GLU", ["[?{1|axis=-1}]; {g:n,4}"]),
    ("nn", "PReLU", ["; {g:n,3}", "3, 0.1; {g:n,3,k}"]),
    ("nn", "Softmax LogSoftmax Softmin", ["[?{axis}]; {f}"]),
    ("mint.nn", "ReLU Identity", ["; {x}"]),
    ("mint.nn", "Sigmoid Tanh", ["; {f}"]),
    ("mint.nn", "GELU", ["[?{'none'|'tanh'|approximate='tanh'}]; {f}"]),
    ("mint.nn", "Softmax", ["{axis}; {f}"]),
    ("numpy", "abs absolute fix negative rint sign square trunc ceil floor", ["{x};", "{f};", "[1, -2, 3];"]),
    ("numpy", "exp expm1 sin cos tan tanh", ["{x};", "{f};", "{f}; dtype=ms.{float32|float16}"]),
    ("numpy", "log log10 log1p log2 sqrt reciprocal", ["{p};", "{p}; ms.float32", "{i};"]),
    ("numpy", "isfinite isinf isnan", ["{x};"]),
    ("numpy", "logical_not", ["{b};", "{x};"]),
]  # fmt: skip
_BINARY = [
    ("ops mint Tensor", "add sub mul div maximum minimum pow", _PAIR),
    ("ops", "add sub mul div maximum minimum pow", _SWAPPED),
    ("ops mint Tensor", "equal greater greater_equal less less_equal not_equal", _PAIR),
    ("ops Tensor", "eq ge gt le lt ne", _PAIR),
    ("ops mint Tensor", "div", [
        "{f}; {p}, rounding_mode={'floor'|'trunc'|None}", "{i}; {3|-2}, rounding_mode='floor'",
    ]),
    ("ops mint Tensor", "remainder", ["{f}; {p}", "{f}; {2|-1.5|0.7}", "{i}; {3|-2}"]),
    ("ops", "floor_div floor_mod", ["{f}; {p}", "{f}; {2|-1.5|0.7}", "{i}; {3|-2}", "{x}; {p:~}"]),
    ("mint", "add sub", ["{f}; {f}, alpha={2|0.5}", "{i}; {i}, alpha=2"]),
    ("ops mint Tensor", "logical_and logical_or logical_xor", ["{b}; {b}", "{x}; {x}", "{b}; {b:~}"]),
    ("ops mint Tensor", "isclose", [
        "{c}; {c}", "{f}; {f}, {0.1|1.0}, {0.1|0.5}", "{f}; {f}, atol=0.5[?, equal_nan=True]",
    ]),
    ("op",
     "Add Sub Mul RealDiv Div Maximum Minimum Pow TensorAdd Equal NotEqual Less LessEqual Greater "
     "GreaterEqual",
     [
        "; {a}, {a:~}", "; {x}, {x}", "; {x}, " + _ANY_NUMBER, "; {g}, {g:~}",
    ]),
    ("op", "FloorDiv FloorMod Mod", ["; {f}, {p}", "; {i}, 3", "; {f}, {2.0|-1.5}"]),
    ("op", "LogicalAnd LogicalOr LogicalXor", ["; {b}, {b:~}"]),
    ("numpy", "add subtract multiply divide true_divide maximum minimum power", [
        *_PAIR, "{f}; {f}, dtype=ms.float32", "[1, 2]; {f:2}", *_SWAPPED,
    ]),
    ("numpy", "equal greater greater_equal less less_equal not_equal", _PAIR),
    ("numpy", "floor_divide mod remainder", ["{f}; {p}", "{f}; {2|-1.5}", "{i}; {3|-2}"]),
    ("numpy", "logical_and logical_or logical_xor", ["{b}; {b:~}", "{b}; {b}"]),
    ("numpy", "isclose", ["{f}; {f}", "{c}; {c}, {0.1|1.0}[?, atol=0.5]"]),
    ("ops Tensor", "lerp", ["{g}; {g}, {0.3|2.0|-1.0}", "{g}; {g}, {g}", "{g}; {g:~}, 0.5"]),
    ("ops Tensor", "addcmul", ["{f}; {f}, {f}[?, {0.5|value=2.0|2}]", "{g}; {g:~}, {g}"]),
    ("ops", "addcdiv", ["{f}; {f}, {p}[?, {0.5|value=2.0|2}]", "{g}; {g:~}, {p}"]),
    ("op", "Addcmul", ["; {g}, {g}, {g}, ms.Tensor([{0.5|2.0}], ms.float32)"]),
    ("ops Tensor", "clip clamp", [
        "{x}; {-1.0|0|None}, {1.0|1|0.5}", "{f}; {-0.5|min=-1|max=1|0, 1}", "{i}; {0, 2|min=1|max=3}",
        "{f}; {u:~}, {p}", "{c}; -1.0, 1.0",
    ]),
    ("mint", "clamp", ["{x}; {-1.0|0|None}, {1.0|1|0.5}", "{f}; {min=-1|max=1|0, 1}", "{f}; {u}, {p}"]),
    ("ops", "clip_by_value", [
        "{x}; {-0.5|0.0}, {1.0|2}", "{f}; {clip_value_min=-0.5|clip_value_max=0.5}", "{f}; {u}, {p}",
    ]),
    ("numpy", "clip", ["{x}; {-1.0|0|None}, {1.0|1|2}", "{f}; {u}, {p}", "{f}; -1, 1, dtype=ms.float32"]),
    ("ops", "clip_by_norm", ["{f}; {0.5|2.0|100.0}[?, {1.0|norm_type=1.0|3.0}]"]),
    ("ops", "clip_by_global_norm", ["({g}, {g:n,k}); {0.5|2.0|100.0}", "[{g}, {g:n,k}];", "({g},); use_norm=2.0"]),
    ("ops", "masked_fill", [
        "{x}; {b}, {1.5|0.0|-1|2|True}", "{f}; {b:~}, {1.5|-1}", "{g}; {b}, ms.Tensor(1.5, ms.float32)",
    ]),
    ("Tensor", "masked_fill", ["{x}; {b}, {1.5|0.0|-1|2|True}", "{f}; {b:~}, {1.5|-1}"]),
    ("op", "MaskedFill", ["; {f}, {b}, {1.5|0.0}", "; {g}, {b:~}, ms.Tensor(1.5, ms.float32)"]),
    ("ops numpy", "where", [
        "{b}; {a}, {a}", "{b}; {x}, {x}", "{b}; {f}, {1.5|0|2}", "{b}; {1|2.0}, {f}", "{b}; {f:~}, {f}",
    ]),
    ("mint", "where", ["{b}; {a}, {a}", "{b}; {x}, {x}", "{b}; {f}, {1.5|0|2}", "{b}; {f:~}, {f}"]),
    ("Tensor", "where", ["{a}; {b}, {a}", "{f}; {b}, {1.5|0}", "{f}; {b:~}, {f}"]),
    ("ops", "select", ["{b}; {a}, {a}", "{b}; {f}, {1.5|0}", "{b}; {1.5|2}, {f}"]),
    ("op", "Select", ["; {b}, {a}, {a}", "; {b}, {f}, {f}"]),
    ("Tensor", "select", ["{f}; {b}, {f}", "{f}; {b}, {1.5|0.5}"]),
]  # fmt: skip
_DIM_KEEP = "[?, {axis}[?, {True|False|keepdim=True}]]"
_REDUCED = [
    ("ops", "sum", [
        "{x};", "{x}; [?{{axis}|dim={axes}}][?, keepdim={True|False}]", "{x}; {axis}, {True|False}",
        "{f}; dtype=ms.{float32|int32}",
    ]),
    ("ops", "mean", ["{x};", "{x}; [?axis={axes}][?, keep_dims={True|False}]", "{f}; {axes}, {True|False}"]),
    ("ops", "prod", [
        "{f};", "{f}; {axis}[?, {True|False}]", "{x}; axis={axis}[?, keep_dims=True]", "{f}; dtype=ms.float32",
    ]),
    ("ops", "max min", ["{x};", "{x}; {axis}[?, {True|False}]", "{c}; axis={axis}[?, keepdims=True]"]),
    ("ops Tensor", "amax amin", ["{x};", "{f}; {axes}[?, {True|False}]", "{c}; axis={axis}[?, keepdims=True]"]),
    ("ops", "all any", ["{b};", "{b}; {axes}[?, {True|False}]", "{x}; axis={axis}[?, keep_dims=True]"]),
    ("ops", "std var", ["{f};", "{f}; {axes}[?, {0|1}][?, keepdims={True|False}]", "{f}; axis={axis}, ddof={0|1}"]),
    ("ops", "std_mean var_mean", [
        "{f};", "{f}; {axis}[?, {0|1}][?, keepdims={True|False}]", "{f}; axis={axis}, ddof=1",
    ]),
    ("ops", "argmax", ["{x};", "{x}; {axis}[?, {True|False}]", "{c}; dim={axis}[?, keepdim=True]"]),
    ("ops", "argmin", ["{x};", "{x}; {axis}[?, {True|False}]", "{c}; axis={axis}[?, keepdims=True]"]),
    ("ops", "logsumexp", ["{f}; {axis}[?, {True|False}]", "{f}; dim={axes}[?, keepdim=True]"]),
    ("ops", "norm", [
        "{f};", "{f}; {None|1|2|3|2.0}, {axis}[?, {True|False}]", "{f}; ord={1|2}, dim={axis}[?, keepdim=True]",
        "{f}; {float('inf')|float('-inf')|0}, {axis}", "@2 {f}; {'fro'|1|float('inf')}, (0, 1)",
    ]),
    ("ops", "count_nonzero", [
        "{c};", "{c}; {axis}[?, {True|False}]", "{c}; {axes}, keep_dims=True[?, dtype=ms.float32]",
    ]),
    ("ops", "reduce_max reduce_min reduce_sum reduce_mean", ["{f};", "{f}; {axis}", "{f}; {axes}"]),
    ("ops mint", "cumsum", [
        "{x}; {axis}", "{f}; {axis}, ms.{float32|float64|int32}", "{i}; {axis}[?, dtype=ms.int64]",
    ]),
    ("ops mint", "cumprod", ["{f}; {axis}", "{x}; {axis}", "{f}; dim={axis}, dtype=ms.float32"]),
    ("Tensor", "cumsum", ["{x}; {axis}", "{f}; axis={axis}[?, dtype=ms.float32]", "{x};"]),
    ("Tensor", "cumprod", ["{f}; {axis}"]),
    ("mint", "sum", [
        "{x};", "{x}; {axis}[?, {True|False}]", "{f}; dim={axes}[?, keepdim=True]", "{f}; dtype=ms.float32",
    ]),
    ("mint", "mean", [
        "{f};", "{f}; {axis}[?, {True|False}]", "{f}; dim={axes}[?, keepdim=True]", "{f}; dtype=ms.float32",
    ]),
    ("mint", "max min", ["{x};", "{x}; {axis}[?, {True|False}]", "{c}; dim={axis}[?, keepdim=True]", "{f}; {f:~}"]),
    ("mint", "all any", ["{b};", "{b}; {axis}[?, {True|False}]", "{x}; dim={axis}[?, keepdim=True]"]),
    ("mint", "argmax argmin", ["{x};", "{x}; {axis}[?, {True|False}]", "{c}; dim={axis}[?, keepdim=True]"]),
    ("mint Tensor", "logsumexp", ["{f}; {axis}[?, {True|False}]", "{f}; dim={axis}[?, keepdim=True]"]),
    ("Tensor", "sum", [
        "{x};", "{x}; {axes}[?, None, {True|False}]", "{f}; axis={axis}[?, keepdims=True]", "{f}; dtype=ms.float32",
    ]),
    ("Tensor", "mean", ["{x};", "{f}; {axes}[?, {True|False}]", "{f}; axis={axis}[?, keep_dims=True]"]),
    ("Tensor", "max min", [
        "{x};", "{x}; {axis}", "{c}; axis={axis}[?, keepdims=True]", "{f}; {axis}[?, True]",
        "{c}; axis={axis}, return_indices=True", "{f}; dim={axis}",
    ]),
    ("Tensor", "all any", ["{b};", "{b}; {axes}[?, {True|False}]", "{x}; axis={axis}[?, keep_dims=True]"]),
    ("Tensor", "std var", ["{f};", "{f}; {axis}[?, {0|1}]", "{f}; axis={axis}, ddof={0|1}[?, keepdims=True]"]),
    ("Tensor", "argmax argmin", ["{x};", "{x}; {axis}[?, {True|False}]", "{c}; axis={axis}[?, keepdims=True]"]),
    ("Tensor", "prod", ["{f};", "{f}; {axis}[?, {True|False}]", "{f}; axis={axis}[?, keep_dims=True]"]),
    ("Tensor", "norm", [
        "{f};", "{f}; {None|1|2|3}, {axis}[?, {True|False}]", "{f}; ord=2, dim={axis}[?, keepdim=True]",
    ]),
    ("op", "ReduceSum ReduceMean ReduceMax ReduceMin", [
        "[?{True|keep_dims=True}]; {f}", "[?True]; {f}, {axes}", "; {x}, {axis}",
    ]),
    ("op", "ReduceAll ReduceAny", ["[?{True|keep_dims=True}]; {b}", "[?True]; {b}, {axes}"]),
    ("op", "Argmax", ["[?{axis}]; {f}", "[?{axis}]; {c}", "{axis}, ms.{int32|int64}; {f}"]),
    ("op", "CumSum", ["[?{True|reverse=True|False, True|True, True}]; {f}, {axis}", "; {x}, {axis}"]),
    ("op", "Softmax LogSoftmax", ["[?{{axis}|axis={axis}}]; {f}"]),
    ("op", "LpNorm", ["{axis}[?, {1|2|3|p=2}][?, keep_dims=True]; {f}"]),
    ("op", "L2Normalize", ["[?{{axis}|axis={axis}}]; {g}", "{axis}, {0.01|epsilon=0.5}; {g}"]),
    ("ops", "softmax softmin", ["@1 {f};", "{f}; [?{{axis}|axis={axis}}]", "{f}; {axis}, dtype=ms.float32"]),
    ("ops", "log_softmax", ["@1 {f};", "{f}; [?{{axis}|axis={axis}}]"]),
    ("mint", "softmax", ["{f}; {axis}", "{f}; dim={axis}[?, dtype=ms.float32]"]),
    ("functional", "softmax log_softmax", ["{f}; {axis}", "{f}; dim={axis}[?, dtype=ms.float32]", "@1-2 {f};"]),
    ("Tensor", "softmax", ["{f}; {axis}", "{f}; axis={axis}"]),
    ("numpy", "sum", [
        "{x};", "{x}; {axes}[?, keepdims=True]", "{f}; axis={axis}[?, dtype=ms.float32]", "{f}; initial=2",
    ]),
    ("numpy", "mean", ["{f};", "{f}; {axes}[?, {True|False}]", "{f}; axis={axis}[?, keepdims=True]", "{x}; {axis}"]),
    ("numpy", "max min amax amin", ["{x};", "{f}; {axes}[?, {True|False}]", "{c}; axis={axis}[?, keepdims=True]"]),
    ("numpy", "std var", ["{f};", "{f}; {axis}[?, {0|1}]", "{f}; axis={axes}, ddof={0|1}[?, keepdims=True]"]),
    ("numpy", "argmax argmin", ["{x};", "{c}; {axis}"]),
    ("numpy", "cumsum", ["{x};", "{x}; {axis}", "{f}; axis={axis}[?, dtype=ms.float32]"]),
    ("numpy", "count_nonzero", ["{c};", "{c}; {axis}[?, {True|False}]"]),
    ("numpy", "average", ["{f};", "{f}; {axis}", "{f}; {axis}, weights={p}", "{f}; weights={p}[?, returned=True]"]),
    ("numpy", "norm", ["{f};", "{f}; {1|2|3|None}, {axis}[?, {True|False}]", "@2 {f}; {None|'fro'|1}"]),
]  # fmt: skip
_PRODUCTS = [
    ("ops mint Tensor", "matmul", [
        "{f:n,k}; {f:k,m}", "{f:q,n,k}; {f:q,k,m}", "{f:q,n,k}; {f:k,m}", "{f:n,k}; {f:k}", "{f:k}; {f:k,m}",
        "{f:k}; {f:k}", "{f:n,k}; {f:q,r,k,m}", "{f:q,1,n,k}; {f:r,k,m}", "{i:n,k}; {i:k,m}",
    ]),
    ("numpy", "matmul dot", [
        "{f:n,k}; {f:k,m}", "{f:q,n,k}; {f:k,m}", "{f:n,k}; {f:k}", "{f:k}; {f:k}", "{g:q,n,k}; {g:k}",
    ]),
    ("numpy", "dot", ["{f:n,k}; {f:q,k,m}", "{g}; 2.0"]),
    ("ops Tensor numpy", "inner", ["{f:n,k}; {f:m,k}", "{f:k}; {f:k}", "{f:q,n,k}; {f:m,k}", "{g:k}; {g:n,k}"]),
    ("ops mint numpy", "outer", ["{f:n}; {f:m}", "{g:n}; {g:m}"]),
    ("numpy", "outer", ["{g:n,k}; {g:m}"]),
    ("ops mint Tensor", "dot", ["{f:k}; {f:k}", "{g:n,k}; {g:k,m}", "{g:q,n,k}; {g:k,m}"]),
    ("ops", "bmm", ["{f:q,n,k}; {f:q,k,m}"]),
    ("ops", "mm mv", ["{f:n,k}; {f:k,m}", "{f:n,k}; {f:k}"]),
    ("Tensor", "mm", ["{f:n,k}; {f:k,m}"]),
    ("ops mint Tensor", "addmm", [
        "{g:n,m}; {g:n,k}, {g:k,m}[?, beta={0.5|2}][?, alpha={0.5|2}]", "{f:n,m}; {f:n,k}, {f:k,m}",
        "{g:m}; {g:n,k}, {g:k,m}",
    ]),
    ("ops Tensor", "baddbmm", [
        "{g:q,n,m}; {g:q,n,k}, {g:q,k,m}[?, beta={0.5|2}][?, alpha={0.5|2}]", "{g:n,m}; {g:q,n,k}, {g:q,k,m}",
    ]),
    ("ops", "dense", ["{f:n,k}; {f:m,k}[?, {f:m}]", "{g:q,n,k}; {g:m,k}, {g:m}", "{g:k}; {g:m,k}"]),
    ("functional", "linear", ["{f:n,k}; {f:m,k}[?, {f:m}]", "{g:q,n,k}; {g:m,k}, bias={g:m}", "{g:k}; {g:m,k}"]),
    ("ops", "bias_add", ["{f:n,k}; {f:k}", "{g:n,k,h,w}; {g:k}", "{f:n,k,h}; {f:k}"]),
    ("op", "BiasAdd", ["; {f:n,k}, {f:k}", "; {g:n,k,h,w}, {g:k}", "; {g:n,k,h}, {g:k}"]),
    ("op", "MatMul", [
        "; {f:n,k}, {f:k,m}", "transpose_b=True; {f:n,k}, {f:m,k}", "True; {g:k,n}, {g:k,m}",
        "True, True; {g:k,n}, {g:m,k}",
    ]),
    ("op", "BatchMatMul", [
        "; {f:q,n,k}, {f:q,k,m}", "transpose_b=True; {g:q,n,k}, {g:q,m,k}", "True; {g:r,q,k,n}, {g:r,q,k,m}",
    ]),
    ("ops numpy", "tensor_dot tensordot", [
        "{f:n,k}; {f:k,m}, 1", "{g:n,k,m}; {g:k,m}, 2", "{g:n,k,m}; {g:m,k}, ((1, 2), (1, 0))",
        "{g:n,k}; {g:n,m}, ((0,), (0,))",
    ]),
    ("ops mint", "einsum", [
        "'ij,jk->ik'; {g:n,k}, {g:k,m}", "'bij,bjk->bik'; {g:q,n,k}, {g:q,k,m}", "'ij->ji'; {f:n,k}",
        "'ij->'; {g:n,k}", "'i,j->ij'; {g:n}, {g:m}", "'bhid,bhjd->bhij'; {g:q,r,n,k}, {g:q,r,m,k}",
        "'ij,ij->i'; {g:n,k}, {g:n,k}",
    ]),
    ("op", "Einsum", ["'ij,jk->ik'; ({g:n,k}, {g:k,m})", "'ij->j'; ({g:n,k},)"]),
    ("ops", "cosine_similarity", ["@2-3 {f}; {f}[?, {{axis}|dim={axis}}]", "@2 {g}; {g}, eps=0.1"]),
    ("ops", "trace", ["@2 {f};"]),
    ("Tensor", "trace", ["@2 {x};", "@2 {f}; {1|-1|offset=1}"]),
    ("numpy", "trace", ["@2 {x};", "@2 {f}; {1|-1|offset=1}", "@3 {f}; 0, 1, 2"]),
]  # fmt: skip
ROWS = [*_UNARY, *_BINARY, *_REDUCED, *_PRODUCTS]
