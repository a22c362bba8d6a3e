"""Random calls of documented functions in both systems: compare_calls.py [--seed N] [--calls N] [--show].

Counts calls that MindSpore carries out: those with an equal result, those that are refused here, listed deviations of
tests/python/mindspore_deviations.txt, and those that are silently different, which are printed. Ends with 1 when one is
silently different, less than 85 % are equal, or more than 12 % refused."""

import argparse
import collections
import os
import re
import sys

import numpy as np
import random_calls

import mindspore
import partita

mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)
DEVIATIONS = os.path.join(os.path.dirname(__file__), "..", "..", "python", "mindspore_deviations.txt")
# MindSpore computes some functions of float64 in float32.
_TOLERANCE = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-5}


def tensor_of(system):
    """The function `t` of random calls: integers as they are, or (number, type, kind of values, sizes)."""

    def make(number, dtype=None, kind="any", sizes=()):
        if dtype is None:
            return system.Tensor(np.array(number, "i4"))
        random = np.random.default_rng([number, *sizes])
        values = random.uniform(-3, 3, sizes)
        if kind == "coarse":
            values = np.round(values)
        if kind in ("positive", "unit") or dtype == "u1":
            values = np.abs(values) / (3 if kind == "unit" else 1) + (0.1 if kind == "positive" else 0)
        if dtype in ("i4", "i8", "u1"):
            values = np.round(values * 2)
        return system.Tensor(np.array(values > 0 if dtype == "?" else values).astype(dtype))

    return make


def names_of(system):
    return {"__name__": __name__, "ms": system, "ops": system.ops, "nn": system.nn, "np": np, "t": tensor_of(system)}


NAMES = {system: names_of(system) for system in (mindspore, partita)}


def result(system, call):
    """(what the call gives as plain values, None), or (None, the text of the error)."""
    try:
        return plain(eval(compile(call, "call", "eval"), NAMES[system])), None
    except Exception as error:  # of either system
        return None, f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:160]}"


def plain(value):
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *[plain(one) for one in value]]
    if hasattr(value, "asnumpy"):
        return str(value.dtype), value.asnumpy().copy()
    return str(value)


def same(got, expected):
    if type(got) is not type(expected):
        return False
    if isinstance(got, list):
        return len(got) == len(expected) and all(same(one, other) for one, other in zip(got, expected))
    if isinstance(got, str):
        return got == expected
    (type_got, a), (type_expected, b) = got, expected
    if type_got != type_expected or a.shape != b.shape:
        return False
    tolerance = _TOLERANCE.get(a.dtype, 0.0)
    scale = max(1.0, float(np.abs(np.where(np.isfinite(b), b, 0)).max(initial=0)) if b.dtype.kind == "f" else 1.0)
    return bool(np.allclose(a.astype("f8"), b.astype("f8"), tolerance, tolerance * scale, equal_nan=True))


def deviations():
    """Patterns of calls that are listed as different, with a reason."""
    with open(DEVIATIONS) as file:
        lines = [line.split(" | ") for line in file if line.startswith("call ")]
    return [re.compile(parts[0][5:].strip()) for parts in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=1500)
    parser.add_argument("--show", action="store_true", help="print refused calls, too")
    options = parser.parse_args()
    calls, listed, counts = random_calls.Calls(options.seed), deviations(), collections.Counter()
    while sum(counts[kind] for kind in ("equal", "refused", "listed", "different")) < options.calls:
        call = calls.draw()
        expected, refused_there = result(mindspore, call)
        if refused_there is not None:
            counts["refused there"] += 1
            continue
        got, refused = result(partita, call)
        kind = "refused" if refused else "equal" if same(got, expected) else "different"
        if kind == "different" and any(one.search(call) for one in listed):
            kind = "listed"
        counts[kind] += 1
        if kind == "refused" and options.show:
            print(f"refused: {call}\n    {refused}")
        if kind == "different":
            print(f"different: {call}\n    {got}\n    instead of {expected}")
    shares = {kind: counts[kind] / options.calls for kind in ("equal", "refused", "listed", "different")}
    text = ", ".join(f"{counts[kind]} {kind} ({share:.1%})" for kind, share in shares.items())
    print(f"random calls, seed {options.seed}: {text}; {counts['refused there']} more refused there")
    sys.exit(counts["different"] > 0 or shares["equal"] < 0.85 or shares["refused"] > 0.12)


if __name__ == "__main__":
    main()
