"""Templates of calls of pools, resized and sampled images, norms of channels and more losses: see drawn_templates."""

_REDUCTION = "{'mean'|'sum'|'none'}"
_REDUCED = "[?, reduction=" + _REDUCTION + "]"
_GRID = "ms.Tensor(np.array({g:n,h,w,2}.asnumpy() / 3)), "
_POOLS = [
    ("nn", "MaxPool3d", [
        "{1|2}, {1|2}[?, 'same']; {c:n,k,3,4,3}",
        "2, {1|2}, 'pad', 1[?, ceil_mode=True]; {c:n,k,3,4,3}",
    ]),
    ("nn", "AvgPool3d", [
        "{1|2}, {1|2}[?, 'same']; {g:n,k,3,4,3}", "2, {1|2}, 'pad', 1, {True|False}, {True|False}; {g:n,k,3,4,3}",
        "2, 1, divisor_override={2|5}; {g:n,k,3,4,3}",
    ]),
    ("ops", "max_pool3d", [
        "{g:n,k,4,4,3}; {2|(1, 2, 3)}, {1|2}, {0|1}[?, ceil_mode=True]",
        "{g:n,k,4,3,3}; 2, 1, 0, {1|2}",
    ]),
    ("ops", "avg_pool3d", ["{g:n,k,4,4,3}; {2|(1, 2, 3)}, {1|2}, {0|1}[?, {True|False}, {True|False}]"]),
    ("ops", "max_pool2d", ["{g:n,k,5,6}; {2|3}, {1|2}, {0|1}, {1|2}, True[?, True]", "{g:n,k,5,6}; 2, {1|2}, 0, 2"]),
    ("nn", "MaxPool1d", ["{2|3}, {1|2}, 'pad', {0|1}, 1, True; {g:n,k,6}", "{2|3}[?, {1|2}]; {g:n,k,6}"]),
    ("nn", "MaxPool2d", ["{2|3}, {1|2}, 'pad', {0|1}, 1, True; {g:n,k,6,5}"]),
    ("ops", "adaptive_avg_pool2d adaptive_max_pool2d", [
        "{g:n,k,h,w}; ({1..5}, {1..5})",
        "{g:n,k,5,6}; {None, 2|3, None}",
    ]),
    ("ops", "adaptive_avg_pool3d", ["{g:n,k,d,h,w}; ({1..5}, {1..5}, {1..5})", "{g:n,k,d,h,w}; {1|3}"]),
    ("ops", "adaptive_max_pool3d", ["{g:n,k,d,h,w}; ({1..5}, {1..5}, {1..5})[?, True]"]),
    ("op", "AdaptiveAvgPool2D AdaptiveMaxPool2D", ["({1..5}, {1..5}); {g:n,k,h,w}"]),
    ("op", "MaxPool3D AvgPool3D", ["2, {1|2}[?, {'same'|'valid'}]; {g:n,k,4,3,5}", "2, 2, 'pad', 1; {g:n,k,4,3,5}"]),
    ("op", "MaxPoolWithArgmaxV2", ["{2|3}, {1|2}, {0|1}; {g:n,k,6,5}"]),
    ("ops", "lp_pool1d", ["{p:n,k,6}; {1|2|2.0|3}, {2|3}[?, {1|2}]"]),
    ("ops", "lp_pool2d", ["{p:n,k,6,5}; {1|2|2.0|3}, {2|(2, 3)}[?, {1|2}]"]),
    ("nn", "LPPool1d", ["{1|2}, 2[?, 1]; {p:n,k,6}"]),
    ("nn", "LPPool2d", ["{1|2}, 2[?, 1]; {p:n,k,6,5}"]),
]  # fmt: skip
_IMAGES = [
    ("ops", "interpolate upsample", [
        "{g:n,k,h,w}; ({1..6}, {1..6}), mode={'bicubic'|'bilinear'|'nearest-exact'}",
        "{g:n,k,d,h,w}; ({1..5}, {2..5}, {2..5}), mode={'trilinear'|'area'|'nearest'}",
        "{g:n,k,h,w}; ({2..6}, {2..6}), None, 'bicubic', True",
    ]),
    ("nn", "Upsample", [
        "({1..6}, {1..6}); {g:n,k,h,w}",
        "({2..6}, {2..6}), mode='bilinear', align_corners=True; {g:n,k,h,w}",
    ]),
    ("op", "ResizeBilinearV2 ResizeNearestNeighborV2 ResizeBicubic", [
        "[?{True|False, True}]; {g:n,k,h,w}, ({1..6}, {1..6})",
    ]),
    ("op", "ResizeLinear1D", ["[?'half_pixel']; {g:n,k,w}, ({2..7},)"]),
    ("op", "ResizeArea", ["[?True]; {g:n,4,3,k}, ms.Tensor([{2..5}, {2..5}], ms.int32)"]),
    ("ops", "grid_sample", [
        "{g:n,k,4,3}; " + _GRID + "{'bilinear'|'nearest'}, {'zeros'|'border'|'reflection'}, {True|False}",
    ]),
    ("ops", "affine_grid", ["{g:n,2,3}; ({n}, 1, {h}, {w})[?, True]", "{g:n,3,4}; ({n}, 1, {d}, {h}, {w})[?, True]"]),
    ("ops", "fold", [
        "{g:n,8,9}; ms.Tensor([4, 4], ms.int32), 2",
        "{g:n,4,6}; ms.Tensor([{4|5}, 6], ms.int32), 2, 1, 0, 2",
    ]),
    ("ops", "pixel_shuffle", ["{g:n,4,h,w}; {1|2}", "{g:9,h,w}; 3"]),
    ("ops", "pixel_unshuffle", ["{g:n,k,4,6}; {1|2}", "{g:k,6,3}; 3"]),
    ("nn", "PixelUnshuffle", ["{1|2}; {g:n,k,4,6}"]),
    ("ops", "channel_shuffle", ["t([[[[{1..9}]], [[2]], [[3]], [[4]]]]); {1|2|4}"]),
    ("nn", "ReflectionPad1d ReplicationPad1d", ["{1|2|(1, 2)|(0, 1)}; {g:n,k,4}"]),
    ("nn", "ReplicationPad2d", ["{1|2|(1, 2, 0, 1)}; {g:n,k,h,w}"]),
    ("nn", "ReflectionPad3d ReplicationPad3d", ["{1|(1, 2, 0, 1, 1, 1)}; {g:n,k,3,4,3}"]),
    ("nn", "ConstantPad3d", ["{1|(1, 2, 0, 1, 1, 1)|(1, 0)}, {0.5|2}; {g:n,k,d,h,w}"]),
    ("nn", "ImageGradients", ["; {g:n,k,h,w}"]),
]  # fmt: skip
_OTHERS = [
    ("ops", "group_norm", ["{g:n,4,h,w}; {1|2|4}[?, {g:4}, {g:4}][?, eps=1e-3]"]),
    ("ops", "lrn", ["{g:n,k,h,w}; [?{0..3}, {1.0|2.0}, {1.0|0.1}, {0.5|0.75}]"]),
    ("nn", "LRN", ["[?{0..3}, {1.0|2.0}, {1.0|0.1}, {0.5|0.75}]; {g:n,k,h,w}"]),
    ("ops", "threshold", ["{x}; {0|1}, {2|20}", "{g}; 0.5, {-1.0|0.25}"]),
    ("ops", "softshrink hardshrink", ["{g}; [?{0.25|1.0}]"]),
    ("nn", "SoftShrink HShrink", ["[?{0.25|1.0}]; {g}"]),
    ("nn", "Softmax2d", ["; {g:n,k,h,w}", "; {g:k,h,w}"]),
    ("nn", "Threshold", ["0.5, {1.0|-2.0}; {g}"]),
    ("ops", "bidense", ["{g:n,k}; {g:n,m}, {g:q,k,m}[?, {g:q}]"]),
    ("nn", "BiDense", ["{k}, {m}, {q}[?, has_bias=False]; {g:n,k}, {g:n,m}"]),
    ("nn", "Linear", ["{k}, {m}[?, False]; {g:n,k}", "{k}, {m}; {g:k}"]),
    ("nn", "Moments", ["[?{0|1|(0, 1)}, {True|False}]; {g:n,k}"]),
    ("nn", "L1Regularizer", ["{0.5|2}; {g}"]),
    ("ops", "gaussian_nll_loss", ["{g:n,k}; {g:n,k}, {p:n,k}[?, True]" + _REDUCED, "{g:n,k}; {g:n,k}, {p:n,1}"]),
    ("nn", "PoissonNLLLoss", ["[?True, {True|False}, 1e-8, " + _REDUCTION + "]; {g:n,k}, {p:n,k}"]),
    ("ops", "multi_margin_loss", ["{g:n,4}; ms.Tensor({ids:n<4}.asnumpy().astype('i8'))[?, {1|2}, {1|2}]" + _REDUCED]),
    ("ops", "multilabel_soft_margin_loss", ["{g:n,k}; {u:n,k}" + _REDUCED, "{g:n,k}; {g:n,k}, {g:k}"]),
    ("nn", "TripletMarginWithDistanceLoss", ["[?swap=True, margin={0.5|2.0}]; {g:n,3}, {g:n,3}, {g:n,3}"]),
    ("nn", "FocalLoss", [
        "[?gamma={1.0|3.0}, reduction=" + _REDUCTION + "]; {g:n,4}, ms.Tensor({ids:n,1<4}.asnumpy())",
    ]),
    ("nn", "RMSELoss", ["; {g:n,k}, {g:n,k}"]),
    ("op", "SmoothL1Loss", ["[?{0.5|2.0}, " + _REDUCTION + "]; {g:n,k}, {g:n,k}"]),
    ("op", "BCEWithLogitsLoss", ["[?" + _REDUCTION + "]; {g:n,k}, {g:n,k}, {g:n,k}, {g:n,k}"]),
    ("op", "L2Loss", ["; {g}"]),
    ("ops", "ctc_loss", [
        "ops.log_softmax({g:5,n,4}, -1); {ids:n,2<3} + 1, t([{5|4}] * {n}), t([{1|2}] * {n})" + _REDUCED,
    ]),
    ("ops", "conv3d_transpose", ["{g:n,k,2,3,2}; {g:k,m,2,1,2}[?, 'same'][?, stride=2]"]),
    ("nn", "Conv3dTranspose", ["{k}, {m}, {1|2}[?, 2][?, has_bias=True]; {g:n,k,2,3,2}"]),
]  # fmt: skip
ROWS = [*_POOLS, *_IMAGES, *_OTHERS]
