"""A convolutional autoencoder whose batch norm stands in a network with its loss: Model without a loss function."""

import numpy as np
from common import STEPS, finish, give_weights, report, start
from mindspore import dataset as ds
from mindspore import nn, ops
from mindspore.train import Callback, Model

LATENT = 3
rank, ranks = start()


class Autoencoder(nn.Cell):
    def __init__(self):
        super().__init__()
        self.encoder = nn.SequentialCell(nn.Conv2d(1, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU())
        self.mean, self.log_var, self.out = nn.Dense(64, LATENT), nn.Dense(64, LATENT), nn.Dense(LATENT, 64)
        self.decoder = nn.SequentialCell(nn.Conv2dTranspose(4, 1, 3, stride=2, has_bias=True), nn.Sigmoid())

    def construct(self, x, noise):
        found = self.encoder(x).reshape((x.shape[0], -1))
        mean, log_var = self.mean(found), self.log_var(found)
        z = mean + ops.exp(log_var / 2) * noise
        return self.decoder(self.out(z).reshape((-1, 4, 4, 4))), mean, log_var


class WithBound(nn.Cell):
    """The network with the negative bound of the likelihood."""

    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net, self.entropy = net, nn.BCELoss(reduction="none")

    def construct(self, x, noise):
        found, mean, log_var = self.net(x, noise)
        divergence = -0.5 * (1 + log_var - mean**2 - ops.exp(log_var)).sum(axis=1)
        return self.entropy(found, x).sum(axis=(1, 2, 3)).mean() + divergence.mean()


class Reports(Callback):
    def step_end(self, run_context):
        arguments = run_context.original_args()
        report(arguments.cur_step_num, arguments.net_outputs)
        if arguments.cur_step_num >= STEPS:
            run_context.request_stop()


random = np.random.default_rng(22)
centres = random.uniform(0, 1, (4, 1, 8, 8))
images = np.clip(centres[np.arange(32) % 4] + random.normal(0, 0.1, (32, 1, 8, 8)), 0, 1).astype(np.float32)
noise = random.normal(size=(32, LATENT)).astype(np.float32)
data = ds.NumpySlicesDataset((images, noise), ["x", "noise"], shuffle=False, num_shards=ranks, shard_id=rank)
net = Autoencoder()
give_weights(net)
optimizer = nn.Adam(net.trainable_params(), nn.ExponentialDecayLR(0.01, 0.9, 4), eps=1e-4)
model = Model(WithBound(net), optimizer=optimizer)
model.train(2, data.batch(8 // ranks), callbacks=[Reports()], dataset_sink_mode=False)
finish(net.encoder[1].moving_mean, net.encoder[1].moving_variance, net.decoder[0].bias)
