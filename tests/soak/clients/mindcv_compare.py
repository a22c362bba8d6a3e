"""Compares trainings by mindcv's unchanged `train.py` here and by the documented system, from the same weights and
rows.

`mindcv_compare.py REPOSITORY FOLDER DOCUMENTED_PYTHON LIBRARIES [--only PART]`: the documented Python finds mindcv,
PyYAML and NumPy in LIBRARIES. Each case is a setting of the files of mindcv, with nothing drawn. Printed are the
largest differences of the losses of two epochs, and of all parameters and moving averages, in proportion to the
largest element of each. A line of JSON for each case is in FOLDER/compared.json."""

import argparse
import json
import os
import subprocess
import sys

import numpy as np
import yaml

from coloured_images import write_images
from mindcv_yamls import CLASSES, EDGE, HERE, IMAGES

PLAIN = {
    "mode": 0, "distribute": False, "num_parallel_workers": 1, "val_while_train": True, "dataset": "imagenet",
    "shuffle": False, "batch_size": 4, "drop_remainder": True, "image_resize": 48, "scale": [1.0, 1.0],
    "ratio": [1.0, 1.0], "hflip": 0.0, "color_jitter": None, "interpolation": "bilinear", "model": "soak_tiny",
    "num_classes": 6, "keep_checkpoint_max": 2, "epoch_size": 2, "log_interval": 1, "amp_level": "O0", "loss": "CE",
    "label_smoothing": 0.1, "scheduler": "cosine_decay", "lr": 0.05, "min_lr": 0.001, "warmup_epochs": 1,
    "warmup_factor": 0.1, "decay_epochs": 1, "opt": "momentum", "momentum": 0.9, "weight_decay": 0.01,
    "loss_scale": 1024, "dataset_sink_mode": False,
}  # fmt: skip
EMA = {"ema": True, "val_while_train": False}  # mindcv 0.3.0 evaluates averages by what MindSpore 2.10 refuses
ADAMW = {"opt": "adamw", "lr": 0.01}
CASES = {
    "sgd": {"opt": "sgd"},
    "sgd nesterov": {"opt": "sgd", "use_nesterov": True},
    "momentum": {},
    "momentum, decay of all but norms": {"weight_decay_filter": "auto"},
    "momentum, decay of weights alone": {"weight_decay_filter": "norm_and_bias"},
    "adam": {"opt": "adam", "lr": 0.01},
    "adamw": ADAMW,
    "adamw, decay of weights alone": {**ADAMW, "weight_decay_filter": "norm_and_bias"},
    "adamw, decay of all but norms": {**ADAMW, "weight_decay_filter": "auto"},
    "adamw, decay by layers": {**ADAMW, "layer_decay": 0.7},
    "lion": {"opt": "lion", "lr": 0.001},
    "nadam": {"opt": "nadam", "lr": 0.01, "loss_scale": 1.0},
    "adan": {"opt": "adan", "lr": 0.01},
    "rmsprop": {"opt": "rmsprop", "lr": 0.001, "eps": 1e-3},
    "adagrad": {"opt": "adagrad", "lr": 0.01},
    "lamb": {"opt": "lamb", "lr": 0.01, "loss_scale": 1.0},
    "constant": {"scheduler": "constant"},
    "cosine by epochs": {"lr_epoch_stair": True},
    "cosine in cycles": {"num_cycles": 2, "cycle_decay": 0.5},
    "exponential": {"scheduler": "exponential_decay", "decay_rate": 0.5},
    "polynomial": {"scheduler": "polynomial_decay", "decay_rate": 0.9},
    "steps": {"scheduler": "step_decay", "decay_rate": 0.1, "warmup_epochs": 0},
    "several steps": {"scheduler": "multi_step_decay", "multi_step_decay_milestones": [1], "warmup_epochs": 0},
    "one cycle": {"scheduler": "one_cycle", "warmup_epochs": 0},
    "cyclic": {"scheduler": "cyclic", "warmup_epochs": 0},
    "binary cross entropy": {"loss": "BCE"},
    "an auxiliary loss": {"aux_factor": 0.3},
    "averages": {**EMA, "ema_decay": 0.9},
    "averages, adamw": {**ADAMW, **EMA, "ema_decay": 0.99},
    "averages, lion": {"opt": "lion", "lr": 0.001, **EMA, "ema_decay": 0.99},
    "clipped": {"clip_grad": True, "clip_value": 0.05},
    "clipped, averages, adamw": {**ADAMW, "clip_grad": True, "clip_value": 0.05, **EMA},
    "accumulated": {"gradient_accumulation_steps": 2},
    "accumulated, averages, adamw": {**ADAMW, "gradient_accumulation_steps": 2, **EMA},
    "16 bits, O2": {"amp_level": "O2"},
    "16 bits, O3": {"amp_level": "O3"},
    "16 bits, O2, averages, adamw": {**ADAMW, "amp_level": "O2", **EMA},
    "16 bits, O3, averages, adamw": {**ADAMW, "amp_level": "O3", **EMA},
    "averages, PYNATIVE": {**EMA, "mode": 1},
    "momentum, PYNATIVE": {"mode": 1},
    "adamw, PYNATIVE": {**ADAMW, "mode": 1},
}
OWN = {"dynamic scale, adamw": (ADAMW, {"loss_scale_type": "dynamic", "drop_overflow_update": True})}
OWN["sunk, averages, adamw"] = (CASES["averages, adamw"], {"dataset_sink_mode": True})
OWN["sunk, momentum"] = ({}, {"dataset_sink_mode": True})


def prepared(name, told, who, args):
    """The folder of a training."""
    folder = os.path.join(args.folder, who, name.replace(" ", "_").replace(",", ""))
    os.makedirs(folder, exist_ok=True)
    told = dict(told, data_dir=os.path.join(args.folder, "images"), ckpt_save_dir=folder)
    with open(os.path.join(folder, "settings.yaml"), "w") as file:
        yaml.safe_dump(told, file)
    return folder


def run(command, folders, environment, args):
    """Runs trainings in one process."""
    line = [*command, os.path.join(HERE, "mindcv_train.py"), args.repository, *folders, "--weights"]
    subprocess.run(line, env=dict(environment, GLOG_v="3"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def found_in(folder):
    """(losses at the ends of epochs, accuracy, parameters), or why there are none."""
    try:
        with open(os.path.join(folder, "result.json")) as file:
            found = json.load(file)
    except OSError:
        return "no result"
    if "error" in found:
        return found["error"]
    losses = found["losses"]
    weights = np.load(os.path.join(folder, "weights.npz"))
    weights = {name.replace("optimizer.", ""): weights[name] for name in weights.files}  # as an inner cell names them
    return np.array(losses[len(losses) // 2 - 1 :: len(losses) // 2]), found["best"], weights


def far(first, second):
    """The largest difference in proportion to the largest element."""
    return float(np.max(np.abs(first.astype("f8") - second)) / max(1e-8, np.max(np.abs(second))))


def compared(name, documented, own):
    """A line of one case, from the folders of both."""
    documented, own = found_in(documented), found_in(own)
    if isinstance(documented, str) or isinstance(own, str):
        return {"name": name, "documented": str(documented)[:200], "own": str(own)[:200]}
    both = sorted(set(documented[2]) & set(own[2]))
    worst = {key: far(own[2][key].reshape(documented[2][key].shape), documented[2][key]) for key in both}
    where = max(worst, key=worst.get)
    return {
        "name": name, "losses": far(own[0], documented[0]), "parameters": worst[where], "where": where,
        "count": len(both), "averages": sum(one.startswith("ema") for one in both), "accuracy": [own[1], documented[1]],
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("documented")
    parser.add_argument("libraries")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    write_images(os.path.join(args.folder, "images"), CLASSES, IMAGES, EDGE)
    cases = {name: (told, {}) for name, told in CASES.items()}
    cases.update(OWN)
    cases = {name: both for name, both in cases.items() if args.only in name}
    there, here = [], []
    for name, (told, changes) in cases.items():
        there.append(prepared(name, {**PLAIN, **told}, "documented", args))
        here.append(prepared(name, {**PLAIN, **told, **changes}, "own", args))
    new = [one for one in there if not os.path.exists(os.path.join(one, "result.json"))]
    run([args.documented], new, dict(os.environ, PYTHONPATH=args.libraries), args)
    run([sys.executable, "-m", "partita.msrun"], here, os.environ, args)
    with open(os.path.join(args.folder, "compared.json"), "w") as file:
        for name, *folders in zip(cases, there, here):
            line = json.dumps(compared(name, *folders))
            print(line, flush=True)
            print(line, file=file, flush=True)


if __name__ == "__main__":
    main()
