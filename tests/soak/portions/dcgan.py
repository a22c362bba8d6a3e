"""A DCGAN: two networks and two optimizers in one step, noise from NumPy, labels smoothed by NumPy in every step."""

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Tensor, nn, ops

NOISE = 6
rank, ranks = start()


def make_data(count):
    random = np.random.default_rng(15)
    phase = random.uniform(0, 2 * np.pi, (count, 1, 1, 1))
    across = np.linspace(0, 2 * np.pi, 8)
    images = np.tanh(2 * np.sin(across[None, None, :, None] + phase) * np.cos(across))
    noise = random.normal(size=(count, NOISE, 1, 1))
    return images.astype(np.float32), noise.astype(np.float32)


class Generator(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.main = nn.SequentialCell()
        self.main.append(nn.Conv2dTranspose(NOISE, width * 2, 2, 1, "valid"))
        self.main.append(nn.BatchNorm2d(width * 2))
        self.main.append(nn.ReLU())
        self.main.append(nn.Conv2dTranspose(width * 2, width, 4, 2, "pad", 1))
        self.main.append(nn.BatchNorm2d(width))
        self.main.append(nn.ReLU())
        self.main.append(nn.Conv2dTranspose(width, 1, 4, 2, "pad", 1))
        self.main.append(nn.Tanh())

    def construct(self, z):
        return self.main(z)


class Discriminator(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 4, 2, "pad", 1)
        self.conv2 = nn.Conv2d(width, width * 2, 4, 2, "pad", 1)
        self.norm = nn.BatchNorm2d(width * 2)
        self.conv3 = nn.Conv2d(width * 2, 1, 2, 1, "valid")
        self.act = nn.LeakyReLU(0.2)

    def construct(self, x):
        x = self.act(self.conv1(x))
        x = self.act(self.norm(self.conv2(x)))
        return self.conv3(x).view(x.shape[0], -1)


class GeneratorLoss(nn.Cell):
    def __init__(self, generator, discriminator, loss_fn):
        super().__init__(auto_prefix=False)
        self.generator, self.discriminator, self.loss_fn = generator, discriminator, loss_fn

    def construct(self, noise):
        found = self.discriminator(self.generator(noise))
        return self.loss_fn(found, ops.ones_like(found))


class DiscriminatorLoss(nn.Cell):
    def __init__(self, generator, discriminator, loss_fn):
        super().__init__(auto_prefix=False)
        self.generator, self.discriminator, self.loss_fn = generator, discriminator, loss_fn
        self.smooth = 1.0

    def construct(self, real, noise):
        fake = ops.stop_gradient(self.generator(noise))
        on_real, on_fake = self.discriminator(real), self.discriminator(fake)
        first = self.loss_fn(on_real, ops.ones_like(on_real) * self.smooth)
        second = self.loss_fn(on_fake, ops.zeros_like(on_fake))
        return first + second


class DCGAN(nn.Cell):
    """Both updates: first the discriminator, then the generator against the new one."""

    def __init__(self, net_g, net_d, optimizer_g, optimizer_d):
        super().__init__(auto_prefix=False)
        self.net_g, self.net_d = net_g, net_d
        self.optimizer_g, self.optimizer_d = optimizer_g, optimizer_d
        self.weights_g, self.weights_d = optimizer_g.parameters, optimizer_d.parameters
        self.grad_g = ms.value_and_grad(net_g, None, self.weights_g)
        self.grad_d = ms.value_and_grad(net_d, None, self.weights_d)
        self.reduce_g, self.reduce_d = reducer_of(optimizer_g, ranks), reducer_of(optimizer_d, ranks)

    def construct(self, real, noise):
        loss_d, gradients_d = self.grad_d(real, noise)
        self.optimizer_d(self.reduce_d(gradients_d))
        loss_g, gradients_g = self.grad_g(noise)
        gradients_g = tuple(ops.clip_by_value(one, Tensor(-0.05), Tensor(0.05)) for one in self.reduce_g(gradients_g))
        self.optimizer_g(gradients_g)
        return loss_d, loss_g


generator, discriminator = Generator(), Discriminator()
generator.update_parameters_name("generator.")
discriminator.update_parameters_name("discriminator.")
give_weights(generator, seed=4, scale=1.5)
give_weights(discriminator, seed=5, scale=1.5)
loss_fn = nn.BCEWithLogitsLoss()
optimizer_g = nn.Adam(generator.trainable_params(), learning_rate=0.005, beta1=0.5, beta2=0.99, eps=1e-5)
optimizer_d = nn.Adam(discriminator.trainable_params(), learning_rate=0.003, beta1=0.5, beta2=0.99, eps=1e-5)
net_g, net_d = GeneratorLoss(generator, discriminator, loss_fn), DiscriminatorLoss(generator, discriminator, loss_fn)
gan = DCGAN(net_g, net_d, optimizer_g, optimizer_d)
gan.set_train()
images, noise = make_data(32)
random = np.random.RandomState(2)
for i, (real, z) in enumerate(batches({"image": images, "noise": noise}, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    net_d.smooth = float(random.uniform(0.8, 1.0))
    loss_d, loss_g = gan(real, z)
    report(i, loss_d)
    print(f"value generator {i} {float(loss_g):.7g}")
generator.set_train(False)
shown = generator(Tensor(noise[:4]))
print(f"value picture {float(shown.abs().mean()):.6g} {shown.shape}")
finish(generator.main[0].weight, generator.main[4].beta, discriminator.conv1.weight, discriminator.norm.moving_mean)
