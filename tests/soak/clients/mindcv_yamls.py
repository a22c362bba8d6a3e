"""Trains by each file of settings of mindcv for a few steps, with its unchanged `train.py`, and counts.

`mindcv_yamls.py REPOSITORY FOLDER [--own SECONDS] [--only PART] [--every]`

REPOSITORY holds train.py, config.py and configs. Each file keeps its settings but for those in `shortened`: few small
images, batches of 4, two epochs of three steps. Its own model runs if a training ends in SECONDS (0: never), else
"soak_tiny" of mindcv_train.py stands in for it. Files that differ in the model alone are one group, and one of each
runs; with `--every` all do. A line of JSON for each is in FOLDER/lines.json."""

import argparse
import glob
import json
import os
import subprocess
import sys
import time

import numpy as np
import yaml
from coloured_images import write_images

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES, IMAGES, EDGE, SMALL = 6, 2, 48, 32
# Folders of settings whose models take images of any size: those get the edge that follows.
ANY_SIZE, ANY_EDGE = set(
    """bit convnext convnextv2 densenet dpn efficientnet ghostnet googlenet hrnet mixnet mnasnet mobilenetv1 mobilenetv2
    mobilenetv3 poolformer regnet repvgg res2net resnest resnet resnetv2 resnext rexnet senet shufflenetv1 shufflenetv2
    sknet squeezenet""".split()
), 64
OF_MODELS = ("model", "batch_size", "num_classes", "image_resize", "data_dir", "keep_checkpoint_max", "in_channels")
OF_MODELS += ("epoch_size", "decay_epochs", "warmup_epochs", "lr", "min_lr", "weight_decay", "num_parallel_workers")


def shortened(told, images, folder, own, family):
    """The settings with few small rows; every other one is as it was. Models of their own train for one epoch, with a
    learning rate in proportion to the batch."""
    told_batch = told.get("batch_size", 128)
    told = dict(told, data_dir=images, ckpt_save_dir=folder, batch_size=4, num_parallel_workers=1, log_interval=1)
    told.update(epoch_size=2, warmup_epochs=min(1, told.get("warmup_epochs", 3)), decay_epochs=1, num_classes=CLASSES)
    if not own:
        told.update(model="soak_tiny", image_resize=SMALL)
    elif family in ANY_SIZE:
        told.update(image_resize=ANY_EDGE)
    if own:  # its rate is that of larger batches
        told.update(epoch_size=1, warmup_epochs=0, lr=float(told.get("lr", 0.001)) * 4 / told_batch)
    return told


def device_of(told):
    """The device that the script asks for. mindcv refuses to leave out steps on a CPU where its own step trains, so
    Ascend is asked for, for which the CPU computes here."""
    own_step = told.get("ema") or told.get("clip_grad") or told.get("gradient_accumulation_steps", 1) > 1
    return "Ascend" if own_step and told.get("drop_overflow_update") else "CPU"


def group_of(told):
    """Equal for two files whose models alone differ."""
    return json.dumps({key: value for key, value in told.items() if key not in OF_MODELS}, sort_keys=True)


def trained(repository, told, folder, seconds):
    """(losses, "") or (None, why not)."""
    result = os.path.join(folder, "result.json")
    with open(os.path.join(folder, "settings.yaml"), "w") as file:
        yaml.safe_dump(told, file)
    if os.path.exists(result):
        os.remove(result)
    command = [sys.executable, "-m", "partita.msrun", os.path.join(HERE, "mindcv_train.py"), repository, folder]
    environment = dict(os.environ, SOAK_DEVICE=device_of(told))
    try:
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"took more than {seconds:.0f} s"
    if not os.path.exists(result):
        return None, f"exit {run.returncode}: {run.stderr[-200:]}"
    with open(result) as file:
        found = json.load(file)
    losses = found["losses"]
    if "error" in found or not losses or not np.all(np.isfinite(losses)):
        return None, found.get("error", f"losses {losses}")
    return losses, ""


def name_of(repository, path):
    """The name of a file of settings."""
    return os.path.relpath(path, os.path.join(repository, "configs"))[: -len(".yaml")]


def trained_before(folder, kind):
    """Names of the files that an earlier run has trained by models of this kind."""
    try:
        with open(os.path.join(folder, "lines.json")) as file:
            lines = [json.loads(line) for line in file]
    except OSError:
        return set()
    return {one["name"] for one in lines if one["losses"] and one["by"] == kind}


def line_of(args, path, images):
    """The line of one file."""
    name = name_of(args.repository, path)
    with open(path) as file:
        told = yaml.safe_load(file)
    folder = os.path.join(args.folder, name.replace("/", "_"))
    os.makedirs(folder, exist_ok=True)
    line, begin = {"name": name, "model": told["model"], "device": device_of(told)}, time.time()
    if args.own:
        own = shortened(told, images, folder, True, name.split("/")[0])
        line["losses"], line["why_not_own"] = trained(args.repository, own, folder, args.own)
        line["by"] = "own"
    if not line.get("losses"):
        told = shortened(told, images, folder, False, "")
        line["losses"], line["error"] = trained(args.repository, told, folder, 300)
        line["by"] = "substitute"
    return dict(line, seconds=round(time.time() - begin, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=os.path.abspath)
    parser.add_argument("folder", type=os.path.abspath)
    parser.add_argument("--own", type=float, default=0)
    parser.add_argument("--only", default="", help="parts of names, with commas between them")
    parser.add_argument("--every", action="store_true")
    args = parser.parse_args()
    images = os.path.join(args.folder, "images")
    write_images(images, CLASSES, IMAGES, EDGE)
    paths = sorted(glob.glob(os.path.join(args.repository, "configs", "*", "*.yaml")))
    paths = [one for part in args.only.split(",") for one in paths if part in one]
    paths = list(dict.fromkeys(paths))
    groups = {}
    for path in paths:
        with open(path) as file:
            groups.setdefault(group_of(yaml.safe_load(file)), []).append(path)
    print(f"{len(paths)} files, {len(groups)} groups", flush=True)
    lines, known = [], trained_before(args.folder, "own" if args.own else "substitute")
    paths = paths if args.every else [members[0] for members in groups.values()]
    with open(os.path.join(args.folder, "lines.json"), "a") as file:
        for path in [one for one in paths if name_of(args.repository, one) not in known]:
            lines.append(line_of(args, path, images))
            print(json.dumps(lines[-1]), file=file, flush=True)
            if not lines[-1]["losses"]:
                print(f"{lines[-1]['name']}: {lines[-1]['error']}", flush=True)
    for kind in ("own", "substitute"):
        print(f"trained by {kind}: {sum(one['by'] == kind and bool(one['losses']) for one in lines)} of {len(lines)}")
    sys.exit(any(not one["losses"] for one in lines))


if __name__ == "__main__":
    main()
