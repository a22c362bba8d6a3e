"""Convolutions of volumes and channels as objects, and ops that are refused by name."""

from partita.ops import functional as F
from partita.ops.absent import refusing_class
from partita.ops.made import op
from partita.ops.patches import convolved

_ELSEWHERE = {
    "BasicLSTMCell": "nn.LSTMCell",
    "DeformableOffsets": "ops.deformable_conv2d",
    "DropoutDoMask": "ops.Dropout",
    "DynamicGRUV2": "nn.GRU",
    "DynamicRNN": "nn.LSTM",
    "FractionalAvgPool": "ops.adaptive_avg_pool2d",
    "FractionalMaxPool": "ops.fractional_max_pool2d",
    "RNNTLoss": "ops.CTCLossV2",
}
__all__ = [
    *_ELSEWHERE,
    *"Conv3D Conv3DTranspose DepthwiseConv2dNative".split(),
]
globals().update({name: refusing_class(name, instead) for name, instead in _ELSEWHERE.items()})


def _order(where, data_format, mode):
    if data_format != "NCDHW" or mode != 1:
        raise ValueError(f"[{where}] this form is not there, got {data_format!r}, mode={mode}, expected 'NCDHW' and 1")


@op
def Conv3D(
    out_channel, kernel_size, mode=1, pad_mode="valid", pad=0, stride=1, dilation=1, group=1, data_format="NCDHW"
):
    """(x[n, c, d, h, w], filters [out, c / groups, kd, kh, kw]) gives the convolution. Raises ValueError for shapes
    that do not fit."""
    _order("Conv3D", data_format, mode)
    options = pad_mode, pad, dilation, group
    return lambda x, weight: convolved(x, weight, None, stride, *options)


@op
def Conv3DTranspose(
    in_channel,
    out_channel,
    kernel_size,
    mode=1,
    pad_mode="valid",
    pad=0,
    stride=1,
    dilation=1,
    group=1,
    output_padding=0,
    data_format="NCDHW",
):
    """(x[n, c, d, h, w], filters [c, out / groups, kd, kh, kw]) gives the transposed convolution."""
    _order("Conv3DTranspose", data_format, mode)
    return lambda x, weight: F.conv3d_transpose(x, weight, pad_mode, pad, stride, dilation, group, output_padding)


@op
def DepthwiseConv2dNative(
    channel_multiplier, kernel_size, mode=3, pad_mode="valid", pad=0, stride=1, dilation=1, group=1
):
    """(x[n, c, h, w], filters [multiplier, c, kh, kw]) gives the convolutions of each channel by itself, those of a
    channel next to each other."""

    def call(x, weight):
        c = x.shape[1]
        filters = F.reshape(F.transpose(weight, (1, 0, 2, 3)), [c * channel_multiplier, 1, *weight.shape[2:]])
        return F.conv2d(x, filters, None, stride, pad_mode, pad, dilation, c)

    return call
