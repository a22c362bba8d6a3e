"""Wrong uses that scripts of other systems bring: they are refused by name, with what to write."""

import numpy as np
from support import Case

import partita as ms
from partita import nn


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
