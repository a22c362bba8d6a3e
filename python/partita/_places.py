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
# Modules of `ops.operations`, each with the ending _ops, whose names are in `ops.operations` here.
OF_OBJECTS = "array control custom debug inner linalg math other random sparse spectral"
# Modules of `ops.composite.multitype_ops`, each with the ending _impl, of one operator each.
OF_OPERATORS = (
    "add bitwise_and bitwise_or bitwise_xor div equal floordiv getitem greater greater_equal in invert left_shift less"
    " less_equal logical_not mod mul negative not_equal not_in pow right_shift setitem sub uadd"
)
# Modules whose names are in another one here.
PLACES = {
    "common._register_for_recompute": "nn.recompute_cells",
    "common.recompute": "nn.recompute_cells",
    "common.sparse_tensor": "common.sparse",
    "dataset.engine.datasets": "dataset.engine",
    "dataset.transforms.transforms": "dataset.transforms",
    "dataset.vision.transforms": "dataset.vision",
    "nn.layer.conv": "nn.convolution_base",
    **{f"nn.layer.{name}": "nn" for name in OF_LAYERS.split()},
    "nn.layer.rnn_cells": "nn.step_functions",
    "nn.layer.rnns": "nn.recurrent",
    "nn.loss.loss": "nn.loss",
    "nn.metrics": "train.metrics",
    "nn.wrap.grad_reducer": "nn.reducer",
    "ops.function": "ops.functional",
    **{f"ops.function.{name}_func": "ops.functional" for name in OF_FUNCTIONS.split()},
    **{f"ops.operations.{name}_ops": "ops.operations" for name in OF_OBJECTS.split()},
    "ops.auto_generate.gen_ops_def": "ops.auto_generate",
    "ops.auto_generate.gen_ops_prim": "ops.auto_generate",
    "ops.operations.comm_ops": "ops.communication",
    "ops.operations.manually_defined.ops_def": "ops.operations.manually_defined",
    "ops.composite.multitype_ops": "ops.multitype_ops",
    "ops.composite.multitype_ops._compile_utils": "ops.multitype_ops",
    **{f"ops.composite.multitype_ops.{name}_impl": "ops.multitype_ops" for name in OF_OPERATORS.split()},
    "parallel.shard": "parallel",
    "hal.contiguous_tensors_handle": "hal",
    "hal.device": "hal",
    "hal.event": "hal",
    "hal.memory": "hal",
    "hal.stream": "hal",
    "rewrite.namespace": "rewrite.common.namespace",
    "rewrite.parsers.assign_parser": "rewrite.parsers",
    "rewrite.parsers.class_def_parser": "rewrite.parsers",
    "rewrite.symbol_tree.symbol_tree_builder": "rewrite.parsers",
    "rewrite.symbol_tree_builder": "rewrite.parsers",
    "runtime.event": "runtime",
    "runtime.memory": "runtime",
    "runtime.stream": "runtime",
    "train.amp": "amp",
    "train.callback._callback": "train.callback",
    "train.callback._checkpoint": "train.checkpoints",
    "train.dataset_helper": "train.data_sink",
    "train.loss_scale_manager": "amp",
    "train.metrics.accuracy": "train.metrics",
    "train.mind_ir_pb2": "train.refused_files",
    "train.node_strategy_pb2": "train.refused_files",
    "train.summary.summary_record": "train.summary",
}


def _within():
    """{name of the package: module} of these modules, as attributes of those that have them."""
    found = {}
    for name, own in PLACES.items():
        parent, _, last = name.rpartition(".")
        found[f"partita.{PLACES.get(parent, parent)}.{last}"] = f"partita.{own}"
    return found


WITHIN = _within()


def submodule(module, name):
    """The module that `module.name` is in the documented system, or here, imported now; None if there is none."""
    path = f"{module}.{name}"
    own = WITHIN.get(path, path)
    try:
        is_there = not name.startswith("__") and importlib.util.find_spec(own) is not None
    except ModuleNotFoundError:  # `module` has none
        return None
    return importlib.import_module(own) if is_there else None
