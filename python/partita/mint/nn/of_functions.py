"""Layers that call a function with the settings that they were made with."""

import inspect
import textwrap
from collections.abc import Sequence

from partita.common.tensor import Tensor
from partita.mint import activations as A
from partita.mint import functions, images, losses
from partita.nn.cell import Cell
from partita.nn.cell_errors import inputs_before, require_few
from partita.ops import functional as F


def _parameter_of(function, name):
    return inspect.signature(function, eval_str=True).parameters[name]


def layer_of(name, function, settings="", doc=None, **defaults):
    """The class of a layer that gives what a function of its inputs gives. `settings` are the parameters of the
    function that the constructor takes, in this order; their defaults are those of the function, or others."""
    names, kind = settings.split(), inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind)]
    for one in names:
        own = _parameter_of(function, one)
        default = defaults[one] if one in defaults else own.default
        parameters.append(inspect.Parameter(one, kind, default=default, annotation=own.annotation))
    signature = inspect.Signature(parameters)

    def __init__(self, *args, **kwargs):
        Cell.__init__(self)
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        for one in names:
            setattr(self, one, given.arguments[one])

    most = inputs_before(function, names)

    def construct(self, *inputs, **named):
        require_few(self, inputs, most)
        return function(*inputs, **named, **{one: getattr(self, one) for one in names})

    def extend_repr(self):
        return ", ".join(f"{one}={getattr(self, one)!r}" for one in names)

    __init__.__signature__ = signature
    text = textwrap.fill(" ".join(doc.split()), 112) if doc else function.__doc__
    members = {"__init__": __init__, "construct": construct, "extend_repr": extend_repr}
    members.update(__doc__=text, __module__="partita.mint.nn", __qualname__=name)
    return type(name, (Cell,), members)


def _max_unpool2d(
    input: Tensor,
    indices: Tensor,
    output_size: Sequence[int] | None = None,
    *,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
) -> Tensor:
    """Images of zeros with the elements of x[n, c, h, w] at the places that `MaxPool2d` gave with them."""
    return images.max_unpool2d(input, indices, kernel_size, stride, padding, output_size)


_POOL = "kernel_size stride padding ceil_mode count_include_pad"
_SIZES = "output_size kernel_size dilation padding stride"

# (function, parameters of the constructor, defaults that are not those of the function), by the names of layers.
_LAYERS = {
    "AdaptiveAvgPool1d": (images.adaptive_avg_pool1d, "output_size"),
    "AdaptiveAvgPool2d": (images.adaptive_avg_pool2d, "output_size"),
    "AdaptiveAvgPool3d": (images.adaptive_avg_pool3d, "output_size"),
    "AdaptiveMaxPool1d": (images.adaptive_max_pool1d, "output_size return_indices"),
    "AdaptiveMaxPool2d": (images.adaptive_max_pool2d, "output_size return_indices"),
    "AvgPool1d": (images.avg_pool1d, _POOL),
    "AvgPool2d": (images.avg_pool2d, f"{_POOL} divisor_override"),
    "AvgPool3d": (images.avg_pool3d, f"{_POOL} divisor_override"),
    "BCELoss": (losses.binary_cross_entropy, "weight reduction"),
    "BCEWithLogitsLoss": (losses.binary_cross_entropy_with_logits, "weight reduction pos_weight"),
    "CosineEmbeddingLoss": (F.cosine_embedding_loss, "margin reduction"),
    "CrossEntropyLoss": (losses.cross_entropy, "weight ignore_index reduction label_smoothing"),
    "ELU": (A.elu, "alpha inplace"),
    "Flatten": (functions.flatten, "start_dim end_dim", {"start_dim": 1}),
    "Fold": (images.fold, _SIZES),
    "GELU": (functions.gelu, "approximate"),
    "GLU": (A.glu, "dim"),
    "Hardshrink": (A.hardshrink, "lambd"),
    "Hardsigmoid": (A.hardsigmoid, ""),
    "Hardswish": (A.hardswish, ""),
    "Hardtanh": (A.hardtanh, "min_val max_val inplace"),
    "KLDivLoss": (losses.kl_div, "reduction log_target"),
    "L1Loss": (F.l1_loss, "reduction"),
    "LogSigmoid": (A.logsigmoid, ""),
    "LogSoftmax": (functions.log_softmax, "dim"),
    "MaxPool2d": (
        images.max_pool2d,
        "kernel_size stride padding dilation return_indices ceil_mode",
        {"kernel_size": 1},
    ),
    "MaxUnpool2d": (_max_unpool2d, "kernel_size stride padding"),
    "Mish": (A.mish, ""),
    "MSELoss": (F.mse_loss, "reduction"),
    "NLLLoss": (losses.nll_loss, "weight ignore_index reduction"),
    "PixelShuffle": (images.pixel_shuffle, "upscale_factor"),
    "ReLU": (A.relu, ""),
    "ReLU6": (A.relu6, "inplace"),
    "SELU": (A.selu, ""),
    "SiLU": (A.silu, "inplace"),
    "Sigmoid": (F.sigmoid, ""),
    "SmoothL1Loss": (losses.smooth_l1_loss, "reduction beta"),
    "SoftMarginLoss": (F.soft_margin_loss, "reduction"),
    "Softmax": (A.softmax, "dim"),
    "Softshrink": (A.softshrink, "lambd"),
    "Tanh": (F.tanh, ""),
    "Threshold": (A.threshold, "threshold value inplace"),
    "Unfold": (images.unfold, "kernel_size dilation padding stride"),
    "Upsample": (images.interpolate, "size scale_factor mode align_corners recompute_scale_factor"),
}

_REDUCED = 'by `reduction` the "mean" or the "sum" as a number, or with "none" one of each'

# What layers say that is not what their functions say.
_TEXTS = {
    "BCEWithLogitsLoss": f"""Binary cross entropy of logits with targets of their shape: {_REDUCED} element. `weight`
    multiplies losses, `pos_weight` counts positive targets more or less. A call raises ValueError for shapes that do
    not broadcast.""",
    "CrossEntropyLoss": f"""Softmax cross entropy of logits[n, classes, ..] with classes [n, ..], of which
    `ignore_index` does not count, or with probabilities of the shape of the logits: {_REDUCED} sample. Classes may
    have weights, `weight` [classes]; `label_smoothing` is the share of the labels that goes to all classes alike. A
    call raises ValueError for shapes that do not fit, IndexError for classes outside.""",
    "L1Loss": f"""|input - target|, of shapes that broadcast: {_REDUCED} element. A call raises ValueError for shapes
    that do not, and for another reduction.""",
    "MSELoss": f"""(input - target)^2, of shapes that broadcast: {_REDUCED} element. A call raises ValueError for shapes
    that do not, and for another reduction.""",
    "ReLU": "max(x, 0), in the shape and the element type of x, which may be one of integers.",
    "Sigmoid": "1 / (1 + exp(-x)), in the shape of x; of integers as float32.",
    "Tanh": "The hyperbolic tangent of each element, in the shape of x; of integers as float32.",
}

LAYERS = {
    name: layer_of(name, one[0], one[1], _TEXTS.get(name), **dict(*one[2:])) for name, one in _LAYERS.items()
}
