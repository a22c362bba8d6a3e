#!/usr/bin/env python3
"""Compiles training steps of JAX for an H100 that is not there, as a peer of `partita compile`.

    tools/xla/jax_steps.py PLUGIN gpt2 8 OUT.hlo.pb          # GPT-2 124M, 8 rows of 1,024 tokens
    tools/xla/jax_steps.py PLUGIN resnet50 256 OUT.hlo.pb    # ResNet-50, 256 images of 224 x 224
    tools/xla/traffic.py OUT.hlo.pb

PLUGIN is the library of the CUDA plugin. It takes `pip install jax`; ptxas is found in PATH. Both models have parameters
in f32 and products, activations and residual sums in bf16, as Flax has them with dtype=bfloat16, statistics and loss in
f32, and Adam. GPT-2 has cuDNN's attention and clips gradients by their norm. Kernels are chosen without being timed.
"""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax._src import xla_bridge
from jax._src.cudnn import fused_attention_stablehlo as cudnn
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

HALF, F32 = jnp.bfloat16, jnp.float32
LAYERS, HIDDEN, HEADS, SEQ, VOCAB = 12, 768, 12, 1024, 50257
STAGES = [(64, 3), (128, 4), (256, 6), (512, 3)]
# Facts of an H100, as src/runtime/pjrt/targets.cpp has them.
TARGET = """gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 3352320000000
l2_cache_size: 52428800 clock_rate_ghz: 1.98 device_memory_size: 84942979072 shared_memory_per_block_optin: 232448
cuda_compute_capability { major: 9 feature_extension: ACCELERATED_FEATURES } registers_per_core_limit: 65536
registers_per_block_limit: 65536 thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
device_vendor: "NVIDIA Corporation" device_address_bits: 64 name: "NVIDIA H100 80GB HBM3" driver_version: "13.0.0"
runtime_version: "13.0.0" compile_time_toolkit_version: "13.0.0" dnn_version: "9.10.0" } platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 } device_description_str: "NVIDIA H100 80GB HBM3" """


def shape(*sizes):
    return jax.ShapeDtypeStruct(sizes, F32)


def moments(x, axes):
    """Mean and variance in one pass, as Flax computes them by default."""
    mean = x.mean(axes, keepdims=True)
    return mean, jnp.maximum((x * x).mean(axes, keepdims=True) - mean * mean, 0)


def loss_of(logits, labels):
    """Softmax cross entropy as in Optax."""
    logits = logits.astype(F32)
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def gpt_shapes():
    norm, square = (shape(HIDDEN), shape(HIDDEN)), shape(HIDDEN, HIDDEN)
    block = {"ln1": norm, "q": (square, shape(HIDDEN)), "k": (square,), "v": (square, shape(HIDDEN)),
             "o": (square, shape(HIDDEN)), "ln2": norm, "up": (shape(4 * HIDDEN, HIDDEN), shape(4 * HIDDEN)),
             "down": (shape(HIDDEN, 4 * HIDDEN), shape(HIDDEN))}
    return {"wte": shape(VOCAB, HIDDEN), "wpe": shape(SEQ, HIDDEN), "ln": norm, "h": [block] * LAYERS}


def layer_norm(x, weights):
    x = x.astype(F32)
    mean, variance = moments(x, -1)
    return ((x - mean) * jax.lax.rsqrt(variance + 1e-5) * weights[0] + weights[1]).astype(HALF)


def dense(x, weights):
    y = jax.lax.dot_general(x, weights[0].astype(HALF), (((x.ndim - 1,), (1,)), ((), ())))
    return y + weights[1].astype(HALF) if len(weights) > 1 else y


def gpt_loss(weights, _, tokens, labels):
    x = weights["wte"].astype(HALF)[tokens] + weights["wpe"].astype(HALF)
    for block in weights["h"]:
        y = layer_norm(x, block["ln1"])
        q, k, v = (dense(y, block[name]).reshape(*y.shape[:2], HEADS, -1) for name in "qkv")
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
        x = x + dense(y.reshape(x.shape), block["o"])
        y = dense(layer_norm(x, block["ln2"]), block["up"])
        x = x + dense(jax.nn.gelu(y, approximate=False), block["down"])
    return loss_of(dense(layer_norm(x, weights["ln"]), (weights["wte"],)), labels), {}


def resnet_layers():
    """Names, sizes [k, k, in, out] and strides of the convolutions but for the first one, block by block."""
    channels = 64
    for stage, (width, blocks) in enumerate(STAGES):
        for block in range(blocks):
            name, stride = f"{stage}.{block}.", 2 if stage > 0 and block == 0 else 1
            layers = [(name + "a", (1, 1, channels, width), 1), (name + "b", (3, 3, width, width), stride),
                      (name + "c", (1, 1, width, 4 * width), 1)]
            yield layers, [(name + "d", (1, 1, channels, 4 * width), stride)] if block == 0 else []
            channels = 4 * width


def resnet_shapes():
    layers = [("stem", (7, 7, 3, 64), 2)] + [one for block in resnet_layers() for part in block for one in part]
    weights = {name: (shape(*sizes), shape(sizes[3]), shape(sizes[3])) for name, sizes, _ in layers}
    running = {name: (shape(sizes[3]), shape(sizes[3])) for name, sizes, _ in layers}
    return weights | {"fc": (shape(1000, 2048), shape(1000))}, running


def resnet_loss(weights, running, images, labels):
    moved = {}

    def layer(x, name, stride):
        filters, gamma, beta = weights[name]
        x = jax.lax.conv_general_dilated(x, filters.astype(HALF), (stride, stride), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC")).astype(F32)
        found = moments(x, (0, 1, 2))
        moved[name] = tuple(0.9 * old + 0.1 * new.ravel() for old, new in zip(running[name], found))
        return ((x - found[0]) * (jax.lax.rsqrt(found[1] + 1e-5) * gamma) + beta).astype(HALF)

    x = jax.nn.relu(layer(images.astype(HALF), "stem", 2))
    x = jax.lax.reduce_window(x, -float("inf"), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for layers, shortcut in resnet_layers():
        y = x
        for name, _, stride in layers:
            y = layer(y if y is x else jax.nn.relu(y), name, stride)
        for name, _, stride in shortcut:
            x = layer(x, name, stride)
        x = jax.nn.relu(x + y)
    return loss_of(dense(x.astype(F32).mean((1, 2)).astype(HALF), weights["fc"]), labels), moved


def step_of(loss, decay, clips):
    def step(weights, running, first, second, count, *batch):
        (value, running), gradients = jax.value_and_grad(loss, has_aux=True)(weights, running, *batch)
        if clips:
            norm = jnp.sqrt(sum(jnp.sum(one * one) for one in jax.tree.leaves(gradients)))
            gradients = jax.tree.map(lambda one: one / jnp.maximum(norm, 1), gradients)
        count += 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
        fixed = 1 - 0.9**count, 1 - 0.99**count
        weights = jax.tree.map(lambda p, m, v: p - 1e-3 * (
            m / fixed[0] / (jnp.sqrt(v / fixed[1]) + 1e-8) + (decay * p if p.ndim > 1 else 0)), weights, first, second)
        return weights, running, first, second, count, value

    return step


def main():
    plugin, model, rows, out = sys.argv[1:]
    rows = int(rows)
    xla_bridge.register_plugin("cuda", library_path=plugin)
    topology = topologies.get_topology_desc(platform="cuda", topology_name="", topology="1x1x1", target_config=TARGET)
    # JAX asks a GPU whether it has cuDNN's attention.
    cudnn.check_cudnn_version = lambda: 91000
    cudnn.check_compute_capability = lambda capability: True
    cudnn.is_cuda_compute_capability_equal = lambda capability: capability == "9.0"
    if model == "gpt2":
        weights, running, ids = gpt_shapes(), {}, jax.ShapeDtypeStruct((rows, SEQ), jnp.int32)
        step, batch = step_of(gpt_loss, 0.1, True), (ids, ids)
    else:
        (weights, running), ids = resnet_shapes(), jax.ShapeDtypeStruct((rows,), jnp.int32)
        step, batch = step_of(resnet_loss, 0, False), (shape(rows, 224, 224, 3), ids)
    place = SingleDeviceSharding(topology.devices[0])
    given = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place),
                         (weights, running, weights, weights, shape(), *batch))
    lowered = jax.jit(step, donate_argnums=(0, 1, 2, 3, 4)).trace(*given).lower(lowering_platforms=("cuda",))
    compiled = lowered.compile(compiler_options={"xla_gpu_autotune_level": 0})
    print(f"temporaries: {compiled.memory_analysis().temp_size_in_bytes / 2**20:.1f} MiB")
    with open(out, "wb") as file:
        file.write(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
