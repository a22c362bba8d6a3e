"""Times steps of JAX on a GPU.

    tools/gpu/jax_times.py [NAME:ROWS..]      # gpt2, llama1b and resnet50, in bf16

The models are those of tools/xla/jax_steps.py; the Llama has rows of 1,024 tokens, as in steps.sh. --small takes tiny
sizes for GPT-2 and the Llama, and --cpu the processor, to try the script out.
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

F32 = jnp.float32
jax_steps.LLAMA_SEQ = 1024
if SMALL:
    jax_steps.LAYERS, jax_steps.HIDDEN, jax_steps.HEADS, jax_steps.SEQ, jax_steps.VOCAB = 2, 64, 2, 32, 97
    (jax_steps.LLAMA_LAYERS, jax_steps.LLAMA_HIDDEN, jax_steps.LLAMA_HEADS, jax_steps.LLAMA_KEYS, jax_steps.LLAMA_INNER,
     jax_steps.LLAMA_SEQ, jax_steps.LLAMA_VOCAB) = 1, 64, 4, 2, 96, 32, 97
if CPU:
    attention = jax.nn.dot_product_attention
    jax.nn.dot_product_attention = lambda *args, **more: attention(*args, **more | {"implementation": "xla"})


def step_and_shapes(name, rows):
    """Returns the step of a model, and the shapes of its arguments."""
    return jax_steps.step_and_shapes(
        types.SimpleNamespace(model=name, rows=rows, gradients="bf16", recompute=False, loop=False))


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
