"""Templates of calls of names that libraries use and other tables have seldom or not at all: see drawn_templates."""

_REDUCED = "[?, reduction='{mean|sum|none}']"
_FLAT = "{g:n,k}, {g:n,k}"
_RATIOS = "_random_samples=ms.Tensor(np.full((1, {k}, 3), 0.{3|5|7}, 'f4'))"
_ENDED = ["! ; {c}, {c:~}", "! ; {x}, {x:~}", "! ; {a}, {a:~}", "! ; {f}, {0|1|0.5}", "! ; {i}, {i:~}", "! ; {f}, {f}"]

_FACTS = [
    ("op", "Equal NotEqual Less LessEqual Greater GreaterEqual", _ENDED),
    ("op", "DType Rank", ["! ; {x}", "! ; {f}", "! ; {i}", "! ; {c}", "! ; {b}", "! ; {a}"]),
    ("op", "Cast", ["! ; {x}, ms.{int32|bool_|int64}", "; {g}, ms.{float16|float64|float32}", "! ; {i}, ms.float16"]),
    ("op", "TensorShape", ["! ; {x}", "! ; {f}"]),
    ("ops", "tuple_to_array", [
        "! ({1..9}, {1..9});", "! ({1..9}.5, {1..9}.0, 2.0);", "! ({True|False}, {1..9}.5);", "! ({1..9},);",
    ]),
    ("text", "Tensor.from_numpy", [
        "! ms.Tensor.from_numpy({a}.asnumpy())", "! ms.Tensor.from_numpy({f:n,k}.asnumpy().T)",
        "! ms.Tensor.from_numpy(np.arange({1..9}))", "ms.Tensor.from_numpy({g:n}.asnumpy()) * {g:k,n}",
    ]),
    ("text", "Tensor.__contains__ Tensor.__deepcopy__", [
        "! {i}.__contains__({-3..3})", "! {c}.__contains__({-1..2})", "! {a}.__deepcopy__(dict())",
        "! {f}.__contains__(0.0)", "! {x}.__deepcopy__(dict())", "{g}.__deepcopy__(dict()) * 2",
    ]),
    ("text", "ops.Partial ops.primitive._run_op", [
        "ops.Partial()(ops.{add|mul|sub}, {g:n,k})({g:n,k})", "ops.Partial()(ops.clamp, {g:n,k})({-1.0|0.5}, 1.5)",
        "ops.primitive._run_op(ops.{Add|Mul|Sub}(), '{Add|Mul}', ({g:n,k}, {g:n,k}))",
        "ops.primitive._run_op(ops.{Tanh|Exp}(), 'Tanh', ({f},))",
    ]),
    ("text", "ops._primitive_cache._get_cache_prim", [
        "ops._primitive_cache._get_cache_prim(ops.{Softmax|LogSoftmax})({0|-1})({g:n,k})",
        "ops._primitive_cache._get_cache_prim(ops.ReduceSum)({True|False})({g:n,k}, {0|1})",
        "ops._primitive_cache._get_cache_prim(ops.{Tanh|Exp|Square})()({f})",
        "ops._primitive_cache._get_cache_prim(ops.MatMul)(transpose_b=True)({g:n,k}, {g:m,k})",
    ]),
    ("text", "ops.constexpr ops._primexpr ops.composite.add_flags", [
        "! ops.constexpr(lambda a, b: a * b + {0..9})({1..9}, {1..9})",
        "! ops.primitive.constexpr(lambda a: (a, ms.{float32|int32}))({1..9})",
        "! ops.primitive._primexpr(lambda a, b: a * b + {0..9})({1..9}, {1..9})",
        "! ops.primitive._primexpr(lambda a: ('{x|y}', a))(({1..9}, {1..9}))",
        "! ops.composite.add_flags(lambda a: a + {1..9}, {has_effect=True|flag=False})({1..9})",
        "ops.composite.add_flags(lambda a: a * a, {has_effect=True|flag=False})({g:n,k})",
    ]),
    ("text", "ops.composite.ones_like", [
        "! ops.composite.ones_like({x})", "! ops.composite.ones_like(({f}, {1..9}))",
        "! ops.composite.ones_like({1..9})",
        "! ops.composite.ones_like(({f}, ({a}, {1..9})))", "! ops.composite.ones_like([{x}, {f}])",
        "ops.composite.ones_like({g:n}) * {g:n}",
    ]),
    ("text", "ops.MatMul.__call__ ops.Dense.__call__", [
        "ops.MatMul.__call__(ops.MatMul(), {g:n,k}, {g:k,m})",
        "ops.MatMul.__call__(ops.MatMul({True, False|False, True|True, True}), {g:3,3}, {g:3,3})",
        "ops.Dense.__call__(ops.Dense(), {g:n,k}, {g:m,k}, {{g:m}|None})",
        "ops.Dense.__call__(ops.Dense(), {g:2,n,k}, {g:m,k}, {g:m})",
    ]),
    ("text", "ops.auto_generate.SplitWithSize ops.operations._sequence_ops.TensorToScalar", [
        "ops.auto_generate.SplitWithSize()({g:n,5}, ({1, 4|3, 2|1, 1, 3}), 1)",
        "ops.auto_generate.SplitWithSize()({g:5,k}, ({2, 3|1, 4|1, 1, 3|5,}), 0)",
        "ops.auto_generate.SplitWithSize()({f:n,4}, ({2, 2|1, 3}), {1|-1})",
        "! ops.operations._sequence_ops.TensorToScalar()({i:}.sum())",
        "! ops.operations._sequence_ops.TensorToScalar()(ms.Tensor({1..9}.{25|5}))",
        "! ops.operations._sequence_ops.TensorToScalar()(t({1..9}))",
    ]),
    ("text", "ops.operations._inner_ops.SiLU", ["ops.operations._inner_ops.SiLU()({f})"]),
    ("text", "ops.Custom", [
        "ops.Custom(lambda a: a + a * {1..3}, out_shape=lambda a: a, out_dtype=lambda a: a, func_type='pyfunc')({f})",
        "! ops.Custom(lambda a, b: a - b, lambda a, b: a, lambda a, b: b, 'pyfunc')({a:n,k}, {a:n,k})",
    ]),
    ("text", "ops.Primitive", [
        "! ops.Primitive('{Add|Mul|anything}').name", "! ops.Primitive('Add').add_prim_attr('axis', {1..9}).axis",
        "! ops.Primitive('Add').add_prim_attr('axis', {1..9}).attrs",
        "! str(ops.Primitive('Add').add_prim_attr('x', {1..9}))",
        "! ops.Primitive('Add').set_prim_instance_name('{a|b}').instance_name",
        "! ops.primitive.Primitive('Add').init_prim_io_names(['x', '{y|z}'], ['output'])",
    ]),
    ("text", "ops.ROIAlign.__init__ ops.Print", [
        "! ops.ROIAlign.__init__(ops.ROIAlign({1..3}, 2, 1.0), {1..3}, 2, {0.5|1.0}[?, 2])",
        "! ops.Print()({x}, '{a|b}')",
    ]),
    ("text", "ops.ScalarSummary ops.TensorSummary ops.ImageSummary", [
        "! ops.ScalarSummary()('{a|b}', {g:}.sum())", "! ops.TensorSummary()('{a|b}', {g:n,k})",
        "! ops.ImageSummary()('{a|b}', {g:n,3,h,w})",
    ]),
]  # fmt: skip
_ELEMENTS = [
    ("Tensor", "__and__ __or__ __xor__ bitwise_and bitwise_or bitwise_xor", [
        "! {i}; {i}", "! {i:n}; t([{1..9}])", "! {i}; {i:~}", "! t([1, {2..9}, 4]); {1..9}", "! {b}; {b}",
    ]),
    ("Tensor", "expand", [
        "! {x:1,k}; {n}, {k}", "{g:n,1}; ({n}, {k})", "{g:k}; {n}, {m}, -1", "{f:n,1,k}; -1, {m}, -1",
    ]),
    ("numpy", "arccosh", ["{p} + 1.0;", "{g:n,k} * 0.2 + 2.0;"]),
    ("ops", "mv", ["{g:n,k}; {g:k}", "{g:3,k}; {g:k}", "{f:n,4}; {f:4}"]),
    ("op", "Div RealDiv", ["; {f}, {p:~}"]),
    ("op", "Real", ["! ; {x}", "; {f}", "! ; {a}"]),
    ("op", "Imag", ["! ; {x}", "; {f}"]),
    ("ops Tensor", "imag", ["{f};", "! {x};"]),
    ("Tensor", "real", ["! {x};", "{f};", "! {a};"]),
    ("text", "Tensor.data_ptr", ["! type({x}.data_ptr()).__name__"]),
    ("text", "ops.auto_generate.Scatter", [
        "ops.auto_generate.Scatter()({g:n,4}, 1, ms.Tensor(np.array([[0, {1|2|3}]] * {n})), {g:n,2}, 'none')",
        "ops.auto_generate.Scatter()({f:4,k}, 0, ms.Tensor(np.array([[{0|1}] * {k}, [2] * {k}])), {f:2,k}, 'none')",
    ]),
]  # fmt: skip
_LAYERS = [
    ("nn", "AvgPool1d", [
        "{2|3}[?, {1|2}]; {g:n,k,6}", "2, 2, '{same|valid}'; {g:n,k,5}", "3, 2, 'pad', 1[?, True]; {g:n,k,6}",
        "2, {1|2}, 'pad', 1, count_include_pad={True|False}; {g:n,k,5}", "2; {g:k,6}",
    ]),
    ("nn", "AdaptiveAvgPool1d AdaptiveMaxPool1d", ["{1|2|3}; {g:n,k,6}", "{2|4}; {g:k,3,8}"]),
    ("nn", "Conv2dBnAct", [
        "{k}, {m}, {1|3}[?, pad_mode='{same|valid}'], activation={'relu'|'sigmoid'|'tanh'}; {g:n,k,5,5}",
        "{k}, {m}, 3, has_bn=True[?, momentum=0.9][?, activation='relu']; {g:n,k,4,5}",
        "{k}, {m}, 3, stride=2, has_bias=True, activation='{leakyrelu|relu6}', alpha=0.2; {g:n,k,6,5}",
    ]),
    ("nn", "DenseBnAct", [
        "{k}, {m}[?, has_bias=False], activation={'relu'|'sigmoid'|'tanh'}; {g:n,k}",
        "{k}, {m}, has_bn=True[?, activation='relu']; {g:n,k}",
        "{k}, {m}, activation='leakyrelu', alpha={0.1|0.3}, after_fake=False; {g:n,k}",
    ]),
    ("nn", "Tril Triu", ["; {g:n,k}[?, {-1|1|2}]", "! ; {i:n,k}, {0|1|-2}", "; {f:2,n,k}"]),
    ("nn", "Range", ["{1..4}, {8..12}[?, {2|3}]; ", "{4..9};", "0.5, {3.0|4.5}, 0.{5|75}; "]),
    ("nn", "CTCLoss", [
        "[?blank={0|3}][?, reduction='{mean|sum|none}']; ops.log_softmax({g:5,n,4}, -1), {ids:n,2<2} + 1, "
        "t([{4|5}] * {n}), t([{1|2}] * {n})",
        "reduction='{mean|sum|none}'[?, zero_infinity=True]; ops.log_softmax({g:6,2,4}, -1), {ids:2,2<2} + 1, "
        "t([{5|6}, 5]), t([1, {1|2}])",
    ]),
    ("op", "CTCLossV2", [
        "[?blank=0][?, reduction='none']; ops.log_softmax({g:5,n,4}, -1), {ids:n,2<3} + 1, "
        "t([{4|5}] * {n}), t([2] * {n})",
        "[?0, 'none', True]; ops.log_softmax({g:6,2,4}, -1), {ids:2,2<3} + 1, t([{5|6}, 5]), t([1, {1|2}])",
    ]),
    ("text", "ops.CTCLoss", [
        "ops.CTCLoss([?ctc_merge_repeated={True|False}])({g:5,2,4}, ms.Tensor(np.array([[0, 0], [0, 1], [1, 0]])), "
        "t([{0..2}, {0..2}, {0..2}]), t([5, {4|5}]))[0]",
        "! ops.CTCLoss()({g:4,2,4}, ms.Tensor(np.array([[0, 0], [0, 1], [1, 0]])), t([{0..2}, {0..2}, 1]), t([4, 4]))",
    ]),
    ("ops", "deformable_conv2d", [
        "{g:1,2,5,5}, {g:m,2,3,3}, {g:1,27,3,3}, (3, 3), (1, 1, 1, 1), (0, 0, 0, 0);",
        "{g:n,2,4,4}, {g:m,2,2,2}, {g:n,12,3,3}, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0);",
        "{g:1,2,5,5}, {g:m,2,2,2}, {g:1,12,{2,2}}, (2, 2), (1, 1, 2, 2), (0, 0, 0, 0)[?, bias={g:m}];",
        "{g:1,2,3,3}, {g:m,2,2,2}, {g:1,8,4,4}, (2, 2), (1, 1, 1, 1), (1, 1, 1, 1), modulated=False;",
        "{g:1,4,4,4}, {g:2,2,2,2}, {g:1,24,3,3}, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0), groups=2, deformable_groups=2;",
    ]),
    ("ops", "fractional_max_pool3d", [
        "{g:1,k,5,5,6}; {2|(2, 1, 2)}, output_size=({2|3}, 2, {2|3}), " + _RATIOS,
        "{g:1,k,4,5,6}; 2, output_ratio=(0.5, 0.{5|7}, 0.5), " + _RATIOS + "[?, return_indices=True]",
    ]),
    ("text", "ops.max_unpool1d ops.max_unpool2d ops.max_unpool3d", [
        "ops.max_unpool3d(*ops.max_pool3d({g:1,k,4,4,{4|6}}, 2, 2, return_indices=True), 2)",
        "ops.max_unpool2d(*ops.max_pool2d({g:1,k,4,{4|6}}, 2, 2, return_indices=True), 2)",
        "ops.max_unpool3d(*ops.max_pool3d({g:n,k,5,4,5}, 2, 2, return_indices=True), 2[?, 2], "
        "output_size=({n}, {k}, 5, 4, 5))",
        "ops.max_unpool2d({g:1,k,2,2}, ms.Tensor(np.tile([[0, 3], [8, {10|14}]], (1, {k}, 1, 1))), 2)",
        "ops.max_unpool3d({g:1,k,1,2,2}, ms.Tensor(np.tile([[[0, 3], [8, {10|26}]]], (1, {k}, 1, 1, 1))), 2)",
        "ops.max_unpool1d({g:1,k,2}, ms.Tensor(np.tile([{0|1}, {2|3}], (1, {k}, 1))), 2)",
    ]),
    ("op", "Conv3DTranspose", [
        "{k}, {m}, {1|2}; {g:n,k,2,3,2}, {g:k,m,2,2,2}", "{k}, {m}, 2, stride=2; {g:n,k,2,1,2}, {g:k,m,2,2,2}",
    ]),
    ("op", "LRN", ["[?{1..3}, {1.0|2.0}, {1.0|0.1}, {0.5|0.75}]; {g:n,k,h,w}", "depth_radius={1|2}; {g:n,6,h,w}"]),
    ("ops", "dropout1d", [
        "{g:n,k,h}; {0.5|p=0.3}, training=False", "{f:n,k,h}; 0.{1..9}, False", "{g:k,h}; 0.4, False",
    ]),
    ("ops", "dropout2d", ["{g:n,k,h,w}; {0.5|p=0.3}, training=False", "{f:n,k,h,w}; 0.{1..9}, False"]),
    ("ops", "dropout3d", ["{g:n,k,h,w,2}; {0.5|p=0.3}, training=False", "{f:n,k,h,w,2}; 0.{1..9}, False"]),
    ("nn", "Dropout1d", ["0.{1..9}; {g:n,k,h}"]),
    ("nn", "Dropout2d", ["0.{1..9}; {g:n,k,h,w}"]),
    ("nn", "Dropout3d", ["0.{1..9}; {g:n,k,h,w,2}"]),
]  # fmt: skip
_CONV = "nn.layer.conv._Conv({2|4}, {4|6}, ({1|2}, {1..3}), (1, {1|2}), '{same|valid}', 0, (1, 1), {1|2}, "
_CELLS = [
    ("text", "nn.layer.conv._Conv", [
        "! " + _CONV + "{True|False}, 'ones', 'zeros').weight",
        "! " + _CONV + "True, 'ones', '{ones|zeros}').bias",
        "! " + _CONV + "False, 'ones', 'zeros').{kernel_size|stride|group|has_bias|pad_mode|dilation}",
    ]),
    ("text", "nn.LossBase", [
        "nn.LossBase([?'{mean|sum|none}']).get_loss({g:n,k}[?, {2.0|0.5}])", "! nn.LossBase().get_axis({f})",
        "nn.loss.LossBase('{mean|sum|none}').get_loss({g:n,k}, {g:k})", "! nn.LossBase('{sum|none}').reduction",
        "nn.LossBase('{mean|sum|none}').get_loss({f:n,k})",
    ]),
    ("text", "nn.Cell", [
        "! nn.Cell({True|False}).training", "! nn.Cell().set_train({True|False}).training", "! nn.Cell().cls_name",
        "! len(nn.Cell().trainable_params()) + {1..9}", "! isinstance(nn.{ReLU|Tanh|GELU}(), nn.Cell)",
        "! nn.Cell(flags=dict(a={1..9})).get_flags()", "! nn.Cell().add_flags(b={1..9}).get_flags()",
        "! str(nn.SequentialCell(nn.Dense({k}, {m}), nn.{ReLU|Tanh}()))", "! str(nn.Cell())",
    ]),
    ("text", "nn.TrainOneStepCell", [
        "! (lambda net: (given(net).update_parameters_name('{a|b}.'), "
        "nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.{1..5}){, 2.0||})"
        ".set_train()({g:n,k}, {g:n,m}), net.weight))(nn.Dense({k}, {m}))",
        "! (lambda net: (given(net).set_train(), "
        "[nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), {1.0|2.0})({g:n,k}) "
        "for _ in range(2)], net[0].weight)[1:])(nn.SequentialCell(nn.Dense({k}, {m}), nn.{ReLU|Tanh}()))",
    ]),
    ("text", "nn.DynamicLossScaleUpdateCell nn.FixedLossScaleUpdateCell", [
        "! (lambda c: (c(ms.Tensor({2..9}.0), ms.Tensor({True|False})), c.get_loss_scale()))"
        "(nn.DynamicLossScaleUpdateCell({4..9}.0, {2|4}, {1|2}))",
        "! nn.FixedLossScaleUpdateCell({2..9}.0).get_loss_scale()",
        "! nn.FixedLossScaleUpdateCell({2..9})(ms.Tensor({2..9}.0), ms.Tensor({True|False}))",
        "! (lambda c, s: [c(s, ms.Tensor(False)) for _ in range({2..4})])"
        "(nn.DynamicLossScaleUpdateCell({4..9}.0, 2, 2), ms.Tensor(8.0))",
    ]),
    ("text", "nn.PipelineCell nn.MicroBatchInterleaved", [
        "{nn.PipelineCell|nn.MicroBatchInterleaved}(nn.{ReLU|Tanh|Sigmoid|GELU}(), 2)({g:4,k})",
    ]),
]  # fmt: skip
ROWS = [*_FACTS, *_ELEMENTS, *_LAYERS, *_CELLS]
