"""Runs the unchanged `train.py` of mindcv with files of settings, and writes what it did as JSON.

`mindcv_train.py REPOSITORY FOLDER [--weights]..`: FOLDER has settings.yaml, and gets result.json with the losses that
callbacks saw, or the error. With `--weights` networks begin with numbers that depend on names and shapes alone, and all
parameters of the training end in weights.npz. The name "soak_tiny" is a model of few elements that stands in for models
whose steps take too long."""

import json
import os
import runpy
import sys
import traceback
import zlib

import numpy as np
import yaml

import mindspore as ms
from mindspore import nn


def drawn(name, shape, kind):
    """Numbers that depend on the name alone."""
    rows = np.random.default_rng(zlib.crc32(name.encode()))
    values = rows.standard_normal(shape) * 0.1
    return (values + 1 if kind.endswith(("gamma", "moving_variance")) else values).astype(np.float32)


def register_tiny():
    """Registers a network with the layers that settings speak of: norms, dropout, drop path, auxiliary results."""
    from mindcv.models.layers.drop_path import DropPath
    from mindcv.models.registry import register_model

    class Tiny(nn.Cell):
        def __init__(self, in_channels, num_classes, drop_rate, drop_path_rate, aux_logits):
            super().__init__()
            self.conv = nn.Conv2d(in_channels, 6, 3, stride=2)
            self.bn = nn.BatchNorm2d(6)
            self.blocks = nn.CellList([nn.Conv2d(6, 6, 3) for _ in range(2)])
            self.drop_path = DropPath(drop_path_rate) if drop_path_rate else None
            self.dropout = nn.Dropout(p=drop_rate) if drop_rate else None
            self.norm = nn.LayerNorm((6,))
            self.head = nn.Dense(6, num_classes)
            self.aux = nn.Dense(6, num_classes) if aux_logits else None

        def construct(self, x):
            x = ms.ops.relu(self.bn(self.conv(x)))
            for block in self.blocks:
                y = block(x)
                x = x + (y if self.drop_path is None else self.drop_path(y))
            x = self.norm(x.mean((2, 3)))
            if self.dropout is not None:
                x = self.dropout(x)
            if self.aux is not None and self.training:
                return self.head(x), self.aux(x)
            return self.head(x)

    @register_model
    def soak_tiny(pretrained=False, num_classes=1000, in_channels=3, drop_rate=0.0, drop_path_rate=0.0, **kwargs):
        return Tiny(in_channels, num_classes, drop_rate, drop_path_rate, os.environ.get("SOAK_AUX") == "1")


def watch(job):
    """Lets the factory set weights, if these are to be compared, and the monitor keep each loss."""
    import mindcv.models
    import mindcv.utils

    class Monitor(mindcv.utils.StateMonitor):
        def on_train_step_end(self, run_context):
            outputs = run_context.original_args().net_outputs
            outputs = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
            job["losses"].append(float(outputs.asnumpy()))
            super().on_train_step_end(run_context)

        def on_train_end(self, run_context):
            super().on_train_end(run_context)
            job["best"] = float(self.best_res)
            if job["weights"]:
                trained = self.model.train_network.get_parameters()
                np.savez(job["weights"], **{p.name: np.array(p.asnumpy()) for p in trained})

    made = mindcv.models.create_model

    def create_model(*args, **kwargs):
        network = made(*args, **kwargs)
        for p in network.get_parameters() if job["weights"] else ():
            p.set_data(ms.Tensor(drawn(p.name, p.shape, p.name)))
        return network

    mindcv.utils.StateMonitor, mindcv.models.create_model = Monitor, create_model


def run(repository, folder, job):
    """One training."""
    settings, weights = os.path.join(folder, "settings.yaml"), os.path.join(folder, "weights.npz")
    with open(settings) as file:
        os.environ["SOAK_AUX"] = "1" if yaml.safe_load(file).get("aux_factor") else "0"
    job.clear()
    job.update(losses=[], weights=weights if "--weights" in sys.argv else "")
    before = sys.argv
    sys.argv = ["train.py", "-c", settings]
    os.chdir(folder)
    try:
        runpy.run_path(os.path.join(repository, "train.py"), run_name="__main__")
    except Exception as error:  # noqa: BLE001  # whatever ends a training is its result
        traceback.print_exc()
        job["error"] = f"{type(error).__name__}: {error}"[:300]
    finally:
        sys.argv = before
    with open(os.path.join(folder, "result.json"), "w") as file:
        json.dump(job, file)


def main():
    if os.environ.get("SOAK_DEVICE"):
        ms.set_context(device_target=os.environ["SOAK_DEVICE"])
    repository, *folders = [os.path.abspath(one) for one in sys.argv[1:] if one != "--weights"]
    job = {}
    register_tiny()
    watch(job)
    sys.path.insert(0, repository)
    for folder in folders:
        run(repository, folder, job)


if __name__ == "__main__":
    main()
