#!/usr/bin/env python3
"""The training step of LeNet in JAX, compiled, on a fixed random batch: lenet_jax.py BATCH STEPS."""
import statistics
import sys
import time

import jax
import jax.numpy as jnp
from jax import lax

batch, steps = int(sys.argv[1]), int(sys.argv[2])
key = jax.random.PRNGKey(0)
SHAPES = {"c1": (5, 5, 1, 6), "c2": (5, 5, 6, 16), "f1": (400, 120), "f2": (120, 84), "f3": (84, 10)}
weights = {name: 0.1 * jax.random.normal(key, shape) for name, shape in SHAPES.items()}
weights |= {name + "b": jnp.zeros(shape[-1]) for name, shape in SHAPES.items()}
velocity = {name: jnp.zeros_like(value) for name, value in weights.items()}
image = jax.random.normal(key, (batch, 28, 28, 1))
label = jax.random.randint(key, (batch,), 0, 10)


def conv(x, w, padding):
    return lax.conv_general_dilated(x, w, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def loss(w, x, y):
    x = pool(jax.nn.relu(conv(x, w["c1"], "SAME") + w["c1b"]))
    x = pool(jax.nn.relu(conv(x, w["c2"], "VALID") + w["c2b"])).reshape(batch, -1)
    x = jax.nn.relu(x @ w["f1"] + w["f1b"])
    x = jax.nn.relu(x @ w["f2"] + w["f2b"])
    logits = jax.nn.log_softmax(x @ w["f3"] + w["f3b"])
    return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))


@jax.jit
def step(w, v, x, y):
    value, gradient = jax.value_and_grad(loss)(w, x, y)
    v = jax.tree.map(lambda a, g: 0.9 * a + g, v, gradient)
    return jax.tree.map(lambda a, b: a - 0.01 * b, w, v), v, value


times = []
for i in range(steps + 20):
    begin = time.perf_counter()
    weights, velocity, value = step(weights, velocity, image, label)
    value.block_until_ready()
    jax.block_until_ready(weights)
    if i >= 20:
        times.append(1e3 * (time.perf_counter() - begin))
print(f"jax {jax.__version__} lenet B {batch} median {statistics.median(times):.3f} ms min {min(times):.3f} ms")
