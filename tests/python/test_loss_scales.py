"""Optimizers whose gradients are those of a scaled loss."""

import numpy as np
from support import Case
from test_events import Net, rows

import partita as ms
from partita import Parameter, Tensor, amp, nn, train

# Two steps from 1 by gradients 1 and 2 with a decay of 0.1, as MindSpore 2.10 takes them with a scale of 1 and of 4.
TAKEN = {
    "SGD": ({}, 0.6811, 0.90534997),
    "Adam": ({}, 0.99802995, 0.99801964),
    "RMSProp": ({}, 0.71168935, 0.8989228),
    "Adagrad": ({}, 0.9981609, 0.99847186),
    "AdaMax": ({}, 0.99822557, 0.9981973),
    "Adadelta": ({}, 0.99283296, 0.9929255),
    "Momentum": ({"momentum": 0.9, "learning_rate": 0.1}, 0.5821, 0.87385),
}


class LossScales(Case):
    def test_divide_gradients_before_the_decay(self):
        for name, (options, *expected) in TAKEN.items():
            for scale, value in zip((1.0, 4.0), expected):
                weight = Parameter(Tensor(np.ones(2, "f4")), name="w")
                optimizer = getattr(nn, name)([weight], weight_decay=0.1, loss_scale=scale, **options)
                for gradient in (1.0, 2.0):
                    optimizer((Tensor(np.full(2, gradient, "f4")),))
                with self.subTest(name, scale=scale):
                    self.close(weight, [value] * 2, 1e-6)

    def test_are_those_of_a_manager_that_leaves_no_step_out(self):
        def weights(manager, **options):
            ms.set_seed(1)
            net = Net()
            optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=0.01, **options)
            train.Model(net, nn.CrossEntropyLoss(), optimizer, loss_scale_manager=manager).train(2, rows())
            return net.fc1.weight.asnumpy()

        plain = weights(None)
        keeps, drops = amp.FixedLossScaleManager(1024, False), amp.FixedLossScaleManager(1024)
        np.testing.assert_array_equal(weights(keeps, loss_scale=1024), plain)
        np.testing.assert_array_equal(weights(keeps), plain)
        # Other managers take their scale out themselves, so that the optimizer divides once more.
        alone = weights(None, loss_scale=1024)
        self.assertGreater(np.abs(alone - plain).max(), 1e-3)
        np.testing.assert_array_equal(weights(drops, loss_scale=1024), alone)
        self.close(weights(keeps, loss_scale=2048), weights(None, loss_scale=2.0), 1e-6)
        with self.refuses(ValueError, "[SGD] bad loss_scale, got 0, expected a number above 0"):
            nn.SGD(Net().trainable_params(), 0.1, loss_scale=0)
