#!/usr/bin/env python3
"""Compiles training steps of JAX for an H100 that is not there, as a peer of `partita compile`.

    tools/xla/jax_steps.py PLUGIN gpt2 8 OUT.hlo.pb          # GPT-2 124M, 8 rows of 1,024 tokens
    tools/xla/jax_steps.py PLUGIN llama1b 4 OUT.hlo.pb       # Llama 3.2 1B, 4 rows of 2,048 tokens
    tools/xla/jax_steps.py PLUGIN resnet50 256 OUT.hlo.pb    # ResNet-50, 256 images of 224 x 224
    tools/xla/jax_steps.py PLUGIN gpt2 8 OUT.hlo.pb --gradients f32 --recompute --loop
    tools/xla/traffic.py OUT.hlo.pb

PLUGIN is the library of the CUDA plugin. It takes `pip install jax`; ptxas is found in PATH. All models have parameters
in f32 and products, activations and residual sums in bf16, as Flax has them with dtype=bfloat16, statistics and loss in
f32, and Adam. GPT-2 and the Llama have cuDNN's attention and clip gradients by their norm. Kernels are chosen without
being timed.

--gradients bf16 is the default, as Flax has it: gradients of parameters are rounded, since the cast of a parameter stands
before its product. With f32 they keep all digits of their sums, as those of `partita compile --precision bf16` do, so use
it to compare programs. Gradients of filters are rounded in both, as cuDNN gives them.
--recompute keeps only the input of each block for the backward pass, as `partita compile --recompute full` does.
--loop has one `lax.scan` over blocks of equal shapes, whose parameters are stacked, where each block otherwise has kernels
of its own. In ResNet-50 these are the blocks of a stage but its first.
"""

import argparse
import functools
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax._src import xla_bridge
from jax._src.cudnn import fused_attention_stablehlo as cudnn
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

HALF, F32 = jnp.bfloat16, jnp.float32
LAYERS, HIDDEN, HEADS, SEQ, VOCAB = 12, 768, 12, 1024, 50257
LLAMA_LAYERS, LLAMA_HIDDEN, LLAMA_HEADS, LLAMA_KEYS, LLAMA_INNER, LLAMA_SEQ, LLAMA_VOCAB = (
    16, 2048, 32, 8, 8192, 2048, 128256)
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


def stack(layers):
    """Returns the shapes of parameters of equal layers, stacked along a new first dimension."""
    return jax.tree.map(lambda *same: shape(len(same), *same[0].shape), *layers)


def run_layers(block, x, layers, options):
    """Runs equal layers, a list or a stack, and returns the last x with what each gives next to it, listed or stacked."""
    if options.recompute:
        # A loop keeps its passes apart, so that no common subexpressions have to be ruled out.
        block = jax.checkpoint(block, prevent_cse=not options.loop)
    if options.loop:
        return jax.lax.scan(block, x, layers)
    found = []
    for layer in layers:
        x, more = block(x, layer)
        found.append(more)
    return x, found


def multiply(x, weights):
    return jax.lax.dot_general(x, weights.astype(HALF), (((x.ndim - 1,), (1,)), ((), ())))


def multiply_backward(kept, gradient):
    x, weights = kept
    axes = tuple(range(x.ndim - 1))
    return (jax.lax.dot_general(gradient, weights.astype(HALF), (((x.ndim - 1,), (0,)), ((), ()))),
            jax.lax.dot_general(gradient, x, ((axes, axes), ((), ())), preferred_element_type=F32))


def add(x, term):
    return x + term.astype(HALF)


def add_backward(kept, gradient):
    return gradient, gradient.astype(F32).sum(tuple(range(gradient.ndim - kept)))


multiply_f32, add_f32 = jax.custom_vjp(multiply), jax.custom_vjp(add)
multiply_f32.defvjp(lambda x, weights: (multiply(x, weights), (x, weights)), multiply_backward)
add_f32.defvjp(lambda x, term: (add(x, term), term.ndim), add_backward)


def dense(x, weights, options):
    y = (multiply_f32 if options.gradients == "f32" else multiply)(x, weights[0])
    return biased(y, weights[1], options) if len(weights) > 1 else y


def biased(x, term, options):
    return (add_f32 if options.gradients == "f32" else add)(x, term)


def gpt_shapes(options):
    """Returns the shapes of parameters, and which of them decay."""
    norm, square = (shape(HIDDEN), shape(HIDDEN)), shape(HIDDEN, HIDDEN)
    block = {"ln1": norm, "q": (square, shape(HIDDEN)), "k": (square,), "v": (square, shape(HIDDEN)),
             "o": (square, shape(HIDDEN)), "ln2": norm, "up": (shape(4 * HIDDEN, HIDDEN), shape(4 * HIDDEN)),
             "down": (shape(HIDDEN, 4 * HIDDEN), shape(HIDDEN))}
    weights = {"wte": shape(VOCAB, HIDDEN), "wpe": shape(SEQ, HIDDEN), "ln": norm, "h": [block] * LAYERS}
    decays = jax.tree.map(lambda one: one.ndim > 1, weights)
    if options.loop:
        weights["h"], decays["h"] = stack(weights["h"]), decays["h"][0]
    return weights, decays


def layer_norm(x, weights):
    x = x.astype(F32)
    mean, variance = moments(x, -1)
    return ((x - mean) * jax.lax.rsqrt(variance + 1e-5) * weights[0] + weights[1]).astype(HALF)


def gpt_loss(options, weights, _, tokens, labels):
    def block(x, layer):
        y = layer_norm(x, layer["ln1"])
        q, k, v = (dense(y, layer[name], options).reshape(*y.shape[:2], HEADS, -1) for name in "qkv")
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
        x = x + dense(y.reshape(x.shape), layer["o"], options)
        y = dense(layer_norm(x, layer["ln2"]), layer["up"], options)
        return x + dense(jax.nn.gelu(y, approximate=False), layer["down"], options), None

    # The gradient of a table is summed in the type of its rows before the cast.
    wte = weights["wte"]
    rows = wte[tokens].astype(HALF) if options.gradients == "f32" else wte.astype(HALF)[tokens]
    x, _ = run_layers(block, biased(rows, weights["wpe"], options), weights["h"], options)
    return loss_of(dense(layer_norm(x, weights["ln"]), (wte,), options), labels), {}


def llama_shapes(options):
    """Returns the shapes of parameters, and which of them decay."""
    norm, narrow = (shape(LLAMA_HIDDEN),), LLAMA_HIDDEN // LLAMA_HEADS * LLAMA_KEYS
    block = {"ln1": norm, "q": (shape(LLAMA_HIDDEN, LLAMA_HIDDEN),), "k": (shape(narrow, LLAMA_HIDDEN),),
             "v": (shape(narrow, LLAMA_HIDDEN),), "o": (shape(LLAMA_HIDDEN, LLAMA_HIDDEN),), "ln2": norm,
             "gate": (shape(LLAMA_INNER, LLAMA_HIDDEN),), "up": (shape(LLAMA_INNER, LLAMA_HIDDEN),),
             "down": (shape(LLAMA_HIDDEN, LLAMA_INNER),)}
    weights = {"wte": shape(LLAMA_VOCAB, LLAMA_HIDDEN), "ln": norm, "h": [block] * LLAMA_LAYERS}
    decays = jax.tree.map(lambda one: one.ndim > 1, weights)
    if options.loop:
        weights["h"], decays["h"] = stack(weights["h"]), decays["h"][0]
    return weights, decays


def rms_norm(x, weights):
    x = x.astype(F32)
    return (x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weights[0]).astype(HALF)


def rotated(x):
    """Rotates the halves of each head by angles of its position."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 500000.0 ** (-jnp.arange(half) / half)
    cosine, sine = (f(angles)[None, :, None, :].astype(F32) for f in (jnp.cos, jnp.sin))
    a, b = x[..., :half].astype(F32), x[..., half:].astype(F32)
    return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1).astype(HALF)


def llama_loss(options, weights, _, tokens, labels):
    def block(x, layer):
        y = rms_norm(x, layer["ln1"])
        q, k, v = (dense(y, layer[name], options).reshape(*y.shape[:2], -1, LLAMA_HIDDEN // LLAMA_HEADS)
                   for name in "qkv")
        y = jax.nn.dot_product_attention(rotated(q), rotated(k), v, is_causal=True, implementation="cudnn")
        x = x + dense(y.reshape(x.shape), layer["o"], options)
        y = rms_norm(x, layer["ln2"])
        y = jax.nn.silu(dense(y, layer["gate"], options)) * dense(y, layer["up"], options)
        return x + dense(y, layer["down"], options), None

    wte = weights["wte"]
    rows = wte[tokens].astype(HALF) if options.gradients == "f32" else wte.astype(HALF)[tokens]
    x, _ = run_layers(block, rows, weights["h"], options)
    return loss_of(dense(rms_norm(x, weights["ln"]), (wte,), options), labels), {}


def resnet_stages():
    """Returns the blocks of each stage: for each convolution its sizes [k, k, in, out] and its stride, by name."""
    stages, channels = {}, 64
    for stage, (width, blocks) in enumerate(STAGES):
        stages[f"stage{stage}"] = found = []
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            found.append({"a": ((1, 1, channels, width), 1), "b": ((3, 3, width, width), stride),
                          "c": ((1, 1, width, 4 * width), 1)})
            if block == 0:
                found[0]["d"] = ((1, 1, channels, 4 * width), stride)
            channels = 4 * width
    return stages


def resnet_shapes(options):
    """Returns the shapes of parameters and of running statistics. Of a stage they are those of its first block, and of
    the others."""
    def both(sizes):
        return (shape(*sizes), shape(sizes[3]), shape(sizes[3])), (shape(sizes[3]), shape(sizes[3]))

    weights, running = {"fc": (shape(1000, 2048), shape(1000))}, {}
    weights["stem"], running["stem"] = both((7, 7, 3, 64))
    for stage, blocks in resnet_stages().items():
        for at, found in enumerate((weights, running)):
            first, *others = [{name: both(sizes)[at] for name, (sizes, _) in block.items()} for block in blocks]
            found[stage] = first, stack(others) if options.loop else others
    return weights, running


def normalised_convolution(x, weights, running, stride):
    """Returns the result, and the running statistics after it."""
    filters, gamma, beta = weights
    x = jax.lax.conv_general_dilated(x, filters.astype(HALF), (stride, stride), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")).astype(F32)
    found = moments(x, (0, 1, 2))
    moved = tuple(0.9 * old + 0.1 * new.ravel() for old, new in zip(running, found))
    return ((x - found[0]) * (jax.lax.rsqrt(found[1] + 1e-5) * gamma) + beta).astype(HALF), moved


def resnet_loss(options, weights, running, images, labels):
    def block_of(convolutions):
        def block(x, given):
            layer, statistics = given
            y, moved = x, {}
            for name in "abc":
                y, moved[name] = normalised_convolution(y if name == "a" else jax.nn.relu(y), layer[name],
                                                        statistics[name], convolutions[name][1])
            if "d" in convolutions:
                x, moved["d"] = normalised_convolution(x, layer["d"], statistics["d"], convolutions["d"][1])
            return jax.nn.relu(x + y), moved

        return block

    moved = {}
    x, moved["stem"] = normalised_convolution(images.astype(HALF), weights["stem"], running["stem"], 2)
    x = jax.lax.reduce_window(jax.nn.relu(x), -float("inf"), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    for stage, blocks in resnet_stages().items():
        first, others = zip(weights[stage], running[stage])
        block = block_of(blocks[0])
        x, begun = (jax.checkpoint(block) if options.recompute else block)(x, first)
        x, rest = run_layers(block_of(blocks[1]), x, others if options.loop else list(zip(*others)), options)
        moved[stage] = begun, rest
    return loss_of(dense(x.astype(F32).mean((1, 2)).astype(HALF), weights["fc"], options), labels), moved


def step_of(loss, decays, clips):
    def step(weights, running, first, second, count, *batch):
        (value, running), gradients = jax.value_and_grad(loss, has_aux=True)(weights, running, *batch)
        if clips:
            norm = jnp.sqrt(sum(jnp.sum(one * one) for one in jax.tree.leaves(gradients)))
            gradients = jax.tree.map(lambda one: one / jnp.maximum(norm, 1), gradients)
        count += 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)
        fixed = 1 - 0.9**count, 1 - 0.99**count
        weights = jax.tree.map(lambda p, m, v, decay: p - 1e-3 * (
            m / fixed[0] / (jnp.sqrt(v / fixed[1]) + 1e-8) + (0.1 * p if decay else 0)), weights, first, second, decays)
        return weights, running, first, second, count, value

    return step


def step_and_shapes(options):
    """Returns the step of a model, and the shapes of what it is given."""
    texts = {"gpt2": (SEQ, gpt_shapes, gpt_loss), "llama1b": (LLAMA_SEQ, llama_shapes, llama_loss)}
    if options.model in texts:
        seq, shapes, loss = texts[options.model]
        ids = jax.ShapeDtypeStruct((options.rows, seq), jnp.int32)
        (weights, decays), running, batch = shapes(options), {}, (ids, ids)
        step = step_of(functools.partial(loss, options), decays, True)
    else:
        ids = jax.ShapeDtypeStruct((options.rows,), jnp.int32)
        (weights, running), batch = resnet_shapes(options), (shape(options.rows, 224, 224, 3), ids)
        step = step_of(functools.partial(resnet_loss, options), jax.tree.map(lambda _: False, weights), False)
    return step, (weights, running, weights, weights, shape(), *batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plugin", metavar="PLUGIN")
    parser.add_argument("model", choices=("gpt2", "llama1b", "resnet50"))
    parser.add_argument("rows", type=int, metavar="ROWS")
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--gradients", choices=("f32", "bf16"), default="bf16", help="digits of parameters' gradients")
    parser.add_argument("--recompute", action="store_true", help="recompute each block in the backward pass")
    parser.add_argument("--loop", action="store_true", help="scan over equal blocks")
    options = parser.parse_args()
    xla_bridge.register_plugin("cuda", library_path=options.plugin)
    topology = topologies.get_topology_desc(platform="cuda", topology_name="", topology="1x1x1", target_config=TARGET)
    # JAX asks a GPU whether it has cuDNN's attention.
    cudnn.check_cudnn_version = lambda: 91000
    cudnn.check_compute_capability = lambda capability: True
    cudnn.is_cuda_compute_capability_equal = lambda capability: capability == "9.0"
    step, shapes = step_and_shapes(options)
    place = SingleDeviceSharding(topology.devices[0])
    given = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place), shapes)
    lowered = jax.jit(step, donate_argnums=(0, 1, 2, 3, 4)).trace(*given).lower(lowering_platforms=("cuda",))
    compiled = lowered.compile(compiler_options={"xla_gpu_autotune_level": 0})
    print(f"temporaries: {compiled.memory_analysis().temp_size_in_bytes / 2**20:.1f} MiB")
    with open(options.out, "wb") as file:
        file.write(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())


if __name__ == "__main__":
    main()
