"""Times steps of JAX on a GPU.

    tools/gpu/jax_times.py [NAME:ROWS..]      # gpt2, llama1b and resnet50, in bf16

GPT-2 and ResNet-50 are those of tools/xla/jax_steps.py. The Llama has the sizes of steps.sh and is written in the same
way: parameters in f32, products and activations in bf16, cuDNN's attention. --small takes tiny sizes for GPT-2 and the
Llama, and --cpu the processor, to try the script out.
"""
import pathlib
import sys
import time
import types

import jax
import jax.numpy as jnp

CPU, SMALL = "--cpu" in sys.argv, "--small" in sys.argv
jax.config.update("jax_platforms", "cpu" if CPU else "cuda")
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "xla"))
import jax_steps

LAYERS, HIDDEN, HEADS, KV_HEADS, INNER, SEQ, VOCAB = (1, 64, 4, 2, 96, 32, 97) if SMALL else (16, 2048, 32, 8, 8192, 1024, 128256)
HALF, F32 = jnp.bfloat16, jnp.float32
if SMALL:
    jax_steps.LAYERS, jax_steps.HIDDEN, jax_steps.HEADS, jax_steps.SEQ, jax_steps.VOCAB = 2, 64, 2, 32, 97
if CPU:
    attention = jax.nn.dot_product_attention
    jax.nn.dot_product_attention = lambda *args, **more: attention(*args, **more | {"implementation": "xla"})


def multiply(x, weights):
    return jax.lax.dot_general(x, weights.astype(HALF), (((x.ndim - 1,), (1,)), ((), ())))


def rms_norm(x, weights):
    x = x.astype(F32)
    return (x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weights).astype(HALF)


def rotate(x):
    """Turns the halves of x by an angle for each position and pair of columns (rotary positions)."""
    first, second = jnp.split(x.astype(F32), 2, -1)
    half = first.shape[-1]
    angles = (jnp.arange(SEQ)[:, None] * 500000.0 ** -(jnp.arange(half) / half))[None, :, None, :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate((first * cos - second * sin, first * sin + second * cos), -1).astype(HALF)


def llama_shapes():
    narrow, shape = HIDDEN // HEADS * KV_HEADS, jax_steps.shape
    block = {"ln1": shape(HIDDEN), "ln2": shape(HIDDEN), "q": shape(HIDDEN, HIDDEN), "k": shape(narrow, HIDDEN),
             "v": shape(narrow, HIDDEN), "o": shape(HIDDEN, HIDDEN), "gate": shape(INNER, HIDDEN), "up": shape(INNER, HIDDEN),
             "down": shape(HIDDEN, INNER)}
    return {"wte": shape(VOCAB, HIDDEN), "ln": shape(HIDDEN), "h": [block] * LAYERS}


def llama_loss(weights, _, tokens, labels):
    x = weights["wte"].astype(HALF)[tokens]
    for block in weights["h"]:
        y = rms_norm(x, block["ln1"])
        q, k, v = (multiply(y, block[name]).reshape(*y.shape[:2], -1, HIDDEN // HEADS) for name in "qkv")
        y = jax.nn.dot_product_attention(rotate(q), rotate(k), v, is_causal=True, implementation="cudnn")
        x = x + multiply(y.reshape(x.shape), block["o"])
        y = rms_norm(x, block["ln2"])
        x = x + multiply(jax.nn.silu(multiply(y, block["gate"])) * multiply(y, block["up"]), block["down"])
    return jax_steps.loss_of(multiply(rms_norm(x, weights["ln"]), weights["wte"]), labels), {}


def step_and_shapes(name, rows):
    """Returns the step of a model, and the shapes of its arguments."""
    options = types.SimpleNamespace(model=name, rows=rows, gradients="bf16", recompute=False, loop=False)
    ids = jax.ShapeDtypeStruct((rows, SEQ), jnp.int32)
    if name == "llama1b":
        weights = llama_shapes()
        decay = jax.tree.map(lambda _: False, weights)
        return jax_steps.step_of(llama_loss, decay, True), (weights, {}, weights, weights, jax_steps.shape(), ids, ids)
    return jax_steps.step_and_shapes(options)


def fill(shapes):
    """Returns arrays of these shapes: small random numbers, and for integers zeros and ones."""
    leaves, tree = jax.tree.flatten(shapes)
    keys = jax.random.split(jax.random.key(7), len(leaves))
    return tree.unflatten([jax.random.randint(key, one.shape, 0, 2, one.dtype) if jnp.issubdtype(one.dtype, jnp.integer)
                           else 0.02 * jax.random.normal(key, one.shape, one.dtype) for key, one in zip(keys, leaves)])


def median_ms(name, rows, steps=20, warm=5):
    step, (weights, running, _, _, _, *batch) = step_and_shapes(name, rows)
    weights, running, batch = fill(weights), jax.tree.map(lambda one: jnp.ones(one.shape, one.dtype), running), fill(batch)
    zeros = lambda: jax.tree.map(jnp.zeros_like, weights)
    state = weights, running, zeros(), zeros(), jnp.zeros((), F32)
    compiled = jax.jit(step, donate_argnums=(0, 1, 2, 3, 4))
    times = []
    for _ in range(warm + steps):
        begin = time.perf_counter()
        *state, loss = compiled(*state, *batch)
        jax.block_until_ready((state, loss))
        times.append(1e3 * (time.perf_counter() - begin))
    return sorted(times[warm:])[steps // 2]


def main():
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:
        print(f"no GPU for JAX: {(str(error).splitlines() or ['no platform that works'])[0]}")
        sys.exit(77)
    failed = 0
    for word in [word for word in sys.argv[1:] if not word.startswith("--")] or ["gpt2:8", "llama1b:4", "resnet50:256"]:
        name, rows = word.split(":")
        try:
            took = f"{median_ms(name, int(rows)):.2f} ms"
        except (RuntimeError, ValueError, NotImplementedError) as error:
            failed += 1
            took = f"error: {(str(error).strip().splitlines() or [type(error).__name__])[0]}"
        print(f"{name} batch {rows} bf16 JAX: {took}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
