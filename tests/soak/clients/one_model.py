"""Builds a model of mindcv, and trains it by three steps of SGD: the numbers as a file of NumPy.

`one_model.py NAME EDGE FOLDER WHO`: WHO is "documented", which writes weights and numbers to FOLDER/NAME.npz, or "own",
which takes the weights and prints a line of JSON with how far its own numbers are from these. Without the file, "own"
says what it could do alone."""

import json
import os
import sys
import time
import traceback

import numpy as np

RATE, STEPS, ROWS, CLASSES = 0.001, 3, 4, 10
FORWARD, WEIGHTS = 1e-5, 1e-4  # how far results and weights may be from those of the documented system
NOISE = 1e-6  # in proportion: images are changed by so much to find what is ill-conditioned


def made(name):
    """The model, without random draws in its training."""
    import mindcv
    from mindcv.models.registry import model_entrypoint

    options = {"num_classes": CLASSES}
    without = {"drop_rate": 0.0, "drop_path_rate": 0.0, "attn_drop_rate": 0.0}
    tries = [{**options, **without}, {**options, "drop_rate": 0.0, "drop_path_rate": 0.0}]
    tries += [{**options, "drop_rate": 0.0}, {**options, "drop_path_rate": 0.0}, options]
    for one in tries:
        try:
            return mindcv.create_model(name, **one) if one is options else model_entrypoint(name)(**one)
        except TypeError as error:
            if "unexpected keyword" not in str(error) and "multiple values" not in str(error):
                raise
    raise TypeError(f"no arguments fit {name}")


def without_draws(network):
    """Dropouts keep everything."""
    for _, cell in network.cells_and_names():
        if type(cell).__name__ == "Dropout":
            cell.p = 0.0
            cell.keep_prob = 1.0
        if type(cell).__name__ == "DropPath":
            cell.keep_prob, cell.training = 1.0, False
    return network


def main_result(value):
    return value[0] if isinstance(value, (tuple, list)) else value


def trained(name, edge, weights, seconds, noise=0.0):
    """(weights before, output, losses, weights after) by the library that `import mindspore` gives. With `noise` the
    images are changed by so much, in proportion."""
    import mindspore as ms
    from mindspore import nn

    ms.set_seed(1)
    begin = time.time()
    network = without_draws(made(name))
    seconds["build"] = time.time() - begin
    if weights is not None:
        missing = [p.name for p in network.get_parameters() if p.name not in weights]
        if missing or len(weights) != len(list(network.get_parameters())):
            raise KeyError(f"names of parameters differ: {missing[:3]} of {len(weights)}")
        for p in network.get_parameters():
            p.set_data(ms.Tensor(weights[p.name]))
    first = {p.name: np.array(p.asnumpy()) for p in network.get_parameters()}
    rows = np.random.default_rng(7)
    images = rows.standard_normal((ROWS, 3, edge, edge))
    x = ms.Tensor((images * (1 + noise * rows.standard_normal(images.shape))).astype(np.float32))
    y = ms.Tensor(np.arange(ROWS, dtype=np.int32) * 3 % CLASSES)
    network.set_train(False)
    begin = time.time()
    output = np.array(main_result(network(x)).asnumpy())
    seconds["forward"] = time.time() - begin
    network.set_train(True)

    loss = nn.CrossEntropyLoss()

    class WithLoss(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.network = network

        def construct(self, data, label):
            return loss(main_result(self.network(data)), label)

    optimizer = nn.SGD(network.trainable_params(), learning_rate=RATE)
    step = nn.TrainOneStepCell(WithLoss(), optimizer)
    without_draws(network)
    losses = []
    begin = time.time()
    for _ in range(STEPS):
        losses.append(float(main_result(step(x, y)).asnumpy()))
        seconds.setdefault("first step", time.time() - begin)
    seconds["steps"] = time.time() - begin
    return first, output, losses, {p.name: np.array(p.asnumpy()) for p in network.get_parameters()}


def largest(first, second):
    """The largest difference, of elements beyond 1 in proportion to them."""
    if first.shape != second.shape:
        return float("inf")
    if not first.size:
        return 0.0
    return float(np.max(np.abs(first.astype("f8") - second) / np.maximum(1.0, np.abs(second))))


def of_largest(first, second):
    """The largest difference in proportion to the largest element."""
    if first.shape != second.shape:
        return float("inf")
    return float(np.max(np.abs(first.astype("f8") - second)) / np.max(np.abs(second)))


def main():
    name, edge, folder, who = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    path, seconds = os.path.join(folder, name + ".npz"), {}
    if who == "documented":
        first, output, losses, after = trained(name, edge, None, seconds)
        values = {"output": output, "losses": np.array(losses)}
        values.update({f"first/{key}": one for key, one in first.items()})
        values.update({f"after/{key}": one for key, one in after.items()})
        np.savez(path + ".part.npz", **values)
        os.replace(path + ".part.npz", path)
        print(json.dumps({"name": name, "losses": losses, "seconds": seconds}))
        return
    line = {"name": name}
    try:
        kept = dict(np.load(path)) if os.path.exists(path) else None
        weights = kept and {key[6:]: one for key, one in kept.items() if key.startswith("first/")}
        first, output, losses, after = trained(name, edge, weights, seconds)
        line["losses"] = losses
        if kept:
            worst = {key: largest(one, kept["after/" + key]) for key, one in after.items()}
            where = max(worst, key=worst.get)
            line.update(
                forward=of_largest(output, kept["output"]),
                first_loss=abs(losses[0] - float(kept["losses"][0])),
                weights=worst[where],
                where=where,
                wanted=list(kept["losses"]),
            )
            if line["weights"] > WEIGHTS or line["forward"] > FORWARD:  # how far another sixth digit leads
                moved = trained(name, edge, weights, {}, noise=NOISE)
                line["moved"] = max(largest(one, after[key]) for key, one in moved[3].items())
                line["moved_forward"] = of_largest(moved[1], output)
    except Exception as error:  # noqa: BLE001  # whatever stops a model is what the line says
        line["error"] = f"{type(error).__name__}: {error}"[:400]
        places = [f"{one.filename.split('/')[-1]}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
        line["place"] = " ".join(one for one in places[-6:])
    line["seconds"] = {key: round(one, 1) for key, one in seconds.items()}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
