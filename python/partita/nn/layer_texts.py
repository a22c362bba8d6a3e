"""Texts of layers: what `repr` has between the brackets, of the layers of the library whose classes do not say it."""


def _dense(one):
    bias = f", has_bias={one.has_bias}" if one.has_bias else ""
    activation = "" if one.activation is None else f", activation={one.activation!r}"
    return f"input_channels={one.in_channels}, output_channels={one.out_channels}{bias}{activation}"


def _linear(one):
    bias = f", has_bias={one.has_bias}" if one.has_bias else ""
    return f"input_features={one.in_features}, output_features={one.out_features}{bias}"


def _conv2d(one):
    return (
        f"input_channels={one.in_channels}, output_channels={one.out_channels}, kernel_size={one.kernel_size}, "
        f"stride={tuple(one.stride)}, pad_mode={one.pad_mode}, padding={one.padding}, dilation={one.dilation}, "
        f"group={one.group}, has_bias={one.has_bias}"
    )


def _batch_norm(one):
    return (
        f"num_features={one.num_features}, eps={one.eps}, momentum={one.momentum}, gamma={one.gamma}, "
        f"beta={one.beta}, moving_mean={one.moving_mean}, moving_variance={one.moving_variance}"
    )


def _layer_norm(one):
    return (
        f"normalized_shape={one.normalized_shape}, begin_norm_axis={one.begin_norm_axis}, "
        f"begin_params_axis={one.begin_params_axis}, gamma{one.gamma}, beta={one.beta}"
    )


def _embedding(one):
    rows, width = one.embedding_table.shape
    return (
        f"vocab_size={rows}, embedding_size={width}, use_one_hot={one.use_one_hot}, "
        f"embedding_table={one.embedding_table}, dtype={one.embedding_table.dtype}, padding_idx={one.padding_idx}"
    )


def _dropout(one):
    return f"p={one.p}" if one._has_p else f"keep_prob={one.keep_prob}"


def _pool2d(one):
    return f"kernel_size={one.kernel_size}, stride={one.stride}, pad_mode={one.pad_mode.upper()}"


def _norm(one):
    return f"axis={one.axis}, keep_dims={one.keep_dims}"


_TEXTS = {
    "Dense": _dense, "Linear": _linear, "Conv2d": _conv2d, "_BatchNorm": _batch_norm, "LayerNorm": _layer_norm,
    "Embedding": _embedding, "Dropout": _dropout, "_Pool2d": _pool2d, "Norm": _norm,
}  # fmt: skip


def text_of(layer):
    """Returns the text of a layer by the nearest of its classes that has one, "" of others."""
    for kind in type(layer).__mro__:
        made = _TEXTS.get(kind.__name__) if kind.__module__.startswith("partita.") else None
        if made is not None:
            return made(layer)
    return ""
