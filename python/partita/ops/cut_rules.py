"""Which dimensions of the results of an op are those of its operands.

A rule gives (dimensions of each operand, dimensions of each result, names that cannot be cut). A dimension is a name,
the same one where a cut of one tensor is a cut of the other. It is None where a dimension has one element."""


def _named(sizes, names=None):
    return [None if size == 1 else name for size, name in zip(sizes, names or range(len(sizes)))]


def pointwise(operands, results, attrs):
    """Each element by itself, broadcast."""
    sizes = results[0]

    def of(shape):
        lead = len(sizes) - len(shape)
        return [lead + i if size == sizes[lead + i] and size > 1 else None for i, size in enumerate(shape)]

    return [of(one) for one in operands], [_named(sizes) for _ in results], set()


def _reduced(operands, results, attrs):
    x, axes, keeps = operands[0], attrs[0], attrs[1]
    axes = {axis % len(x) for axis in axes} or set(range(len(x)))
    names = _named(x)
    left = [None if i in axes else name for i, name in enumerate(names) if keeps or i not in axes]
    return [names], [left], set()


def _matmul(operands, results, attrs):
    a, b, y = *operands, results[0]
    lead = len(y) - 2

    def batch(shape):
        before = len(shape) - 2
        return [
            lead - before + i if size == y[lead - before + i] and size > 1 else None
            for i, size in enumerate(shape[:before])
        ]

    first = ["k", "i"] if attrs[0] else ["i", "k"]
    second = ["j", "k"] if attrs[1] else ["k", "j"]
    of_y = _named(y, [*range(lead), "i", "j"])
    return [batch(a) + _named(a[-2:], first), batch(b) + _named(b[-2:], second)], [of_y], set()


def _groups(x, y):
    """Pairs of runs of dimensions that have the same elements, dimensions of one element left out."""
    xs, ys = [[i for i, size in enumerate(shape) if size != 1] for shape in (x, y)]
    found = []
    while xs or ys:
        left, right = [], []
        have, want = 1, 1
        while (have != want or not left) and (xs or ys):
            if (have <= want and xs) or not ys:
                left.append(xs.pop(0))
                have *= x[left[-1]]
            else:
                right.append(ys.pop(0))
                want *= y[right[-1]]
        found.append((left, right))
    return found


def _reshape(operands, results, attrs):
    x, y = operands[0], results[0]
    of_x, of_y, whole = [None] * len(x), [None] * len(y), set()
    if 0 in x:
        return [of_x], [of_y], whole
    for number, (left, right) in enumerate(_groups(x, y)):
        # A run that is merged or divided is cut along its first dimension.
        for at, places, names in ((0, left, of_x), (0, right, of_y)):
            for i in places:
                names[i] = number if i == places[at] else (number, "inner", i)
                if i != places[at]:
                    whole.add(names[i])
    return [of_x], [of_y], whole


def _transpose(operands, results, attrs):
    names = _named(operands[0])
    return [names], [[names[i] for i in attrs[0]]], set()


def _same_but(axis_of):
    """A rule of ops whose results have the dimensions of the operand, all but one of which may be cut."""

    def rule(operands, results, attrs):
        names, axis = _named(operands[0]), axis_of(attrs) % len(operands[0])
        of_results = [[None if i == axis else name for i, name in enumerate(names)] for _ in results]
        return [names], of_results, {axis}

    return rule


def _cumsum(operands, results, attrs):
    names = _named(operands[0])
    return [names], [names], {attrs[0] % len(names)}


def _take_along(operands, results, attrs):
    lead = len(operands[0]) - 1
    names = [*_named(operands[0][:lead]), "z"], [*_named(operands[1][:lead]), "k"]
    return list(names), [names[1]], set()


def _bias_add(operands, results, attrs):
    names = _named(operands[0])
    return [names, [names[int(attrs["axis"])]]], [names], set()


def _embedding(operands, results, attrs):
    ids = _named(operands[1])
    return [["v", "z"], ids], [[*ids, "z"]], set()


def _one_hot(operands, results, attrs):
    ids = _named(operands[0])
    return [ids], [[*ids, "depth"]], set()


def _norm(operands, results, attrs):
    names = _named(operands[0])
    last = names[-1:]
    return [names, *[last] * (len(operands) - 1)], [names, *[[*names[:-1], None]] * (len(results) - 1)], set()


def _argmax(operands, results, attrs):
    names = _named(operands[0])
    return [names], [names[:-1]], set()


def _concat(operands, results, attrs):
    axis = int(attrs["axis"])
    names = _named(results[0])
    return (
        [
            [name if i == axis or size > 1 else None for i, (name, size) in enumerate(zip(names, one))]
            for one in operands
        ],
        [names],
        {axis},
    )


def _slice(operands, results, attrs):
    x, y = operands[0], results[0]
    names = _named(x)
    whole = {i for i in range(len(x)) if x[i] != y[i]}
    return [names], [[None if i in whole else name for i, name in enumerate(names)]], whole


def _windows(operands, results, attrs):
    n, c, h, w = "nchw"
    return [[n, c, h, w]], [_named(one, [n, c, h, w]) for one in results], set()


def _conv2d(operands, results, attrs):
    if int(attrs["groups"]) != 1:
        return None
    weight = ["o", "c", "p", "q"]
    return (
        [_named(operands[0], list("nchw")), _named(operands[1], weight)],
        [_named(results[0], list("nohw"))],
        {"p", "q"},
    )


def _batch_norm(operands, results, attrs):
    names, channels = list("nchw")[: len(operands[0])], ["c"]
    statistics = [[None, "c"]] * (len(results) - 1)
    return (
        [_named(operands[0], names), *[channels] * (len(operands) - 1)],
        [_named(results[0], names), *statistics],
        set(),
    )


def _running_statistics(operands, results, attrs):
    return [["c"], ["c"], [None, "c"], [None, "c"]], [["c"], ["c"]], set()


def _losses(operands, results, attrs):
    names = _named(operands[0])
    return [names, names[:-1]], [names[:-1]], set()


_POINTWISE = """
    exp log rsqrt tanh sigmoid silu erf sqrt sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh expm1 log1p
    erfc erfinv lgamma digamma polygamma softplus relu neg square abs gelu pow scale cast logical_not add sub mul
    div power floor_div remainder maximum minimum shared_maximum shared_minimum equal not_equal less less_equal greater
    greater_equal logical_and logical_or select binary_cross_entropy leaky_relu dropout broadcast_to softmax log_softmax
    """.split()
# By the names of functions of the library, or of ops; attributes are the arguments after the operands, or named.
RULES = {name: pointwise for name in _POINTWISE} | {
    **{f"reduce_{one}": _reduced for one in ("sum", "mean", "max", "min")},
    "matmul": _matmul,
    "reshape": _reshape,
    "flatten": _reshape,
    "transpose": _transpose,
    "cumsum": _cumsum,
    "split": _same_but(lambda attrs: attrs[1]),
    "top_k": _same_but(lambda attrs: -1),
    "take_along": _take_along,
    "bias_add": _bias_add,
    "embedding": _embedding,
    "one_hot": _one_hot,
    "layer_norm": _norm,
    "rms_norm": _norm,
    "argmax": _argmax,
    "concat": _concat,
    "slice": _slice,
    "max_pool": _windows,
    "avg_pool": _windows,
    "conv2d": _conv2d,
    "batch_norm": _batch_norm,
    "batch_norm_inference": _batch_norm,
    "running_statistics": _running_statistics,
    "sample_losses": lambda *given: _losses(*given) if given[2][0] == "sparse" else None,
}
# Functions that make several nodes, so that an annotation of their results would not be one of their operands.
SEVERAL = {"repeat", "build_loss", "sample_losses"}
