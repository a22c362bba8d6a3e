"""The options of the distribution over ranks as an object."""

from partita import context
from partita._names import refuse_missing


class _Options:
    """Gives the options by methods: `get_pipeline_stages()`."""

    def __getattr__(self, name):
        if not name.startswith("get_"):
            raise AttributeError(f"[auto_parallel_context] unknown name, got '{name}', expected get_ and an option")
        key = name[len("get_") :]
        try:
            context.get_auto_parallel_context(key)
        except (KeyError, ValueError) as error:
            raise AttributeError(f"[auto_parallel_context] unknown option, got '{key}': {error}") from None
        return lambda: context.get_auto_parallel_context(key)


_options = _Options()


def auto_parallel_context():
    """The options: the methods of the result give them."""
    return _options


__getattr__ = refuse_missing(globals())
