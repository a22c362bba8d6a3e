"""Records what PyTorch gives for calls of `ops` and `nn` that MindSpore cannot run on a CPU, those of
tests/python/surface/functions.calls. Writes tests/python/surface/functions.torch.

make_torch.py, with a Python that has PyTorch, in the folder of the repository; tests/python is on its path."""

import types

import make_mint
import numpy as np
import surface_calls
import torch
from torch.nn import functional as F

FOLDER = "tests/python/surface/"


def einsum(equation, *operands):
    return torch.einsum(equation, *operands)


def ormqr(input, tau, other, left=True, transpose=False):
    return torch.ormqr(input, tau, other, left, transpose)


def rms_norm(x, gamma, epsilon=1e-6):
    """The normalized rows, and the reciprocals of their sizes."""
    size = (x.square().mean(-1, keepdim=True) + epsilon).rsqrt()
    return F.rms_norm(x, gamma.shape, gamma, epsilon), size


def swiglu(x, dim=-1):
    first, second = x.chunk(2, dim)
    return F.silu(first) * second


def rotary_position_embedding(x, cos, sin, mode=0):
    if mode == 0:
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    else:
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cos + turned * sin


def quantile(function):
    return lambda input, q, axis=None, keepdims=False: function(input, q, axis, keepdims)


def multilabel_margin_loss(input, target, reduction="mean"):
    return F.multilabel_margin_loss(input, target, reduction=reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction="mean"):
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=reduction)


def triplet_layer(p=2, swap=False, eps=1e-6, reduction="mean", margin=1.0):
    return lambda *rows: F.triplet_margin_loss(*rows, margin, p, eps, swap, reduction=reduction)


def float_status():
    return lambda x: (~torch.isfinite(x)).any().float().reshape(1)


def unfold(ksizes, strides, rates, padding="valid"):
    """The elements of each window as channels, those of a place together."""
    rows, columns = ksizes[1:3]

    def call(x):
        found = F.unfold(x, (rows, columns), tuple(rates[1:3]), 0, tuple(strides[1:3]))
        height = (x.shape[2] - (rows - 1) * rates[1] - 1) // strides[1] + 1
        parts = found.reshape(len(x), x.shape[1], rows * columns, height, -1)
        return parts.transpose(1, 2).reshape(len(x), -1, height, parts.shape[-1])

    return call


def norms(kind):
    """The layer with parameters unless they are declined."""
    return lambda count, eps=1e-5, momentum=0.1, affine=True: kind(count, eps, momentum, affine)


def names():
    found = make_mint.names()
    ops = types.SimpleNamespace(
        einsum=einsum, ormqr=ormqr, rms_norm=rms_norm, swiglu=swiglu, FloatStatus=float_status, roll=torch.roll,
        fmin=torch.fmin, matrix_exp=torch.matrix_exp, log=torch.log, quantile=quantile(torch.quantile),
        nanquantile=quantile(torch.nanquantile), multilabel_margin_loss=multilabel_margin_loss,
        triplet_margin_loss=triplet_margin_loss, rotary_position_embedding=rotary_position_embedding,
        Einsum=lambda equation: lambda operands: torch.einsum(equation, *operands),
        RmsNorm=lambda epsilon=1e-6: lambda x, gamma: rms_norm(x, gamma, epsilon),
    )  # fmt: skip
    nn = types.SimpleNamespace(
        InstanceNorm1d=norms(torch.nn.InstanceNorm1d), InstanceNorm2d=norms(torch.nn.InstanceNorm2d),
        InstanceNorm3d=norms(torch.nn.InstanceNorm3d), Unfold=unfold, TripletMarginLoss=triplet_layer,
    )  # fmt: skip
    return {**found, "ops": ops, "nn": nn}


def main():
    with open(FOLDER + "functions.torch", "w") as out:
        out.write(f"# Of PyTorch {torch.__version__}, NumPy {np.__version__}: made by make_torch.py.\n")
        for call in surface_calls.lines_of(FOLDER + "functions.calls"):
            made = make_mint.as_results(eval(call, names()))
            out.write(f"{call}\t{surface_calls.described(made)}\n")


if __name__ == "__main__":
    main()
