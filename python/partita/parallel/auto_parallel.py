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
    """A network whose ops are cut over the ranks: as annotated (semi_auto), or as a search finds. Its settings hold for
    calls of it and for models of it, over those of `set_auto_parallel_context`."""

    def __init__(self, network, parallel_mode="semi_auto"):
        super().__init__(auto_prefix=False)
        if parallel_mode not in _MODES:
            raise ValueError(
                f"[AutoParallel] unknown parallel_mode, got {parallel_mode!r}, expected one of {list(_MODES)}"
            )
        self.network = network
        mode, search = _MODES[parallel_mode]
        self.__dict__["parallel_settings"] = {}
        self._set(parallel_mode=mode, **({} if search is None else {"search_mode": search}))

    def _set(self, **settings):
        self.parallel_settings.update(context.checked_parallel_settings(**settings))

    def construct(self, *inputs):
        return self.network(*inputs)

    def __call__(self, *args, **kwargs):
        with context.parallel_settings(self.parallel_settings):
            return super().__call__(*args, **kwargs)

    def hsdp(self, shard_size=-1, threshold=64, optimizer_level="level1"):
        """Divides the states of the optimizer over ranks."""
        self._set(
            enable_parallel_optimizer=True,
            parallel_optimizer_config={
                "optimizer_weight_shard_size": shard_size,
                "parallel_optimizer_threshold": threshold,
                "optimizer_level": optimizer_level,
            },
        )

    def pipeline(self, stages=1, output_broadcast=False, interleave=False, scheduler="1f1b"):
        """Stages on ranks of their own."""
        self._set(
            pipeline_stages=stages,
            pipeline_result_broadcast=output_broadcast,
            pipeline_config={"pipeline_interleave": interleave, "pipeline_scheduler": scheduler},
        )

    def comm_fusion(self, config):
        self._set(comm_fusion=config)

    def dataset_strategy(self, config):
        """How inputs are cut."""
        self._set(dataset_strategy=config)

    def no_init_parameters_in_compile(self):
        """Without effect: parameters are drawn when they are needed."""

    def enable_gradients_mean(self):
        self._set(gradients_mean=True)

    def enable_fp32_communication(self):
        self._set(force_fp32_communication=True)

    def disable_gradient_fp32_sync(self):
        self._set(gradient_fp32_sync=False)

    def disable_loss_repeated_mean(self):
        self._set(loss_repeated_mean=False)

    def set_group_ckpt_save_file(self, file_path):
        self._set(group_ckpt_save_file=file_path)

    def print_local_norm(self):
        self._set(dump_local_norm=True)

    def dump_local_norm(self, file_path):
        self._set(dump_local_norm=True, dump_local_norm_path=file_path)

    def save_param_strategy_file(self, file_path):
        """Writes how states, and the nodes of a program without stages, are cut when a training begins."""
        self._set(strategy_ckpt_save_file=file_path)

    def load_param_strategy_file(self, file_path):
        """Runs the cuts of a training that wrote the file."""
        self._set(strategy_ckpt_load_file=file_path)

    save_operator_strategy_file, load_operator_strategy_file = save_param_strategy_file, load_param_strategy_file

    def transformer_opt(self, file_path):
        raise NotImplementedError(
            f"[AutoParallel] a file of optimisations is not supported, got {file_path!r}, expected none: the library "
            "chooses passes"
        )


__getattr__ = refuse_missing(globals())
