"""Evaluates calls in one of the systems: evaluate_calls.py SYSTEM CALLS RESULTS FIRST.

Reads CALLS, one call a line, from line FIRST on, and appends to RESULTS, for each, a pickled (line, result, text of the
error). A call that takes longer than a minute ends the process; the comparison begins again after that call.
SYSTEM-differences gives central differences in place of gradients."""

import importlib
import pickle
import signal
import sys

import numpy as np

SECONDS = 60
_FLOATS = ("Float16", "Float32", "Float64")


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


def given(net):
    """The same numbers to the parameters of a cell, in their order; those of variances are positive."""
    for i, one in enumerate(net.get_parameters()):
        values = np.random.default_rng([7 + i, *one.shape]).uniform(0.2, 0.8, one.shape).astype("f4")
        if "weight" in one.name and len(one.shape) > 1:
            values -= np.float32(0.5)
        one.set_data(type(net)._system.Tensor(values))
    return net


def is_float(one):
    return hasattr(one, "dtype") and str(one.dtype) in _FLOATS


def total_by(system, kind="f4"):
    """The function that is differentiated: the sum of results times drawn numbers."""
    t, dtype = tensor_of(system), system.float32 if kind == "f4" else system.float64

    def parts(made):
        return [part for one in made for part in parts(one)] if isinstance(made, (tuple, list)) else [made]

    def total(made):
        numbers = [one for one in parts(made) if is_float(one)]
        if not numbers:
            raise TypeError("a gradient of results that are no floating-point numbers")
        summed = [(one.astype(dtype) * t(5, kind, "any", tuple(one.shape))).sum() for one in numbers]
        whole = summed[0]
        for one in summed[1:]:
            whole = whole + one
        return whole

    return total


def gradient_by(system):
    """The function `gradient` of random calls: gradients of a function or a cell by its tensors of floating-point
    numbers, and by the cell's parameters."""
    total = total_by(system)

    def gradient(function, *inputs):
        places = tuple(i for i, one in enumerate(inputs) if is_float(one))
        weights = function.trainable_params() if isinstance(function, system.nn.Cell) else []
        return system.grad(lambda *args: total(function(*args)), places or None, weights or None)(*inputs)

    return gradient


def differences_by(system):
    """The function `gradient` by central differences of float64, or of float32 for cells with parameters."""

    def gradient(function, *inputs):
        of_cell = isinstance(function, system.nn.Cell) and function.trainable_params()
        total, step = total_by(system, "f4" if of_cell else "f8"), 1e-2 if of_cell else 1e-5
        if not of_cell:
            inputs = [one.astype(system.float64) if is_float(one) else one for one in inputs]
        values = [one.asnumpy().copy() for one in inputs]

        def at(place, index, change):
            moved = [system.Tensor(one.copy()) for one in values]
            changed = values[place].copy()
            changed[index] += change
            moved[place] = system.Tensor(changed)
            return float(total(function(*moved)).asnumpy())

        made = []
        for place in (i for i, one in enumerate(inputs) if is_float(one)):
            slopes = np.zeros(values[place].shape)
            for index in np.ndindex(slopes.shape):
                slopes[index] = (at(place, index, step) - at(place, index, -step)) / (2 * step)
            made.append(system.Tensor(slopes.astype("f4")))
        return tuple(made)

    return gradient


def metric(one, *inputs):
    """The value of a metric after one update."""
    one.clear()
    one.update(*inputs)
    return one.eval()


def names_of(system, gradient):
    """The names that calls use; `gradient` makes the function of this name."""
    system.nn.Cell._system = system
    return {
        "__name__": __name__, "ms": system, "ops": system.ops, "nn": system.nn, "np": np, "t": tensor_of(system),
        "gradient": gradient(system), "given": given, "metric": metric,
    }  # fmt: skip


def plain(value):
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *[plain(one) for one in value]]
    if isinstance(value, np.ndarray):
        return f"numpy {value.dtype}", value.copy()
    if hasattr(value, "asnumpy"):
        return str(value.dtype), value.asnumpy().copy()
    return float(value) if isinstance(value, float) else str(value)


def result(names, call):
    """(what the call gives as plain values, None), or (None, the text of the error)."""
    try:
        return plain(eval(compile(call, "call", "eval"), names)), None
    except Exception as error:  # of either system
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def main():
    name, calls, results, first = sys.argv[1:]
    name, _, differences = name.partition("-")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    system = importlib.import_module(name)
    importlib.import_module(f"{name}.numpy")
    if name == "mindspore":
        system.set_context(mode=system.PYNATIVE_MODE, device_target="CPU", pynative_synchronize=True)
    names = names_of(system, differences_by if differences else gradient_by)
    with open(calls) as file:
        lines = file.read().splitlines()
    with open(results, "ab") as file:
        for i in range(int(first), len(lines)):
            signal.alarm(SECONDS)
            pickle.dump((i, *result(names, lines[i])), file)
            file.flush()


if __name__ == "__main__":
    main()
