"""Names that are not there, with what to use instead: those of PyTorch, and those of the documented system.
They are looked up when a name is missed; `docs/reference/missing.md` lists the latter."""

# Names of PyTorch by where they are asked for.
OF_TORCH = {
    "": {
        "autograd": "value_and_grad(function, None, parameters)",
        "as_tensor": "Tensor(values)",
        "backends": "set_context(deterministic='ON')",
        "cat": "ops.cat(tensors, axis)",
        "compile": "jit(function)",
        "cuda": "set_context(device_target='GPU')",
        "device": "set_context(device_target='GPU'): tensors have no device of their own",
        "distributed": "communication.init() and set_auto_parallel_context(parallel_mode='data_parallel')",
        "empty": "ops.zeros(shape, dtype)",
        "enable_grad": "value_and_grad(..), which differentiates what it is asked to",
        "inference_mode": "network.set_train(False): gradients are those that are asked for",
        "finfo": "numpy.finfo(numpy.float32)",
        "iinfo": "numpy.iinfo(numpy.int32)",
        "FloatTensor": "Tensor(values, float32)",
        "LongTensor": "Tensor(values, int64)",
        "no_grad": "ops.stop_gradient(x): gradients are those that are asked for",
        "optim": "nn.SGD, nn.Adam and the other optimizers of nn",
        "save": "save_checkpoint(network, 'net.ckpt')",
        "set_default_dtype": "dtypes of tensors and parameters: float32 is the default",
        "set_grad_enabled": "value_and_grad(..), which differentiates what it is asked to",
        "Size": "a tuple",
        "zeros": "ops.zeros(shape, dtype)",
        "ones": "ops.ones(shape, dtype)",
        "arange": "ops.arange(end)",
        "stack": "ops.stack(tensors, axis)",
        "where": "ops.where(condition, x, y)",
        "einsum": "ops.einsum(equation, x, y)",
        "matmul": "ops.matmul(x, y)",
        "rand": "ops.rand(*size)",
        "randn": "ops.randn(*size)",
        "relu": "ops.relu(x)",
        "sigmoid": "ops.sigmoid(x)",
        "softmax": "ops.softmax(x, axis)",
        "sum": "ops.sum(x, axis)",
        "F": "ops",
    },
    "nn": {
        "AdamW": "nn.AdamWeightDecay",
        "BCELoss": "ops.binary_cross_entropy",
        "Bilinear": "ops.einsum('bi,oij,bj->bo', x, weight, y)",
        "ConvTranspose1d": "nn.Conv1dTranspose",
        "ConvTranspose2d": "nn.Conv2dTranspose",
        "ConvTranspose3d": "nn.Conv3dTranspose",
        "DataParallel": "set_auto_parallel_context(parallel_mode='data_parallel')",
        "Hardswish": "nn.HSwish",
        "Hardsigmoid": "nn.HSigmoid",
        "KLDivLoss": "ops.kl_div",
        "LazyLinear": "nn.Dense(in_channels, out_channels)",
        "Linear": "nn.Dense(in_channels, out_channels)",
        "Module": "nn.Cell, whose method is `construct`",
        "ModuleDict": "cells as attributes of a cell",
        "ModuleList": "nn.CellList",
        "Parameter": "Parameter, of the package itself",
        "ParameterList": "ParameterTuple, of the package itself",
        "Sequential": "nn.SequentialCell",
        "StepLR": "nn.piecewise_constant_lr, or rates by steps as learning_rate",
        "Softplus": "ops.softplus(x)",
        "functional": "ops, which has the functions",
        "init": "common.initializer",
        "lr_scheduler": "nn.cosine_decay_lr and the like, as learning_rate",
        "modules": "nn",
        "parallel": "set_auto_parallel_context(parallel_mode='data_parallel')",
        "utils": "ops.clip_by_global_norm and other functions of ops",
        "clip_grad_norm_": "ops.clip_by_global_norm(gradients, clip_norm)",
        "optim": "the optimizers of nn",
    },
    "ops": {
        "linear": "ops.dense(x, weight, bias)",
        "no_grad": "ops.stop_gradient(x)",
        "scaled_dot_product_attention": "ops.matmul and ops.softmax, which become one op",
        "normalize": "ops.L2Normalize(axis)(x)",
        "pixel_shuffle": "nn.PixelShuffle(factor)(x)",
        "clip_grad_norm_": "ops.clip_by_global_norm(gradients, clip_norm)",
        "embedding": "ops.gather(table, ids, 0)",
        "softmax_cross_entropy": "ops.cross_entropy(logits, labels)",
    },
    "dataset": {
        "DataLoader": "GeneratorDataset(source, names).batch(size)",
        "TensorDataset": "NumpySlicesDataset(arrays, names)",
        "Subset": "dataset.skip(n).take(m)",
        "random_split": "dataset.split([0.8, 0.2])",
        "default_collate": "dataset.batch(size, per_batch_map=function)",
    },
    "amp": {
        "autocast": "auto_mixed_precision(network, 'O2')",
        "GradScaler": "DynamicLossScaler(scale, factor, window)",
    },
    "train": {
        "Trainer": "Model(network, loss_fn, optimizer).train(epochs, dataset)",
        "optim": "the optimizers of nn",
    },
    "Tensor": {
        "backward": "value_and_grad(function, None, parameters), then optimizer(gradients)",
        "cpu": "asnumpy() for NumPy: tensors have no device of their own",
        "cuda": "set_context(device_target='GPU'): tensors have no device of their own",
        "detach": "ops.stop_gradient(x)",
        "detach_": "ops.stop_gradient(x)",
        "device": "get_context('device_target')",
        "double": "astype(float64)",
        "grad": "value_and_grad(function, None, parameters), which returns the gradients",
        "grad_fn": "value_and_grad(function, None, parameters)",
        "is_cuda": "get_context('device_target')",
        "is_leaf": "value_and_grad(function, None, parameters)",
        "is_sparse": "a Tensor of all elements: none is sparse",
        "new_tensor": "Tensor(values, x.dtype)",
        "requires_grad": "Parameter(x, requires_grad=True): gradients of tensors are those that are asked for",
        "retain_grad": "grad(function, position)(..)",
        "share_memory_": "asnumpy(), which is of the same memory",
    },
    "Cell": {
        "add_module": "insert_child_to_cell(name, cell)",
        "apply": "cells_and_names()",
        "backward": "value_and_grad(function, None, cell.trainable_params()), then optimizer(gradients)",
        "buffers": "get_parameters(): a buffer is a Parameter with requires_grad=False",
        "children": "cells()",
        "cpu": "set_context(device_target='CPU')",
        "cuda": "set_context(device_target='GPU')",
        "double": "to_float(..), or Parameters of float64",
        "eval": "set_train(False)",
        "float": "to_float(float32)",
        "forward": "construct",
        "get_submodule": "cells_and_names()",
        "half": "to_float(float16)",
        "in_features": "in_channels",
        "load_state_dict": "load_param_into_net(net, load_checkpoint(path))",
        "modules": "cells_and_names()",
        "named_children": "name_cells()",
        "named_modules": "cells_and_names()",
        "named_parameters": "parameters_and_names()",
        "out_features": "out_channels",
        "parameters": "get_parameters(), or trainable_params() for an optimizer",
        "register_buffer": "an attribute that is a Parameter with requires_grad=False",
        "register_full_backward_hook": "register_backward_hook(function)",
        "register_parameter": "insert_param_to_cell(name, parameter)",
        "requires_grad_": "parameter.requires_grad = False for each of get_parameters()",
        "state_dict": "parameters_dict(), or save_checkpoint(net, path)",
        "to": "set_context(device_target='GPU') for a device, to_float(dtype) for a precision",
        "train": "set_train(True), or Model(net, loss, optimizer).train(epochs, dataset)",
        "type": "to_float(dtype)",
        "zero_grad": "nothing: gradients are returned, and are never summed up by themselves",
    },
    "Optimizer": {
        "add_param_group": "groups when it is made: [{'params': .., 'lr': ..}, ..]",
        "load_state_dict": "load_param_into_net(optimizer, load_checkpoint(path))",
        "param_groups": "optimizer.learning_rate = rate, or groups when it is made",
        "state_dict": "parameters_dict(), or save_checkpoint(optimizer, path)",
        "step": "optimizer(gradients), with those of value_and_grad(function, None, parameters)",
        "zero_grad": "nothing: gradients are returned, and are never summed up by themselves",
    },
}

# Names of the documented system, by the reason why they are not there, and by module ("" is the package itself).
_REASONS = {
    "parameters on all ranks: there is no parameter server": {
        "": "set_ps_context get_ps_context",
        "context": "set_ps_context get_ps_context",
    },
    "shapes are known when a network is built: no symbols for them": {"": "Symbol"},
    "Layout and shard, or the search of ms.plan: memory and time of a step are planned": {
        "": "mindio_preload set_mindio_server_info",
        "runtime": "MemPool PluggableAllocator use_mem_pool StreamLimitCtx set_device_limit get_device_limit "
        "set_stream_limit get_stream_limit reset_stream_limit",
    },
    "save_checkpoint of the parameters: graphs of another compiler are not read, and files are not obfuscated": {
        "": "export load load_mindir save_mindir export_split_mindir obfuscate_ckpt load_obf_params_into_net "
        "ConvertModelUtils ConvertNetUtils",
        "safeguard": "obfuscate_ckpt load_obf_params_into_net",
        "nn": "GraphCell",
    },
    "the sources of the network: cells are changed by setting their attributes": {
        "": "SymbolTree Node NodeType ScopedValue",
        "rewrite": "SymbolTree Node NodeType ScopedValue ValueType PatternEngine PatternNode Replacement",
        "graph": "CustomPassType register_custom_backend register_custom_pass register_op_infer register_op_wrapper "
        "clear_op_infer clear_op_wrapper",
    },
    "ms.plan(model, dataset), which counts operations and estimates the share of a device's peak": {
        "": "FlopsUtilizationCollector flops_collection",
        "train": "FlopsUtilizationCollector",
    },
    "a checkpoint of each epoch (BackupAndRestore) and a launcher that starts the job again": {
        "": "TrainFaultTolerance memory_replay",
        "train": "TrainFaultTolerance",
        "utils": "ExitByRequest RSCPluginHandle TFTCommValue",
    },
    "LossMonitor and plots of its numbers": {
        "": "SummaryLandscape SummaryCollector",
        "train": "SummaryLandscape SummaryCollector",
    },
    "Cell.recompute, which keeps less for the backward pass": {
        "": "saved_tensors_hooks register_saved_tensors_hooks",
    },
    "a Tensor of all elements: sparse tensors are not supported": {"": "SparseTensor COOTensor CSRTensor RowTensor"},
    "`partita launch`, which tells the ranks of a job who they are": {
        "": "restore_group_info_list parameter_broadcast",
        "communication": "get_comm_name",
    },
    "`partita train --trace`, which writes a trace of each rank": {
        "profiler": "Profiler profile AicoreMetrics DynamicProfilerMonitor EnvProfiler ExportType HostSystem "
        "_ExperimentalConfig mstx schedule tensorboard_trace_handler",
    },
    "`set_context(deterministic='ON')` and checks of losses: devices are not tested by programs": {
        "utils": "get_sdc_detect_result sdc_detect_start sdc_detect_stop stress_detect comm_exec_order_check dryrun "
        "runtime_execution_order_check MsDispatchMode",
        "tools": "get_sdc_detect_result sdc_detect_start sdc_detect_stop set_dump stress_detect",
    },
    "nn.TrainOneStepCell, and optimizer sharding by set_auto_parallel_context": {
        "boost": "AdaSum AutoBoost BoostTrainOneStepCell BoostTrainOneStepWithLossScaleCell DimReduce FreezeOpt "
        "GradientFreeze GroupLossScaleManager LessBN OptimizerProcess ParameterProcess freeze_cell",
    },
    "set_context(device_target='GPU'): tensors have no device of their own": {"": "DeviceCtx"},
    "MatMul().shard and other annotations: ops have no strategies by their names in files": {
        "parallel": "set_op_strategy_config",
    },
    "ops of communication within a step, or pipeline stages: messages are not sent by calls": {
        "communication.comm_func": "P2POp batch_isend_irecv isend irecv send recv",
    },
    "two tensors, of real and of imaginary parts: there are no complex types": {
        "ops": "Angle Conj angle polar view_as_real",
        "mint": "angle conj imag polar view_as_real",
    },
    "ops.igamma of two gamma functions, or scipy.special.betainc on asnumpy()": {"ops": "Betainc"},
    "candidates that NumPy draws, in a data set": {
        "ops": "LogUniformCandidateSampler UniformCandidateSampler log_uniform_candidate_sampler "
        "uniform_candidate_sampler",
    },
    "ops.TruncatedNormal, ops.clip and ops.normal": {"ops": "ParameterizedTruncatedNormal"},
}


def _by_module():
    found = {}
    for reason, modules in _REASONS.items():
        for module, names in modules.items():
            found.setdefault(module, {}).update(dict.fromkeys(names.split(), reason))
    return found


REFUSED = _by_module()


# Modules that have names of each other.
_SHARED = ("", "context", "parallel", "runtime", "hal", "train")
_ANYWHERE = {name: reason for names in REFUSED.values() for name, reason in names.items()}


def of_name(where, name):
    """What to use in place of a name of a module of the package, or of the class Tensor, Cell or Optimizer; "" where
    nothing is known."""
    module = where.removeprefix("partita").removeprefix(".")
    of_torch = OF_TORCH.get("nn" if module == "mint.nn" else module, {})
    others = _ANYWHERE if module in _SHARED else {}
    return REFUSED.get(module, {}).get(name) or of_torch.get(name) or others.get(name, "")
