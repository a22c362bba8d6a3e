"""A diffusion model: embedded time steps, a schedule of noise, averages of weights, and a few steps of sampling."""

import math

import mindspore as ms
import numpy as np
from common import STEPS, batches, finish, give_weights, reducer_of, report, start
from mindspore import Parameter, Tensor, nn, ops

TIMES, CHANNELS, SIZE = 50, 2, 8
rank, ranks = start()


def make_data(count):
    random = np.random.default_rng(16)
    images = np.sign(random.normal(size=(count, CHANNELS, 1, 1))) * np.ones((1, 1, SIZE, SIZE)) * 0.8
    images += random.normal(0, 0.1, images.shape)
    times = random.integers(0, TIMES, count).astype(np.int32)
    return images.astype(np.float32), times, random.normal(size=images.shape).astype(np.float32)


class TimeEmbedding(nn.Cell):
    def __init__(self, width):
        super().__init__()
        half = width // 2
        self.frequencies = Tensor(np.exp(np.arange(half) * -(math.log(10000) / (half - 1))), ms.float32)
        self.dense = nn.SequentialCell(nn.Dense(width, width * 2), nn.SiLU(), nn.Dense(width * 2, width * 2))

    def construct(self, t):
        angles = t.astype(ms.float32)[:, None] * self.frequencies[None, :]
        return self.dense(ops.concat((ops.sin(angles), ops.cos(angles)), axis=-1))


class Block(nn.Cell):
    def __init__(self, inputs, outputs, embedded):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(2, inputs), nn.GroupNorm(2, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, has_bias=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, has_bias=True)
        self.embed = nn.Dense(embedded, outputs * 2)
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def construct(self, x, embedded):
        h = self.conv1(ops.silu(self.norm1(x)))
        scale, shift = ops.chunk(self.embed(ops.silu(embedded))[:, :, None, None], 2, axis=1)
        h = self.norm2(h) * (scale + 1) + shift
        return self.conv2(ops.silu(h)) + self.skip(x)


class Denoiser(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.time = TimeEmbedding(8)
        self.enter = nn.Conv2d(CHANNELS, width, 3, has_bias=True)
        self.blocks = nn.CellList([Block(width, width, 16), Block(width, 2 * width, 16)])
        self.leave = nn.Conv2d(2 * width, CHANNELS, 1, has_bias=True)

    def construct(self, x, t):
        embedded, x = self.time(t), self.enter(x)
        for block in self.blocks:
            x = block(x, embedded)
        return self.leave(x)


class Diffusion(nn.Cell):
    def __init__(self, model):
        super().__init__()
        betas = np.linspace(1e-3, 0.1, TIMES)
        kept = np.cumprod(1 - betas)
        self.model, self.betas, self.kept = model, betas.tolist(), kept.tolist()
        self.signal = Tensor(np.sqrt(kept), ms.float32)
        self.noise = Tensor(np.sqrt(1 - kept), ms.float32)
        self.weight = Tensor(np.minimum(kept / (1 - kept), 5.0) / 5.0 + 0.1, ms.float32)

    def extract(self, values, t, shape):
        return ops.gather(values, t, 0).reshape((t.shape[0],) + (1,) * (len(shape) - 1))

    def construct(self, x, t, noise):
        noisy = self.extract(self.signal, t, x.shape) * x + self.extract(self.noise, t, x.shape) * noise
        found = self.model(noisy, t)
        loss = ops.mse_loss(found, noise, reduction="none").mean(axis=(1, 2, 3))
        return (loss * self.weight[t]).mean()

    def sample(self, x, noises):
        """The last steps backwards from given noise."""
        for i, noise in reversed(list(enumerate(noises))):
            t = Tensor(np.full(x.shape[0], i, np.int32))
            alpha = 1 - self.betas[i]
            found = self.model(x, t)
            x = (x - self.betas[i] / math.sqrt(1 - self.kept[i]) * found) / math.sqrt(alpha)
            if i > 0:
                x = x + math.sqrt(self.betas[i]) * Tensor(noise)
        return x


class Average:
    """A moving average of weights whose decay grows with the steps; `swap` exchanges both."""

    def __init__(self, net, decay=0.9):
        self.net, self.decay, self.count = net, decay, 0
        self.shadow = [Parameter(one.value().copy(), name="ema." + one.name) for one in net.trainable_params()]

    def update(self):
        self.count += 1
        decay = min(self.decay, (1 + self.count) / (10 + self.count))
        for mean, one in zip(self.shadow, self.net.trainable_params()):
            ops.assign(mean, mean * decay + one * (1 - decay))

    def swap(self):
        for mean, one in zip(self.shadow, self.net.trainable_params()):
            kept = one.asnumpy().copy()
            one.set_data(mean.value())
            mean.set_data(Tensor(kept))


model = Denoiser()
give_weights(model, scale=1.2)
diffusion = Diffusion(model)
rate = nn.WarmUpLR(learning_rate=0.005, warmup_steps=3)
optimizer = nn.AdamWeightDecay(model.trainable_params(), rate, eps=1e-5, weight_decay=0.01)
reduce = reducer_of(optimizer, ranks)
average = Average(model)
grad_fn = ms.value_and_grad(diffusion, None, optimizer.parameters)
diffusion.set_train()
columns = dict(zip(("image", "time", "noise"), make_data(32)))
for i, (x, t, noise) in enumerate(batches(columns, 8, rank, ranks, epochs=2), 1):
    if i > STEPS:
        break
    loss, gradients = grad_fn(x, t, noise)
    optimizer(ops.clip_by_global_norm(reduce(gradients), 1.0))
    average.update()
    report(i, loss)
average.swap()
diffusion.set_train(False)
random = np.random.default_rng(1)
noises = random.normal(size=(4, 2, CHANNELS, SIZE, SIZE)).astype(np.float32)
made = diffusion.sample(Tensor(noises[0] * 0.3), noises)
print(f"value sample {float(made.mean()):.6g} {float(ops.std(made)):.6g}")
finish(model.enter.weight, model.blocks[1].embed.weight, model.blocks[0].norm1.gamma, average.shadow[0])
