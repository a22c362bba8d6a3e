"""A variational autoencoder with given noise: the weight of the divergence rises, hooks look at gradients."""

import mindspore as ms
import mindspore.common.dtype as mstype
import numpy as np
from common import STEPS, batches, finish, give_weights, report, start
from mindspore import Parameter, nn, ops

LATENT = 4
rank, ranks = start()


def make_data(count):
    random = np.random.default_rng(14)
    centres = random.uniform(0, 1, (5, 36))
    images = np.clip(centres[np.arange(count) % 5] + random.normal(0, 0.1, (count, 36)), 0, 1).astype(np.float32)
    noise = random.normal(size=(count, LATENT)).astype(np.float32)
    return images.reshape(count, 1, 6, 6), noise


class Encoder(nn.Cell):
    def __init__(self, hidden):
        super().__init__()
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(36, hidden, activation="tanh")
        self.mean, self.log_var = nn.Dense(hidden, LATENT), nn.Dense(hidden, LATENT)

    def construct(self, x):
        x = self.fc1(self.flatten(x))
        return self.mean(x), self.log_var(x)


class Decoder(nn.Cell):
    def __init__(self, hidden):
        super().__init__()
        self.layers = nn.SequentialCell([nn.Dense(LATENT, hidden), nn.LeakyReLU(0.1), nn.Dense(hidden, 36)])
        self.gain = Parameter(ms.Tensor(1.0, mstype.float32), name="gain")

    def construct(self, z):
        return ops.reshape(self.layers(z) * self.gain, (-1, 1, 6, 6))


class VAE(nn.Cell):
    def __init__(self, hidden=16):
        super().__init__()
        self.encoder, self.decoder = Encoder(hidden), Decoder(hidden)

    def construct(self, x, noise):
        mean, log_var = self.encoder(x)
        log_var = ops.clamp(log_var, -6.0, 4.0)
        z = mean + ops.exp(0.5 * log_var) * noise
        return self.decoder(z), mean, log_var


class Loss(nn.Cell):
    """The negative bound; `beta` is an attribute that the loop sets."""

    def __init__(self, network):
        super().__init__()
        self.network, self.beta, self.calls = network, 0.0, 0

    def construct(self, x, noise):
        self.calls += 1
        found, mean, log_var = self.network(x, noise)
        entropy = ops.binary_cross_entropy_with_logits(
            found, x, ops.ones_like(found), ops.ones_like(found), reduction="none"
        )
        divergence = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(axis=1)
        return ops.reduce_mean(entropy.sum((1, 2, 3))) + self.beta * divergence.mean()


class Step(nn.TrainOneStepCell):
    """Scales the gradients of the decoder and leaves out a step whose gradients are large."""

    def __init__(self, network, optimizer, limit):
        super().__init__(network, optimizer)
        self.limit, self.left_out = limit, 0
        self.map = ops.HyperMap()

    def construct(self, x, noise):
        loss, gradients = ms.value_and_grad(self.network, None, self.weights)(x, noise)
        gradients = self.grad_reducer(gradients)
        squares = self.map(lambda one: ops.square(one).sum(), gradients)
        norm = ops.sqrt(sum(squares))
        if float(norm) > self.limit:
            self.left_out += 1
            gradients = self.map(lambda one: one * (self.limit / norm), gradients)
        self.optimizer(gradients)
        return loss


seen = []


def look(cell, grad_input, grad_output):
    seen.append(tuple(grad_output[0].shape))


net = VAE()
give_weights(net)
handle = net.decoder.layers[0].register_backward_hook(look)
rates = [0.02 * 0.9**i for i in range(8)]
optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=rates, eps=1e-4, weight_decay=0.02)
loss_net = Loss(net)
step = Step(loss_net, optimizer, 4.0)
step.set_train()
images, noise = make_data(32)
for i, (x, e) in enumerate(batches({"x": images, "noise": noise}, 16, rank, ranks, epochs=4), 1):
    if i > STEPS:
        break
    loss_net.beta = min(1.0, 0.2 * (i - 1))
    report(i, step(x, e))
    if i == 2:
        print(f"value hooked {len(seen)}")
        handle.remove()
print(f"value hooks {len(seen)} calls {loss_net.calls} left_out {step.left_out}")
finish(net.encoder.fc1.weight, net.encoder.log_var.bias, net.decoder.layers[2].weight, net.decoder.gain)
