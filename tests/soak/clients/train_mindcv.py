"""Trains a model of mindcv on a folder of images that it writes, as the library's own script does: the same factories
in the same order, with what a file of settings says. `train_mindcv.py SETTINGS FOLDER`."""

import os
import sys

import yaml
from coloured_images import write_images

import mindspore as ms
from mindcv.data import create_dataset, create_loader, create_transforms
from mindcv.loss import create_loss
from mindcv.models import create_model
from mindcv.optim import create_optimizer
from mindcv.scheduler import create_scheduler
from mindcv.utils import StateMonitor, create_trainer, get_metrics, set_seed


def loader_of(told, folder, split):
    """The batches of the training, or of the evaluation."""
    training = split == "train"
    data = create_dataset(root=folder, split=split, shuffle=training, num_parallel_workers=1)
    drawn = {"hflip": 0.5, "color_jitter": told["color_jitter"], "re_prob": told["re_prob"]} if training else {}
    maps = create_transforms(
        image_resize=told["image_resize"], is_training=training, interpolation=told["interpolation"], **drawn
    )
    return create_loader(
        data,
        told["batch_size"],
        drop_remainder=training,
        is_training=training,
        transform=maps,
        num_classes=told["num_classes"],
        num_parallel_workers=1,
    )


def trainer_of(told, steps):
    """(the library's trainer, its metrics)."""
    network = create_model(told["model"], num_classes=told["num_classes"])
    loss = create_loss(told["loss"], label_smoothing=told["label_smoothing"])
    epochs = {"warmup_epochs": told["warmup_epochs"], "num_epochs": told["epoch_size"]}
    epochs["decay_epochs"] = told["epoch_size"] - told["warmup_epochs"]
    rates = create_scheduler(steps, scheduler=told["scheduler"], lr=told["lr"], min_lr=told["min_lr"], **epochs)
    optimizer = create_optimizer(
        network.trainable_params(),
        opt=told["opt"],
        lr=rates,
        weight_decay=told["weight_decay"],
        momentum=told["momentum"],
        filter_bias_and_bn=True,
        loss_scale=told["loss_scale"],
    )
    metrics = get_metrics(told["num_classes"])
    scales = {"loss_scale_type": told["loss_scale_type"], "loss_scale": told["loss_scale"]}
    trainer = create_trainer(
        network, loss, optimizer, metrics, told["amp_level"], None, drop_overflow_update=False, **scales
    )
    return trainer, metrics


def main():
    with open(sys.argv[1]) as file:
        told = yaml.safe_load(file)
    folder = sys.argv[2]
    write_images(folder, told["num_classes"], told["images"], 72)
    ms.set_context(mode=told["mode"])
    set_seed(told["seed"], None)
    loaders = {split: loader_of(told, folder, split) for split in ("train", "val")}
    trainer, metrics = trainer_of(told, loaders["train"].get_dataset_size())
    monitor = StateMonitor(
        trainer,
        model_name=told["model"],
        dataset_sink_mode=told["dataset_sink_mode"],
        dataset_val=loaders["val"],
        metric_name=list(metrics),
        ckpt_save_dir=os.path.join(folder, "ckpt"),
        ckpt_save_policy="latest_k",
        summary_dir=os.path.join(folder, "summary"),
        log_interval=2,
    )
    sunk = told["dataset_sink_mode"]
    trainer.train(told["epoch_size"], loaders["train"], callbacks=[monitor], dataset_sink_mode=sunk)
    with open(os.path.join(folder, "ckpt", "result.log")) as file:
        print(file.read())


if __name__ == "__main__":
    main()
