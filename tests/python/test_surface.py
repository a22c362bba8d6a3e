"""The documented names: that they are there, with the documented signatures and defaults."""

import ast
import inspect
import os
import re

import count_names
import surface_page
from support import Case

import partita as ms
from partita import context

# Each documented name and, where it is a function or a class, its parameters with their defaults. `..`: and others.
SURFACE = {
    "": """
        set_context(**kwargs) GRAPH_MODE PYNATIVE_MODE set_device(device_target, device_id=None) set_seed(seed)
        get_seed() set_auto_parallel_context(**kwargs) get_auto_parallel_context(attr_key)
        reset_auto_parallel_context() ParallelMode Tensor(input_data=None, dtype=None, shape=None, init=None, ..)
        Parameter(default_input, name=None, requires_grad=True, layerwise_parallel=False, parallel_optimizer=True,
        storage_format='', device=None) value_and_grad(fn, grad_position=0, weights=None, has_aux=False,
        return_ids=False, ..) grad(fn, grad_position=0, weights=None, has_aux=False, return_ids=False)
        jit(function=None, *, capture_mode='ast', jit_level='O0', dynamic=0, fullgraph=False, backend='', ..)
        lazy_inline(fn=None, attrs=None, policy=None) Model float16 float32 int32 bool_ dtype nn ops dataset train
        mint amp shard(fn, in_strategy, out_strategy=None, parameter_plan=None, device='Ascend', level=0) context
        communication load_checkpoint(ckpt_file_name, net=None, strict_load=False, filter_prefix=None, dec_key=None,
        dec_mode='AES-GCM', specify_prefix=None, choice_func=None, crc_check=False, remove_redundancy=False,
        format='ckpt') save_checkpoint(save_obj, ckpt_file_name, integrated_save=True, async_save=False,
        append_dict=None, enc_key=None, ..) load_param_into_net(net, parameter_dict, strict_load=False,
        remove_redundancy=False) load_distributed_checkpoint transform_checkpoints unified_safetensors
        rank_list_for_transform export(net, *inputs, file_name, file_format, ..)""",
    "runtime": """
        set_memory(init_size='2GB', increase_size='2GB', max_size='1024GB', optimize_level='O0',
        huge_page_reserve_size='0GB')""",
    "parallel": "Layout(device_matrix, alias_name, rank_list=None) shard sync_pipeline_shared_parameters",
    "parallel.auto_parallel": "AutoParallel(network, parallel_mode='semi_auto')",
    "parallel.nn": """
        Pipeline(network, micro_size, stage_config=None) PipelineGradReducer(parameters, scale_sense=1.0,
        opt_shard=None) MicroBatchInterleaved(network, interleave_num=2) GradAccumulation(network, micro_size)""",
    "communication": """
        init(backend_name=None) release() get_rank(group=..) get_group_size(group=..) get_local_rank(group=..)
        get_local_rank_size(group=..) create_group(group, rank_ids, options=None) destroy_group(group) GlobalComm
        get_world_rank_from_group_rank(group, group_rank_id) get_group_rank_from_world_rank(world_rank_id, group)
        get_process_group_ranks HCCL_WORLD_COMM_GROUP NCCL_WORLD_COMM_GROUP MCCL_WORLD_COMM_GROUP""",
    "communication.management": "init get_rank get_group_size",
    "communication.comm_func": """
        barrier(group=..) all_reduce(tensor, op=.., group=.., async_op=False) send recv isend irecv
        all_gather_into_tensor(tensor, group=.., async_op=False) reduce_scatter_tensor(tensor, op=.., group=..,
        async_op=False) broadcast(tensor, src=0, group=..) batch_isend_irecv all_to_all_single_with_output_shape
        gather_into_tensor scatter_tensor""",
    "common.initializer": """
        initializer(init, shape=None, dtype=..) Normal(sigma=0.01, mean=0.0) TruncatedNormal(sigma=0.01, mean=0.0,
        a=-2.0, b=2.0) HeUniform(negative_slope=0, mode='fan_in', nonlinearity='leaky_relu') XavierUniform(gain=1)
        Uniform(scale=0.07) One() Zero()""",
    "nn.utils": "no_init_parameters()",
    "nn": """
        Cell(auto_prefix=True, flags=None) SequentialCell(*args) CellList(*args, ..) Dense(in_channels,
        out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None, dtype=..)
        Conv2d(in_channels, out_channels, kernel_size, stride=1, pad_mode='same', padding=0, dilation=1, group=1,
        has_bias=False, weight_init=None, bias_init=None, data_format='NCHW', dtype=..) MaxPool2d(kernel_size=1,
        stride=1, pad_mode='valid', padding=0, ..) AvgPool2d(kernel_size=1, stride=1, pad_mode='valid', padding=0,
        ..) AdaptiveAvgPool2d(output_size) Flatten(start_dim=1, end_dim=-1) LayerNorm(normalized_shape,
        begin_norm_axis=-1, begin_params_axis=-1, gamma_init='ones', beta_init='zeros', epsilon=1e-07, dtype=..)
        Embedding(vocab_size, embedding_size, use_one_hot=False, embedding_table='normal', ..)
        Dropout(keep_prob=0.5, p=None, ..) Softmax(axis=-1) GELU(approximate=True) ReLU() BatchNorm2d
        CrossEntropyLoss(weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0)
        SoftmaxCrossEntropyWithLogits(sparse=False, reduction='none') MSELoss(reduction='mean')
        MAELoss(reduction='mean') BCEWithLogitsLoss(reduction='mean', weight=None, pos_weight=None) SGD(params,
        learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, loss_scale=1.0)
        Momentum(params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False) Adam(params,
        learning_rate=0.001, beta1=0.9, beta2=0.999, eps=1e-08, use_locking=False, use_nesterov=False,
        weight_decay=0.0, loss_scale=1.0, use_amsgrad=False) AdamWeightDecay(params, learning_rate=0.001, beta1=0.9,
        beta2=0.999, eps=1e-06, weight_decay=0.0) WithLossCell(backbone, loss_fn) TrainOneStepCell(network,
        optimizer, sens=None, return_grad=False) PipelineCell(network, micro_size, stage_config=None)
        MicroBatchInterleaved GradAccumulation DistributedGradReducer(parameters, mean=None, degree=None,
        fusion_type=1, group=..)""",
    "ops": """
        GradOperation(get_all=False, get_by_list=False, sens_param=False) MatMul(transpose_a=False,
        transpose_b=False) BatchMatMul(transpose_a=False, transpose_b=False) Add Sub Mul RealDiv ReLU
        Softmax(axis=-1) Gather(batch_dims=0) Concat(axis=0) Flatten() Reshape Transpose ExpandDims
        Dropout(keep_prob=0.5, Seed0=0, Seed1=0) ReduceSum(keep_dims=False, ..) ReduceMean(keep_dims=False) Cast Print
        AllReduce(op=.., group=..) AllGather(group=..) ReduceScatter(op=.., group=..) Broadcast(root_rank, group=..)
        Send Receive""",
    "dataset": """
        MnistDataset(dataset_dir, usage=None, num_samples=None, num_parallel_workers=None, shuffle=None,
        sampler=None, num_shards=None, shard_id=None, cache=None) Cifar10Dataset(dataset_dir, usage=None,
        num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, num_shards=None, shard_id=None,
        cache=None) GeneratorDataset(source, column_names=None, ..) NumpySlicesDataset(data, column_names=None, ..)
        ImageFolderDataset vision transforms config""",
    "dataset.vision": """
        Rescale(rescale, shift) Normalize(mean, std, is_hwc=True) HWC2CHW() Resize(size, interpolation=..)
        RandomCrop(size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=..)
        RandomHorizontalFlip(prob=0.5)""",
    "dataset.transforms": "TypeCast(data_type) OneHot(num_classes, smoothing_rate=0.0) Compose(transforms)",
    "train": """
        Model(network, loss_fn=None, optimizer=None, metrics=None, eval_network=None, eval_indexes=None,
        amp_level='O0', boost_level='O0', ..) LossMonitor(per_print_times=1) TimeMonitor(data_size=None,
        data_time=False) CheckpointConfig(save_checkpoint_steps=1, save_checkpoint_seconds=0, keep_checkpoint_max=5,
        keep_checkpoint_per_n_minutes=0, integrated_save=True, async_save=False, saved_network=None,
        append_info=None, enc_key=None, enc_mode='AES-GCM', exception_save=False, crc_check=False,
        remove_redundancy=False, format='ckpt') ModelCheckpoint(prefix='CKP', directory=None, config=None)
        OnRequestExit EarlyStopping LambdaCallback Callback""",
    "train.callback": "LossMonitor ModelCheckpoint CheckpointConfig Callback",
    "mint": "matmul flatten sum nn",
    "mint.nn": "Linear ReLU",
    "mint.nn.functional": "relu linear",
    "amp": """
        DynamicLossScaler(scale_value, scale_factor, scale_window) StaticLossScaler(scale_value) all_finite(inputs)
        auto_mixed_precision(network, amp_level='O0', dtype=..) FixedLossScaleManager(loss_scale=128.0,
        drop_overflow_update=True) DynamicLossScaleManager(init_loss_scale=16777216, scale_factor=2,
        scale_window=2000)""",
}
METHODS = {
    "nn.Cell": """
        construct trainable_params(recurse=True) get_parameters(expand=True) parameters_dict parameters_and_names
        cells_and_names set_train(mode=True) set_grad set_comm_fusion(fusion_type, recurse=True) recompute(**kwargs)
        shard compile set_inputs to_float offload insert_child_to_cell register_forward_hook""",
    "train.Model": """
        train(epoch, train_dataset, callbacks=None, dataset_sink_mode=False, sink_size=-1, initial_epoch=0) fit
        eval(valid_dataset, callbacks=None, dataset_sink_mode=False) predict build infer_train_layout""",
    "dataset.Dataset": """
        map(operations, input_columns=None, output_columns=None, num_parallel_workers=None, ..)
        batch(batch_size, drop_remainder=False, num_parallel_workers=None, ..) shuffle(buffer_size)
        repeat(count=None) skip(count) take(count=-1) project(columns) get_dataset_size()
        create_tuple_iterator(columns=None, num_epochs=-1, output_numpy=False, do_copy=False)
        create_dict_iterator(num_epochs=-1, output_numpy=False, do_copy=False)""",
    "ops.Primitive": """
        shard(in_strategy=None, out_strategy=None) recompute(mode=True) add_prim_attr(name, value) set_stage(stage)
        place(role, rank_id)""",
    "Tensor": "asnumpy astype squeeze reshape value from_numpy",
    "Parameter": "set_data(data, slice_shape=False) init_data clone(init='same')",
    "parallel.auto_parallel.AutoParallel": """
        hsdp(shard_size=-1, threshold=64, optimizer_level='level1') pipeline(stages=1, output_broadcast=False,
        interleave=False, scheduler='1f1b') comm_fusion(config) dataset_strategy(config)
        no_init_parameters_in_compile() enable_gradients_mean() enable_fp32_communication() print_local_norm()
        disable_gradient_fp32_sync() disable_loss_repeated_mean() set_group_ckpt_save_file transformer_opt
        dump_local_norm load_param_strategy_file save_param_strategy_file load_operator_strategy_file
        save_operator_strategy_file""",
}
# Where the names of a row of the page are that it writes without their module.
PLACES = {
    "losses": ("nn",),
    "ops primitives used": ("ops",),
    "Dataset methods": ("dataset.Dataset",),
    "vision / transforms": ("dataset.vision", "dataset.transforms"),
    "callbacks": ("train",),
    "amp": ("amp",),
    "communication.init": ("communication",),
    "communication.comm_func": ("communication.comm_func",),
    "parallel.auto_parallel.AutoParallel": ("parallel.auto_parallel.AutoParallel",),
    "train.Model": ("train.Model",),
    "nn.Cell": ("nn.Cell",),
    "nn.Dense": ("common.initializer",),
    "common.initializer.initializer": ("common.initializer",),
    "Primitive.shard": ("ops.Primitive",),
}
# Words of the page that look like calls.
EXAMPLES = {
    "HeUniform(√5)",
    "layout",
    "manager",
    "net.trainable_params",
    "request_stop",
    "run_context.original_args",
    "LAX",
    "PYNATIVE_MODE",
}
NAMES = {"get_": "get_auto_parallel_context"}
# Parameters that differ in their names from how the page abbreviates them.
SAME = {
    "n": "count",
    "list": "transforms",
    "dtype": "data_type",
    "path": "file_path",
    "src_dir": "src_checkpoints_dir",
    "dst_dir": "dst_checkpoints_dir",
    "src": "src_strategy_file",
    "dst": "dst_strategy_file",
}
REFERENCE = os.environ.get("PARTITA_SURFACE", "")  # the page that describes the documented surface, where it is there


def entries(text):
    """(name, parameters or None) of each entry."""
    text, found, at = " ".join(text.split()), [], 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] not in " (":
            end += 1
        name, parameters = text[at:end], None
        if end < len(text) and text[end] == "(":
            close, depth = end, 0
            while True:
                depth += {"(": 1, ")": -1}.get(text[close], 0)
                close += 1
                if depth == 0:
                    break
            parameters, end = text[end + 1 : close - 1], close
        found.append((name, parameters))
        at = end + 1
    return found


def described(function):
    """The parameters of a function as the table writes them: no self, no annotations."""
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    texts = []
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        texts.append(star + one.name + ("" if one.default is one.empty else f"={one.default!r}"))
    return texts


def found_for(about, name):
    name = NAMES.get(name, name)
    for place in (*PLACES.get(about, (about,)), "", "parallel", "nn", "ops", "Tensor", "Parameter"):
        try:
            found = count_names.resolved(f"{place}.{name}".lstrip("."))
        except (AttributeError, ImportError):
            continue
        if callable(found):
            return found
    raise AssertionError(f"'{name}' of '{about}' is not there")


def differences(target, signature):
    """Parts of a signature of the page that the function lacks: names in their order, and defaults that are numbers,
    texts, None or bools."""
    wanted = [one for one in surface_page.parameters(signature) if one not in ("…", "...", "same")]
    own = [one for one in inspect.signature(target).parameters.values() if one.name != "self"]
    by_name = {one.name: one for one in own}
    if any(one.kind is one.VAR_POSITIONAL for one in own) and not by_name.keys() - {"args", "kwargs"}:
        return []
    found = []
    for one in wanted:
        name, _, default = (part.strip() for part in one.partition("="))
        name = name if name in by_name else SAME.get(name, name)
        if name.startswith("*"):
            continue
        if name not in by_name:
            found.append(f"no {name}")
            continue
        try:
            expected = eval(default, {}) if default else inspect.Parameter.empty
        except (NameError, SyntaxError):
            continue  # a name of the system
        if default and by_name[name].default != expected:
            found.append(f"{name}={by_name[name].default!r} instead of {expected!r}")
    return found


class Surface(Case):
    def check(self, where, name, parameters, owner):
        target = getattr(owner, name)
        if parameters is None:
            return
        expected = [one.strip() for one in parameters.split(",") if one.strip()]
        open_ended = expected[-1:] == [".."]
        expected = expected[:-1] if open_ended else expected
        got = described(target)
        got = got[: len(expected)] if open_ended else got
        self.assertEqual(len(got), len(expected), f"{where}.{name}: {got} instead of {expected}")
        for one, other in zip(got, expected):
            if other.endswith("=.."):
                self.assertEqual(one.split("=")[0], other.split("=")[0], f"{where}.{name}")
            else:
                self.assertEqual(one.replace('"', "'"), other.replace('"', "'"), f"{where}.{name}")

    def test_has_the_documented_names(self):
        names = set()
        for module, text in SURFACE.items():
            for name, parameters in entries(text):
                with self.subTest(f"{module}.{name}"):
                    self.check(module, name, parameters, count_names.resolved(module))
                names.add(f"{module}.{name}".lstrip("."))
        print(f"documented names: {len(names)}")
        self.assertGreaterEqual(len(names), 132)

    def test_has_the_documented_methods(self):
        for owner, text in METHODS.items():
            for name, parameters in entries(text):
                with self.subTest(f"{owner}.{name}"):
                    self.check(owner, name, parameters, count_names.resolved(owner))

    def test_is_the_described_one(self):
        if not os.path.isfile(REFERENCE):
            self.skipTest("no description of the documented surface here")
        with open(REFERENCE) as file:
            described_there = surface_page.entries(file.read())
        checked = 0
        for about, name, signature in described_there:
            if name in EXAMPLES or f"{name}({signature})" in EXAMPLES:
                continue
            if name == "Cell.shard":
                signature = signature.replace("fn, ", "")  # "same without fn"
            if name == "map":
                signature = signature.replace("column_order=None, ", "")  # by its name alone
            with self.subTest(f"{about}: {name}({signature})"):
                self.assertEqual(differences(found_for(about, name), signature), [])
                checked += 1
        print(f"calls of the page with the described parameters: {checked}")
        self.assertGreaterEqual(checked, 160)

    def test_has_keys_of_contexts_with_their_defaults(self):
        if not os.path.isfile(REFERENCE):
            self.skipTest("no description of the documented surface here")
        with open(REFERENCE) as file:
            page = file.read()
        checked = 0
        for function, keys in (("set_context", context._CONTEXT), ("set_auto_parallel_context", context._PARALLEL)):
            row = next(line for line in page.split("\n") if line.startswith(f"| {function} |"))
            row = re.sub(r"\{[^}]*\}", "", row)
            for key, default in re.findall(r"(\w+)=(\"[^\"]*\"|''|-?\d+|True|False|\w+)", row):
                expected = {"PYNATIVE_MODE": ms.PYNATIVE_MODE, "LAX": 2}.get(default)
                expected = ast.literal_eval(default) if expected is None else expected
                with self.subTest(f"{function} {key}"):
                    self.assertEqual(keys[key][0], expected)
                    checked += 1
        self.assertGreaterEqual(checked, 25)

    def test_has_the_names_of_the_sample_scripts(self):
        names = count_names.names_in(os.path.join(os.path.dirname(__file__), "sample_names.txt"))
        missing = sorted(name for name in names if not count_names.is_there(name))
        self.assertEqual(missing, ["Symbol", "nn.Cell.set_param_ps", "set_ps_context"])
        self.assertEqual(len(names), 132)
        source = "import mindspore as ms, mindspore.nn as nn\nfrom mindspore import ops\nms.a.b(nn.Dense(1), ops.ReLU)"
        self.assertEqual(count_names.names_of(source), {"a.b", "a", "nn.Dense", "ops", "ops.ReLU"})

    def test_names_what_is_nearest(self):
        with self.refuses(ImportError, "[partita.nn] unknown name, got 'Convd2'", "did you mean 'Conv2d'?"):
            from partita.nn import Convd2  # noqa: F401
        with self.refuses(AttributeError, "got 'Tensr'", "did you mean 'Tensor'?"):
            ms.Tensr
        with self.refuses(ImportError, "got 'set_ps_context'", "no parameter server"):
            from partita import set_ps_context  # noqa: F401
        self.assertFalse(hasattr(ms, "nonsense"))
        with self.refuses(NotImplementedError, "got file_format='ONNX'"):
            ms.export(None, file_name="a", file_format="ONNX")
