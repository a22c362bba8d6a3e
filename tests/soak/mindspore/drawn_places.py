"""Templates of calls of scatters, segments, orders, diagonals and blocks: see drawn_templates."""

_KINDS = "add sub mul div max min update"
_SCATTERED = [
    "@2 {g:n,k}; {ids:3,1<n}, {g:3,k}", "@2 {f:n,k,m}; {ids:2,2<1}, {f:2,m}", "@2 {a:n,k}; {ids:4,1<n}, {a:4,k}",
    "@2 {f:n,n}; {ids:5,2<n}, {f:5}", "@2 {g:3,k}; t([[{0|1}], [2]]), {g:2,k}",
]  # fmt: skip
_ROWS = ["ms.Parameter({g:n,k}); {ids:3<n}, {g:3,k}", "ms.Parameter({f:n}); {ids:2,2<n}, {f:2,2}"]
_PLACES = ["ms.Parameter({g:n,k}); {ids:3,1<n}, {g:3,k}", "ms.Parameter({f:n,n}); {ids:2,2<n}, {f:2}"]


def _named(pattern):
    return " ".join(pattern.format(kind) for kind in _KINDS.split())


def _classes(pattern):
    return " ".join(pattern.format(kind.capitalize()) for kind in _KINDS.split())


_SCATTERS = [
    ("ops", _named("tensor_scatter_{}"), _SCATTERED),
    ("op", _classes("TensorScatter{}"), [one[:3] + "; " + one[3:].replace(";", ",") for one in _SCATTERED]),
    ("Tensor", "scatter_sub scatter_mul scatter_div scatter_max scatter_min", _SCATTERED),
    ("ops", _named("scatter_{}").replace("scatter_sub ", ""), _ROWS),
    ("op", _classes("Scatter{}"), ["; " + one.replace(";", ",") for one in _ROWS]),
    ("ops", _named("scatter_nd_{}"), _PLACES),
    ("op", _classes("ScatterNd{}"), ["; " + one.replace(";", ",") for one in _PLACES]),
    ("ops", "scatter_nd", ["{ids:3,1<n}; {f:3,k}, ({n}, {k})", "{ids:2,3,2<n}; {a:2,3}, ({n}, {n})"]),
    ("op", "ScatterNd", ["; {ids:3,1<n}, {f:3,k}, ({n}, {k})"]),
    ("ops", "unsorted_segment_sum unsorted_segment_max unsorted_segment_min unsorted_segment_prod",
     ["{g:n,k}; {ids:n<3}, {3|4}", "{f:n,k}; {ids:n,k<2}, 2", "{i:n}; {ids:n<4}, 4"]),
    ("op", "UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd", ["; {g:n,k}, {ids:n<3}, 3"]),
    ("ops", "tensor_scatter_elements", ["{f:n,4}; {ids:n,3<4}, {f:n,3}, 1[?, reduction={'add'|'none'}]"]),
    ("ops Tensor", "scatter", ["{f:n,4}; 1, {ids:n,3<4}, {f:n,3}", "{g:4,n}; 0, {ids:2,n<4}, {g:2,n}"]),
    ("ops Tensor", "index_fill", ["{f:n,4}; 1, {ids:2<4}.astype(ms.int32), {0.5|-2.0}"]),
    ("ops Tensor", "select_scatter", ["{f:n,k}; {f:k}, 0, {0|-1}", "{f:n,k}; {f:n}, 1, {0|-1}"]),
    ("ops Tensor", "slice_scatter", ["{f:4,k}; {f:2,k}, 0, {1, 3|0, 4, 2|2}", "{f:n,4}; {f:n,1}, 1, 3"]),
    ("ops Tensor", "diagonal_scatter", ["{f:4,4}; {f:3}, {1|-1}", "{f:4,4}; {f:4}"]),
    ("Tensor", "masked_scatter", ["{f:n,k}; {b:n,k}, {f:20}"]),
    ("ops", "gather_d", ["{x:n,4}; 1, {ids:n,3<4}", "{x:4,n}; 0, {ids:2,n<4}"]),
    ("ops", "reverse_sequence", ["{f:n,4}; {ids:n<5}, 1", "{f:4,n,k}; {ids:k<5}, 0, 2"]),
]  # fmt: skip
_ORDERS = [
    ("ops Tensor", "cummax cummin", ["{f}; {axis}", "{c}; {axis}", "{i}; {axis}"]),
    ("ops Tensor", "logcumsumexp", ["{g}; {axis}", "{f}; {axis}"]),
    ("op", "Cummax Cummin", ["{axis}; {g}"]),
    ("ops Tensor", "median nanmedian", ["{f}; {axis}[?, {True|keepdims=True}]", "{f};"]),
    ("ops Tensor", "nansum nanmean", ["{f}; [?{axis}]", "{f}; {axes}, {True|False}"]),
    ("ops Tensor", "aminmax", ["{f}; axis={axis}[?, keepdims=True]", "{i}; axis={axis}"]),
    ("ops Tensor", "msort", ["@1-3 {f};", "@1-3 {i};"]),
    ("op", "ArgMaxWithValue ArgMinWithValue", ["{axis}[?, True]; {f}", "{axis}; {i}"]),
    ("Tensor", "argmax_with_value argmin_with_value", ["{f}; {axis}[?, True]"]),
    ("op", "Argmin", ["{axis}[?, {ms.int64|output_type=ms.int32}]; {f}"]),
    ("op", "ReduceProd", ["[?{True|keep_dims=False}]; {f}, {axis}"]),
    ("op", "ReduceStd", ["{axis}[?, {True|False}]; {g:2,3,4}"]),
    ("op", "CumProd", ["[?{True|False, True|True, True}]; {f}, {axis}"]),
    ("op", "NthElement", ["[?{True|False}]; {f:n,3}, {0..2}"]),
    ("op", "InTopK", ["{1..3}; {g:n,4}, {ids:n<4}.astype(ms.int32)"]),
    ("ops", "intopk", ["{g:n,4}; {ids:n<4}.astype(ms.int32), {1..3}"]),
    ("ops Tensor", "diff", ["{f:n,4}; [?1, {0|1}]", "{i:3,k}; axis=0"]),
    ("Tensor", "ptp", ["{f}; [?{axis}]", "{f}; {axis}, True"]),
    ("ops Tensor", "argwhere", ["@1-4 {x};"]),
    ("ops Tensor", "unique_with_pad", ["{i:n}; {0|-1|7}"]),
]  # fmt: skip
_ARRANGED = [
    ("ops", "diag", ["@1-3 {x};"]),
    ("ops", "diag_embed", ["@1-3 {f}; [?{1|-2|0}]", "@2 {f}; {1|0}, {0, 1|0, 2|1, 0}"]),
    ("ops Tensor", "diagflat", ["@1-3 {x}; [?{1|-2}]"]),
    ("ops", "matrix_band_part", ["@2-3 {f}; {0..2}, {0..2}"]),
    ("op", "Triu", ["[?{-1|1|2}]; {f:n,k}", "; {x:n,k,m}"]),
    ("ops Tensor", "rot90", ["@2-3 {x}; {-1..4}, {(0, 1)|[1, 0]}"]),
    ("ops", "dstack column_stack row_stack", ["({f:n,k}, {f:n,k}) ;", "[{f:n}, {f:n}] ;"]),
    ("ops", "atleast_3d", ["@0-3 {x};"]),
    ("ops", "cartesian_prod", ["{f:n}; {f:k}", "{f:n}; {f:k}, {f:m}"]),
    ("ops", "combinations", ["{f:4}; [?{1..3}][?, {True|False}]", "{i:4};"]),
    ("ops Tensor", "vsplit", ["{x:4,k}; {2|[1]|(1, 3)|4}"]),
    ("ops Tensor", "hsplit", ["{x:n,4}; {2|[1]|(1, 3)|4}"]),
    ("ops Tensor", "dsplit", ["{x:n,k,4}; {2|[1]|(1, 3)|4}"]),
    ("ops Tensor", "ravel", ["{x};"]),
    ("ops", "space_to_batch_nd", ["{f:n,k,4,6}; [2, {2|3}], [[0, 0], [0, 0]]", "{f:n,k,3,5}; 2, [[1, 0], [0, 1]]"]),
    ("ops", "batch_to_space_nd", ["{f:4,k,n,m}; {2|[2, 2]|[1, 4]}, [[0, 0], [0, 0]]"]),
    ("op", "SpaceToDepth", ["2; {f:n,k,4,2}"]),
    ("op", "DepthToSpace", ["2; {f:n,4,k,m}"]),
    ("op", "MirrorPad", ["[?{'REFLECT'|'SYMMETRIC'}]; {f:3,4}, ms.Tensor([[1, 2], [0, 3]])"]),
    ("ops", "padding", ["{f:n,1}; {1..5}"]),
    ("op", "Padding", ["[?{2..5}]; {f:n,1}"]),
    ("op", "Pack", ["{0|1|-1}; ({f:n,k}, {f:n,k})"]),
    ("op", "Unpack", ["{axis}; {x}"]),
    ("op", "StopGradient TensorShape", ["; {x}"]),
    ("Tensor", "sum_to_size", ["{g:n,k}; 1, {k}", "{g:n,k}; ({n}, 1)"]),
    ("Tensor", "resize", ["{f:n,k}; {n}", "{f:n,k}; 3, 4"]),
]  # fmt: skip
ROWS = [*_SCATTERS, *_ORDERS, *_ARRANGED]
