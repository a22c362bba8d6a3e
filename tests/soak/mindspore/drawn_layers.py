"""Templates of calls of layers, losses, windows, schedules and metrics: see drawn_templates. Layers get parameters."""

_REDUCTION = "{'mean'|'sum'|'none'}"
_REDUCED = "[?, reduction=" + _REDUCTION + "]"
_PADDED = "[?, {pad_mode='valid'|pad_mode='same'|pad_mode='pad', padding=1}]"
_BIAS = "[?, has_bias=True, bias_init='ones']"
_LAYERS = [
    ("nn", "Dense", [
        "{k}, {m}; {g:n,k}", "{k}, {m}[?, has_bias=False][?, activation={'relu'|'tanh'|'gelu'|'sigmoid'}]; {g:n,k}",
        "{k}, {m}; {g:q,n,k}",
    ]),
    ("mint.nn", "Linear", ["{k}, {m}[?, bias=False]; {g:n,k}", "{k}, {m}; {g:q,n,k}"]),
    ("nn", "Conv1d", [
        "{k}, {m}, {1|2|3}" + _PADDED + "[?, stride=2]" + _BIAS + "; {g:n,k,6}", "2, 4, 3, group=2; {g:n,2,5}",
    ]),
    ("nn", "Conv2d", [
        "{k}, {m}, {1|2|3}" + _PADDED + "[?, stride=2]" + _BIAS + "; {g:n,k,5,6}",
        "4, 4, 3, group={2|4}; {g:n,4,5,5}",
        "{k}, {m}, ({2|3}, {1|2}), dilation={1|2}[?, pad_mode='valid']; {g:n,k,6,5}",
        "{k}, {m}, 3, pad_mode='pad', padding=({0..2}, 1, {0..1}, 2); {g:n,k,5,5}",
    ]),
    ("nn", "Conv3d", ["{k}, {m}, {1|2}" + _PADDED + _BIAS + "; {g:n,k,3,4,3}"]),
    ("nn", "Conv1dTranspose", ["{k}, {m}, {1|2|3}" + _PADDED + "[?, stride=2]" + _BIAS + "; {g:n,k,5}"]),
    ("nn", "Conv2dTranspose", [
        "{k}, {m}, {1|2|3}" + _PADDED + "[?, stride=2]" + _BIAS + "; {g:n,k,4,5}",
        "{k}, {m}, 3, stride=2, pad_mode='pad', padding=1, output_padding=1; {g:n,k,4,4}",
    ]),
    ("ops", "conv2d", [
        "{g:n,k,5,6}; {g:m,k,2,3}[?, {g:m}][?, stride={1|2}][?, pad_mode='same']",
        "{g:n,k,5,5}; {g:m,k,3,3}, pad_mode='pad', padding={1|(1, 2)}[?, dilation=2]",
        "{g:n,4,4,4}; {g:4,2,2,2}, groups=2",
    ]),
    ("ops", "conv3d", ["{g:n,k,3,4,3}; {g:m,k,2,2,2}[?, stride=2][?, pad_mode='same']"]),
    ("op", "Conv2D", [
        "{m}, {2|3}[?, pad_mode='same'][?, stride=2]; {g:n,k,5,5}, {g:m,k,2,2}",
        "{m}, 3[?, pad_mode='pad', pad=1]; {g:n,k,5,5}, {g:m,k,3,3}",
    ]),
    ("op", "Conv2DTranspose Conv2DBackpropInput", [
        "{m}, 3[?, pad_mode={'same'|'valid'}]; {g:n,m,3,3}, {g:m,k,3,3}, ({n}, {k}, {3|5}, {3|5})",
        "{m}, 3; {g:n,m,3,3}, {g:m,k,3,3}, ({n}, {k}, 5, 5)",
    ]),
    ("nn", "LayerNorm", [
        "({k},); {g:n,k}", "({k},)[?, epsilon=1e-3]; {g:q,n,k}",
        "[{n}, {k}], {1, 1|begin_norm_axis=1, begin_params_axis=1}; {g:q,n,k}",
    ]),
    ("nn", "GroupNorm", ["2, 4[?, eps=1e-3]; {g:n,4,h,w}", "1, {k}[?, affine=False]; {g:n,k,3,3}"]),
    ("nn", "BatchNorm1d", ["{k}[?, eps=1e-3][?, affine=False]; {g:n,k}", "{k}, use_batch_statistics=True; {g:3,k}"]),
    ("nn", "BatchNorm2d", [
        "{k}[?, eps=1e-3][?, affine=False]; {g:n,k,h,w}", "{k}, use_batch_statistics=True; {g:n,k,3,h}",
    ]),
    ("nn", "BatchNorm3d", ["{k}[?, eps=1e-3]; {g:n,k,2,h,w}"]),
    ("text", "nn.BatchNorm.set_train", [
        "given(nn.BatchNorm2d({k}[?, momentum=0.5])).set_train()({g:3,k,h,3})",
        "given(nn.BatchNorm1d({k})).set_train()({g:4,k})",
    ]),
    ("ops", "layer_norm", [
        "{g:n,k}; ({k},), {g:k}, {g:k}[?, {1e-3|eps=0.1}]", "{g:q,n,k}; ({n}, {k}), {g:n,k}, {g:n,k}",
    ]),
    ("functional", "layer_norm", [
        "{g:n,k}; ({k},)[?, {g:k}, {g:k}]", "{g:q,n,k}; ({k},), weight={g:k}, bias={g:k}[?, eps=0.1]",
    ]),
    ("text", "ops.LayerNorm", [
        "ops.LayerNorm()({g:n,k}, {g:k}, {g:k})[0]", "ops.LayerNorm({-1, -1|2, 2})({g:q,n,k}, {g:k}, {g:k})[0]",
    ]),
    ("ops", "rms_norm", ["{g:n,k}; {g:k}[?, {1e-3|epsilon=0.1}]", "{g:q,n,k}; {g:k}"]),
    ("op", "RmsNorm", ["[?{1e-3|epsilon=0.1}]; {g:n,k}, {g:k}"]),
    ("nn", "Embedding", [
        "5, {k}; {ids:n<5}", "5, {k}[?, use_one_hot=True]; {ids:n,m<5}", "5, {k}, padding_idx=0; {ids:n<5}",
    ]),
    ("mint.nn", "Embedding", ["5, {k}; {ids:n,m<5}"]),
    ("nn", "Dropout", ["{0.9|p=0.3|keep_prob=0.8}; {f}"]),
    ("mint.nn", "Dropout", ["0.0; {g}"]),
    ("ops functional", "dropout", ["{f}; {0.5|p=0.3}, training=False", "{f}; 0.0"]),
    ("op", "Dropout", ["1.0; {g}"]),
    ("nn", "MaxPool2d AvgPool2d", [
        "{2|3}[?, {1|2}]; {g:n,k,5,6}", "2, 2[?, pad_mode={'same'|'valid'}]; {g:n,k,5,5}",
        "({2|3}, {1|2}), stride={1|2}; {g:n,k,5,4}",
        "3, 2, pad_mode='pad', padding=1[?, ceil_mode=True]; {g:n,k,5,6}",
    ]),
    ("nn", "AdaptiveAvgPool2d", ["{1|2|(1, 2)|3}; {g:n,k,6,6}", "{2|(3, 2)}; {g:n,k,5,7}"]),
    ("ops", "max_pool2d", [
        "{g:n,k,5,6}; {2|3}[?, {1|2}]", "{g:n,k,6,6}; 3, stride={1|2}, padding=1",
        "{g:n,k,5,5}; 2, {1|2}[?, ceil_mode=True]",
    ]),
    ("ops", "avg_pool2d", [
        "{g:n,k,5,6}; {2|3}[?, {1|2}]",
        "{g:n,k,6,6}; 3, stride={1|2}, padding=1[?, count_include_pad=False][?, divisor_override=3]",
    ]),
    ("op", "MaxPool AvgPool", ["{2|3}[?, {1|2}]; {g:n,k,5,6}", "2, 2[?, pad_mode='same']; {g:n,k,5,5}"]),
    ("ops", "interpolate", [
        "{g:n,k,3,4}; size=({1..7}, {1..7})",
        "{g:n,k,3,4}; size=({2..7}, {2..7}), mode='bilinear'[?, align_corners={True|False}]",
        "{g:n,k,5}; size={1..8}[?, mode='linear']",
        "{g:n,k,3,4}; scale_factor={2.0|(2.0, 3.0)}[?, recompute_scale_factor=True]",
    ]),
    ("op", "ResizeNearestNeighbor", ["({1..7}, {1..7})[?, align_corners=True]; {g:n,k,3,4}"]),
    ("nn", "PixelShuffle", ["2; {g:n,8,h,w}", "1; {g:n,k,h,w}"]),
    ("nn", "Norm", ["[?{{axis}|axis={axis}}]; {g}", "{axis}, keep_dims=True; {g}"]),
    ("nn", "Unfold", [
        "[1, 2, 2, 1], [1, 1, {1|2}, 1], [1, 1, 1, 1]; {g:n,k,4,4}",
        "[1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1][?, padding='same']; {g:n,k,5,5}",
    ]),
    ("text", "nn.SequentialCell", [
        "given(nn.SequentialCell(nn.Dense({k}, {m}), nn.{ReLU|Tanh|GELU}(), nn.Dense({m}, 2)))({g:n,k})",
    ]),
    ("text", "nn.CellList", ["[one(x) for one in nn.CellList([nn.ReLU(), nn.Tanh()]) for x in [{g}]]"]),
    ("text", "nn.get_activation", [
        "nn.get_activation('{relu|tanh|gelu|sigmoid|relu6|elu|leakyrelu|hswish|logsoftmax|softmax}')({g:n,k})",
    ]),
]  # fmt: skip
_FIXED = "t(2, 'f4', 'unit', ({n}, {k}))"  # not differentiated
_LOSSES = [
    ("nn", "MSELoss MAELoss L1Loss", [
        "[?" + _REDUCTION + "]; {g}, {g}", "; {g:n,k}, {g:n,k}", "[?" + _REDUCTION + "]; {f}, {f}",
    ]),
    ("mint.nn", "MSELoss L1Loss", ["[?" + _REDUCTION + "]; {g}, {g}"]),
    ("ops functional", "mse_loss l1_loss", [
        "{g}; {g}[?, " + _REDUCTION + "]", "{f}; {f}[?, reduction=" + _REDUCTION + "]",
    ]),
    ("nn", "SmoothL1Loss", ["[?{0.5|2.0}, " + _REDUCTION + "]; {g}, {g}", "beta=0.5; {g}, {g}"]),
    ("ops", "smooth_l1_loss", ["{g}; {g}[?, {0.5|beta=2.0}]" + _REDUCED]),
    ("nn", "HuberLoss", ["[?" + _REDUCTION + "[?, {0.5|delta=2.0}]]; {g}, {g}"]),
    ("ops", "huber_loss", ["{g}; {g}[?, " + _REDUCTION + "[?, {0.5|delta=2.0}]]"]),
    ("nn", "KLDivLoss", ["[?{'mean'|'sum'|'none'|'batchmean'}]; {g:n,k}, {u:n,k}", "; {g}, {p}"]),
    ("ops", "kl_div", ["{g:n,k}; {u:n,k}[?, {'mean'|'sum'|'none'|'batchmean'}]"]),
    ("op", "KLDivLoss", ["[?{'mean'|'sum'|'none'|'batchmean'}]; {g:n,k}, {u:n,k}", "; {g:n,k}, " + _FIXED]),
    ("nn", "BCELoss", ["[?reduction=" + _REDUCTION + "]; {u:n,k}, {u:n,k}"]),
    ("ops", "binary_cross_entropy", [
        "{u:n,k}; {u:n,k}" + _REDUCED, "{u:n,k}; {u:n,k}, " + _FIXED + _REDUCED,
    ]),
    ("nn", "BCEWithLogitsLoss", [
        "[?" + _REDUCTION + "]; {g:n,k}, t(3, 'f4', 'unit', ({n}, {k}))", "weight={g:k}; {g:n,k}, {g:n,k}",
        "'sum', pos_weight={g:k}; {g:n,k}, {g:n,k}",
    ]),
    ("ops", "binary_cross_entropy_with_logits", [
        "{g:n,k}; {g:n,k}, " + _FIXED + ", " + _FIXED + _REDUCED,
        "{g:n,k}; t(3, 'f4', 'unit', ({n}, {k}))[?, weight={g:k}][?, pos_weight={g:k}]" + _REDUCED,
    ]),
    ("nn", "SoftmaxCrossEntropyWithLogits", [
        "True, " + _REDUCTION + "; {g:n,k}, {ids:n<k}", "[?reduction=" + _REDUCTION + "]; {g:n,k}, {u:n,k}",
    ]),
    ("text", "ops.SoftmaxCrossEntropyWithLogits", [
        "ops.SoftmaxCrossEntropyWithLogits()({g:n,k}, ops.softmax({g:n,k}, -1))[{0|0|1}]",
    ]),
    ("op", "SparseSoftmaxCrossEntropyWithLogits", ["; {g:n,k}, {ids:n<k}"]),
    ("nn mint.nn", "CrossEntropyLoss", [
        "[?reduction=" + _REDUCTION + "][?, ignore_index=1][?, label_smoothing=0.1]; {g:n,k}, {ids:n<k}",
        "weight=t(2, 'f4', 'positive', ({k},))" + _REDUCED + "; {g:n,k}, {ids:n<k}",
        "; {g:n,k}, t(2, 'f4', 'unit', ({n}, {k}))", "; {g:n,k,h,w}, {ids:n,h,w<k}",
    ]),
    ("ops functional", "cross_entropy", [
        "{g:n,k}; {ids:n<k}[?, ignore_index=0]" + _REDUCED + "[?, label_smoothing=0.1]",
        "{g:n,k}; t(2, 'f4', 'unit', ({n}, {k}))" + _REDUCED,
        "{g:n,k}; {ids:n<k}, t(2, 'f4', 'positive', ({k},))" + _REDUCED, "{g:n,k,h}; {ids:n,h<k}", "{g:k}; {ids:<k}",
    ]),
    ("nn", "NLLLoss", [
        "[?reduction=" + _REDUCTION + "][?, ignore_index=1]; {g:n,k}, {ids:n<k}",
        "t(2, 'f4', 'positive', ({k},))" + _REDUCED + "; {g:n,k}, {ids:n<k}",
    ]),
    ("ops", "nll_loss", [
        "{g:n,k}; {ids:n<k}[?, ignore_index=0]" + _REDUCED + "[?, label_smoothing=0.1]",
        "{g:n,k}; {ids:n<k}, t(2, 'f4', 'positive', ({k},))" + _REDUCED,
    ]),
    ("nn", "CosineEmbeddingLoss", [
        "[?{0.5|margin=0.2}][?, reduction=" + _REDUCTION + "]; {g:3,k}, {g:3,k}, t([1, -1, 1])",
    ]),
    ("ops", "cosine_embedding_loss", ["{g:3,k}; {g:3,k}, t([1, -1, 1])[?, margin=0.2]" + _REDUCED]),
    ("nn", "SoftMarginLoss", ["[?" + _REDUCTION + "]; {g:2,3}, ms.Tensor([[1, -1, 1], [-1, -1, 1]], ms.float32)"]),
    ("ops", "soft_margin_loss", ["{g:2,3}; ms.Tensor([[1, -1, 1], [-1, -1, 1]], ms.float32)[?, " + _REDUCTION + "]"]),
    ("nn", "MarginRankingLoss", [
        "[?{0.5|margin=0.2}][?, reduction=" + _REDUCTION + "]; {g:3}, {g:3}, ms.Tensor([1, -1, 1], ms.float32)",
    ]),
    ("ops", "margin_ranking_loss", ["{g:3}; {g:3}, ms.Tensor([1, -1, 1], ms.float32)[?, margin=0.2]" + _REDUCED]),
    ("nn", "HingeEmbeddingLoss", [
        "[?{0.5|margin=2.0}][?, reduction=" + _REDUCTION + "]; {g:3}, ms.Tensor([1, -1, 1], ms.float32)",
    ]),
    ("ops", "hinge_embedding_loss", ["{g:3}; ms.Tensor([1, -1, 1], ms.float32)[?, margin=0.5]" + _REDUCED]),
    ("nn", "DiceLoss", [
        "[?{1.0|smooth=0.1}]; {u:n,k}, {u:n,k}", "; t(1, 'f4', 'unit', (2, 3)), t(2, 'f4', 'unit', (2, 3))",
    ]),
    ("text", "nn.WithLossCell nn.WithEvalCell", [
        "given(nn.{WithLossCell|WithEvalCell}(nn.Dense({k}, 2), nn.MSELoss()))({g:n,k}, {g:n,2})",
    ]),
]  # fmt: skip
_RATES = "0.1, {0.9|0.5}, {2|4}"
_SCHEDULES = [
    ("text", "nn.ExponentialDecayLR nn.NaturalExpDecayLR nn.InverseDecayLR", [
        "nn.{ExponentialDecayLR|NaturalExpDecayLR|InverseDecayLR}(" + _RATES
        + "[?, True])(ms.Tensor({0..9}, ms.int32))",
    ]),
    ("text", "nn.CosineDecayLR", ["nn.CosineDecayLR(0.01, 0.1, {4|10})(ms.Tensor({0..12}, ms.int32))"]),
    ("text", "nn.PolynomialDecayLR", [
        "nn.PolynomialDecayLR(0.1, 0.01, {4|10}, {0.5|1.0|2.0}[?, True])(ms.Tensor({0..12}, ms.int32))",
    ]),
    ("text", "nn.WarmUpLR", ["nn.WarmUpLR(0.1, {4|10})(ms.Tensor({0..12}, ms.int32))"]),
    ("text", "nn.exponential_decay_lr nn.natural_exp_decay_lr nn.inverse_decay_lr", [
        "nn.{exponential_decay_lr|natural_exp_decay_lr|inverse_decay_lr}(0.1, 0.9, {6|8}, 2, {1|2}[?, True])",
    ]),
    ("text", "nn.cosine_decay_lr", ["nn.cosine_decay_lr(0.01, 0.1, {6|8}, 2, {2|3})"]),
    ("text", "nn.polynomial_decay_lr", ["nn.polynomial_decay_lr(0.1, 0.01, {6|8}, 2, {2|3}, {0.5|2.0}[?, True])"]),
    ("text", "nn.piecewise_constant_lr", ["nn.piecewise_constant_lr([2, 5, {7|10}], [0.1, 0.05, 0.01])"]),
    ("text", "nn.warmup_lr", ["nn.warmup_lr(0.1, {6|8}, 2, {2|3})"]),
    ("text", "nn.Accuracy", ["metric(nn.Accuracy(), {g:n,k}, {ids:n<k})"]),
    ("text", "nn.Loss", ["metric(nn.Loss(), {g:1})"]),
    ("text", "nn.Top1CategoricalAccuracy nn.Top5CategoricalAccuracy", [
        "metric(nn.{Top1CategoricalAccuracy|Top5CategoricalAccuracy}(), {g:n,6}, {ids:n<6})",
    ]),
    ("text", "nn.TopKCategoricalAccuracy", ["metric(nn.TopKCategoricalAccuracy({1..3}), {g:n,4}, {ids:n<4})"]),
    ("text", "nn.get_metric_fn", ["metric(nn.get_metric_fn('{accuracy|acc}'), {g:n,k}, {ids:n<k})"]),
    ("text", "ops.HyperMap ops.Map", [
        "ops.{HyperMap|Map}()(ops.{Square|Abs|Exp}(), ({g}, {g}))",
        "ops.{HyperMap|Map}(ops.Add())(({g}, {g:n}), ({g}, {g:n}))",
    ]),
    ("text", "ops.partial", ["ops.partial(ops.add, {g})({g})"]),
    ("text", "ops.grad ops.value_and_grad", [
        "ops.{grad|value_and_grad}(lambda a, b: (a * b).sum(), {0|1|(0, 1)})({g}, {g})",
    ]),
    ("text", "ops.GradOperation", ["ops.GradOperation([?get_all=True])(lambda a: ops.square(a).sum())({g})"]),
    ("text", "ops.InsertGradientOf", ["ms.grad(lambda a: ops.InsertGradientOf(lambda g: g * 2)(a).sum())({g})"]),
    ("text", "ops.HookBackward", ["ms.grad(lambda a: ops.HookBackward(lambda g: g[0] * 3)(a).sum())({g})"]),
    ("text", "Tensor.from_numpy", ["ms.Tensor.from_numpy(np.{ones((2, 3))|arange(3)|zeros(2, 'f4')})"]),
    ("text", "Tensor.assign_value", ["{g:n,k}.assign_value({g:n,k})"]),
]  # fmt: skip
ROWS = [*_LAYERS, *_LOSSES, *_SCHEDULES]
