"""The options of a parallel run as an object around the network."""

from partita import context
from partita._names import refuse_missing
from partita.nn.cell import Cell

_MODES = {
    "semi_auto": ("semi_auto_parallel", None),
    "sharding_propagation": ("auto_parallel", "sharding_propagation"),
    "recursive_programming": ("auto_parallel", "recursive_programming"),
}


class AutoParallel(Cell):
    """A network whose ops are cut over the ranks: as annotated (semi_auto), or as a search finds."""

    def __init__(self, network, parallel_mode="semi_auto"):
        super().__init__(auto_prefix=False)
        if parallel_mode not in _MODES:
            raise ValueError(
                f"[AutoParallel] unknown parallel_mode, got {parallel_mode!r}, expected one of {list(_MODES)}"
            )
        self.network = network
        mode, search = _MODES[parallel_mode]
        context.set_auto_parallel_context(parallel_mode=mode, **({} if search is None else {"search_mode": search}))

    def construct(self, *inputs):
        return self.network(*inputs)

    def hsdp(self, shard_size=-1, threshold=64, optimizer_level="level1"):
        """Divides the states of the optimizer over ranks."""
        context.set_auto_parallel_context(
            enable_parallel_optimizer=True,
            parallel_optimizer_config={
                "optimizer_weight_shard_size": shard_size,
                "parallel_optimizer_threshold": threshold,
                "optimizer_level": optimizer_level,
            },
        )

    def pipeline(self, stages=1, output_broadcast=False, interleave=False, scheduler="1f1b"):
        """Stages on ranks of their own."""
        context.set_auto_parallel_context(
            pipeline_stages=stages,
            pipeline_result_broadcast=output_broadcast,
            pipeline_config={"pipeline_interleave": interleave, "pipeline_scheduler": scheduler},
        )

    def comm_fusion(self, config):
        context.set_auto_parallel_context(comm_fusion=config)

    def dataset_strategy(self, config):
        """How inputs are cut."""
        context.set_auto_parallel_context(dataset_strategy=config)

    def no_init_parameters_in_compile(self):
        """Without effect: parameters are drawn when they are needed."""

    def enable_gradients_mean(self):
        context.set_auto_parallel_context(gradients_mean=True)

    def enable_fp32_communication(self):
        context.set_auto_parallel_context(force_fp32_communication=True)

    def disable_gradient_fp32_sync(self):
        context.set_auto_parallel_context(gradient_fp32_sync=False)

    def disable_loss_repeated_mean(self):
        context.set_auto_parallel_context(loss_repeated_mean=False)

    def set_group_ckpt_save_file(self, file_path):
        context.set_auto_parallel_context(group_ckpt_save_file=file_path)

    def print_local_norm(self):
        context.set_auto_parallel_context(dump_local_norm=True)

    def dump_local_norm(self, file_path):
        context.set_auto_parallel_context(dump_local_norm=True, dump_local_norm_path=file_path)

    def save_param_strategy_file(self, file_path):
        """Writes how states, and the nodes of a program without stages, are cut when a training begins."""
        context.set_auto_parallel_context(strategy_ckpt_save_file=file_path)

    def load_param_strategy_file(self, file_path):
        """Runs the cuts of a training that wrote the file."""
        context.set_auto_parallel_context(strategy_ckpt_load_file=file_path)

    save_operator_strategy_file, load_operator_strategy_file = save_param_strategy_file, load_param_strategy_file

    def transformer_opt(self, file_path):
        raise NotImplementedError(
            f"[AutoParallel] a file of optimisations, got {file_path!r}, expected none: the library chooses passes"
        )


__getattr__ = refuse_missing(globals())
