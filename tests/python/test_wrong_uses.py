"""Wrong uses that scripts of other systems bring: they are refused by name, with what to write."""

import numpy as np
from support import Case

import partita as ms
from partita import dataset, mint, nn


def columns(data):
    return dataset.NumpySlicesDataset(data)


class WrongUses(Case):
    def test_a_padding_that_would_have_no_effect(self):
        for layer in (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv3dTranspose):
            for mode in ("same", "valid"):
                with self.refuses(ValueError, f"[{layer.__name__}]", "padding", mode, "pad"):
                    layer(3, 8, 3, padding=1, pad_mode=mode)
                layer(3, 8, 3, padding=0, pad_mode=mode)
            layer(3, 8, 3, padding=1, pad_mode="pad")
        for layer in (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d):
            for mode in ("same", "valid"):
                with self.refuses(ValueError, "padding", mode, "pad"):
                    layer(3, padding=1, pad_mode=mode)
            layer(3, padding=1, pad_mode="pad")

    def test_an_unknown_argument_of_an_optimizer(self):
        with self.refuses(TypeError, "[Adam] got an unexpected keyword argument 'lr'", "params, learning_rate"):
            nn.Adam(nn.Dense(2, 2).trainable_params(), lr=0.1)
        with self.refuses(TypeError, "[Momentum] missing", "learning_rate", "momentum"):
            nn.Momentum(nn.Dense(2, 2).trainable_params())

    def test_arrays_as_values_of_parameters(self):
        with self.refuses(TypeError, "[load_param_into_net] not a parameter, got ndarray for 'weight'"):
            ms.load_param_into_net(nn.Dense(4, 3), {"weight": np.ones((3, 4), "f4")})

    def test_what_is_no_tensor_in_calls_of_layers(self):
        layers = [
            *(nn.Flatten(), nn.Dense(3, 2), nn.Conv2d(3, 4, 3), nn.BatchNorm2d(3), nn.LayerNorm([3])),
            *(nn.GroupNorm(1, 3), nn.InstanceNorm2d(3), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2)),
            *(nn.Embedding(5, 3), nn.LSTM(3, 4), nn.GRU(3, 4), nn.RNN(3, 4), nn.ReLU(), nn.GELU(), nn.Sigmoid()),
            *(nn.Tanh(), nn.Softmax(), nn.LogSoftmax(), nn.ELU(), nn.LeakyReLU(), nn.PReLU(), nn.HSwish()),
            *(nn.SiLU(), nn.Mish(), nn.Threshold(0, 1), nn.Pad(((1, 1),)), nn.ZeroPad2d(1), nn.ReflectionPad1d(1)),
            *(nn.PixelShuffle(1), nn.Unflatten(0, (1, 3)), nn.Upsample(size=(4, 4)), nn.Conv2dTranspose(3, 4, 3)),
            *(nn.Conv1d(3, 4, 3), nn.Conv3d(3, 4, 3), mint.nn.Linear(3, 2), mint.nn.Conv2d(3, 4, 3)),
            *(mint.nn.BatchNorm2d(3), mint.nn.LayerNorm([3]), mint.nn.ReLU(), mint.nn.MaxPool2d(2)),
            *(mint.nn.Embedding(5, 3), mint.nn.Softmax(-1), mint.nn.GELU()),
        ]
        for layer in layers:
            for given in (3, 2.5, True, [1.0, 2.0], (1.0, 2.0), None, "abc", np.ones((2, 3), "f4"), np.int64(3), {}):
                kind = type(given).__name__
                text = f"[{type(layer).__name__}] input 0 is not a tensor, got {kind}, expected a Tensor"
                with self.subTest(layer=type(layer).__name__, given=kind), self.refuses(TypeError, text):
                    layer(given)
        x = ms.Tensor(np.ones((2, 3), "f4"))
        for loss in (nn.MSELoss(), nn.L1Loss(), nn.CrossEntropyLoss(), nn.BCELoss(), nn.KLDivLoss(), mint.nn.MSELoss()):
            for given in (3, [1.0], None):
                with self.refuses(TypeError, f"[{type(loss).__name__}] input 1 is not a tensor", "expected a Tensor"):
                    loss(x, given)
                with self.refuses(TypeError, f"[{type(loss).__name__}] input 0 is not a tensor", "expected a Tensor"):
                    loss(given, x)

    def test_too_many_and_wrong_inputs_of_layers(self):
        x = ms.Tensor(np.ones((2, 3, 4, 4), "f4"))
        layers = nn.LRN(), nn.HShrink(), nn.AdaptiveMaxPool2d(2), nn.Upsample(size=(8, 8)), mint.nn.Softmax(1)
        for layer in (*layers, mint.nn.ReLU6(), mint.nn.Flatten(), mint.nn.MaxPool2d(2)):
            for more in (3, None, x):
                with self.refuses(TypeError, f"[{type(layer).__name__}] too many inputs, got 2, expected 1 at most"):
                    layer(x, more)
        for layer in (mint.nn.MSELoss(), mint.nn.KLDivLoss(), nn.MultiLabelSoftMarginLoss()):
            with self.refuses(TypeError, f"[{type(layer).__name__}] too many inputs, got 3, expected 2 at most"):
                layer(x, x, "mean")
        sized = (nn.MaxUnpool2d(2), "max_unpool2d"), (mint.nn.ConvTranspose2d(3, 4, 3), "ConvTranspose2d")
        for layer, where in sized:
            for size in (3, "a", [1.5, 2]):
                with self.refuses(TypeError, f"[{where}] output_size is not a tuple of integers, got {size!r}"):
                    layer(x, *([x.astype(ms.int64)] if where == "max_unpool2d" else []), size)
        with self.refuses(TypeError, "[LSTMCell] no states, got int, expected a tuple (hidden state, cell state)"):
            nn.LSTMCell(3, 4)(ms.Tensor(np.ones((2, 3), "f4")), 3)

    def test_layers_of_scripts_may_take_what_they_like(self):
        class Scaled(nn.Dense):
            def construct(self, factor, x):
                return super().construct(x) * factor

        x = ms.Tensor(np.ones((2, 3), "f4"))
        layer = Scaled(3, 2)
        self.close(layer(2.0, x), 2 * layer(1, x).asnumpy())
        for given in (3, [1, 2], None, "abc"):
            self.assertIs(nn.Identity()(given), given)
        self.assertEqual(nn.LSTM(3, 4)(ms.Tensor(np.ones((2, 2, 3), "f4")), None)[0].shape, (2, 2, 4))

    def test_values_that_are_no_numbers_or_tensors(self):
        x = ms.Tensor(np.ones((2, 3), "f4"))
        net = nn.Dense(3, 2)
        for kind, text, call in (
            (ValueError, "[Tensor.__int__] the tensor has several elements, or none, got shape (2, 3)", lambda: int(x)),
            (ValueError, "[Tensor.__float__] the tensor has several elements, or none", lambda: float(x)),
            (TypeError, "[full] the value is not a number, got 'a'", lambda: ms.ops.full((2,), "a")),
            (TypeError, "[clip_by_global_norm] no tensors, got int", lambda: ms.ops.clip_by_global_norm(3)),
            (TypeError, "[value_and_grad] not a function, got int", lambda: ms.grad(3)),
            (TypeError, "[Dense] not a cell, got int", lambda: net.insert_child_to_cell("a", 3)),
            (TypeError, "[AdamW] no list of parameters, got Dense", lambda: mint.optim.AdamW(net)),
            (TypeError, "[TransformerEncoder] the layer is not a cell, got int", lambda: nn.TransformerEncoder(3, 2)),
            (ValueError, "[TransformerDecoder] bad num_layers, got 'a'", lambda: nn.TransformerDecoder(net, "a")),
            (TypeError, "[Model] not a loss, got int", lambda: ms.Model(net, 3)),
            (TypeError, "[NumpySlicesDataset] a column has no rows, got NoneType", lambda: columns(None)),
            (TypeError, "[NumpySlicesDataset] a column has no rows, got int", lambda: columns({"a": [1], "b": 2})),
        ):
            with self.subTest(text), self.refuses(kind, text):
                call()
