"""Options of the compiler."""

from partita._names import refuse_missing


class JitConfig:
    """Options of the documented system's compiler, kept as `jit_config_dict`, without effect: programs are compiled in
    one way."""

    def __init__(
        self, jit_level="", exc_mode="auto", jit_syntax_level="", debug_level="RELEASE", infer_boost="off", **kwargs
    ):
        given = dict(jit_level=jit_level, exc_mode=exc_mode, jit_syntax_level=jit_syntax_level, debug_level=debug_level)
        self.jit_config_dict = {**given, "infer_boost": infer_boost, **kwargs}
        if jit_level:
            self.jit_config_dict["backend"] = "GE" if jit_level == "O2" else "ms_backend"


__getattr__ = refuse_missing(globals())
