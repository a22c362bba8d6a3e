"""Where the modules of the documented system are here."""

import importlib
import importlib.util

# Modules of `nn.layer` whose names are in `nn` here.
OF_LAYERS = (
    "activation basic channel_shuffle combined container dense embedding image math normalization padding pooling"
    " timedistributed"
)
# Modules of `ops.function`, each with the ending _func, whose names are in `ops.functional` here.
OF_FUNCTIONS = "array clip debug grad image linalg math nn other parameter random"
# Modules whose names are in another one here.
PLACES = {
    "common.sparse_tensor": "common.sparse",
    "dataset.engine.datasets": "dataset.engine",
    "dataset.transforms.transforms": "dataset.transforms",
    "dataset.vision.transforms": "dataset.vision",
    "dataset.vision.utils": "dataset.vision",
    "nn.layer.conv": "nn.convolution_base",
    **{f"nn.layer.{name}": "nn" for name in OF_LAYERS.split()},
    "nn.layer.rnn_cells": "nn.step_functions",
    "nn.layer.rnns": "nn.recurrent",
    "nn.loss.loss": "nn.loss",
    "nn.metrics": "train.metrics",
    "nn.wrap.grad_reducer": "nn.reducer",
    "ops.function": "ops.functional",
    **{f"ops.function.{name}_func": "ops.functional" for name in OF_FUNCTIONS.split()},
    "ops.operations.array_ops": "ops.operations",
    "ops.operations.comm_ops": "ops.communication",
    "parallel.shard": "parallel",
    "hal.device": "hal",
    "hal.event": "hal",
    "hal.memory": "hal",
    "hal.stream": "hal",
    "runtime.event": "runtime",
    "runtime.memory": "runtime",
    "runtime.stream": "runtime",
    "train.amp": "amp",
    "train.callback._callback": "train.callback",
    "train.callback._checkpoint": "train.checkpoints",
    "train.dataset_helper": "train.data_sink",
    "train.loss_scale_manager": "amp",
    "train.metrics.accuracy": "train.metrics",
}


def submodule(module, name):
    """The module that `module.name` is in the documented system, or here, imported now; None if there is none."""
    path = f"{module}.{name}".removeprefix("partita.")
    own = f"partita.{PLACES.get(path, path)}"
    try:
        is_there = not name.startswith("__") and importlib.util.find_spec(own) is not None
    except ModuleNotFoundError:  # `module` has none
        return None
    return importlib.import_module(own) if is_there else None
