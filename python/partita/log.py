"""The log of the documented system: messages of scripts and libraries, by Python's logging. GLOG_v is the lowest level
that is printed, from 0 (debug) to 4 (critical), 2 (warning) without it."""

import functools
import logging
import os

_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR, "4": logging.CRITICAL}


def _get_logger():
    """The logger, which is made when it is first used."""
    made = logging.getLogger("partita.script")
    if not made.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(
            logging.Formatter("[%(levelname)s] %(process)d %(asctime)s [%(filename)s:%(lineno)d] %(message)s")
        )
        made.addHandler(handler)
        made.setLevel(_LEVELS.get(os.environ.get("GLOG_v", "2"), logging.WARNING))
        made.propagate = False
    return made


def debug(msg, *args, **kwargs):
    """Writes a message for those who look for a fault."""
    _get_logger().debug(msg, *args, stacklevel=2, **kwargs)


def info(msg, *args, **kwargs):
    """Writes a message about what goes on."""
    _get_logger().info(msg, *args, stacklevel=2, **kwargs)


def warning(msg, *args, **kwargs):
    """Writes a warning."""
    _get_logger().warning(msg, *args, stacklevel=2, **kwargs)


def error(msg, *args, **kwargs):
    """Writes an error."""
    _get_logger().error(msg, *args, stacklevel=2, **kwargs)


def critical(msg, *args, **kwargs):
    """Writes an error that ends the script."""
    _get_logger().critical(msg, *args, stacklevel=2, **kwargs)


class _LogActionOnce:
    """Decorates a function whose warnings are printed in the first call of a key alone, or never with `no_warning`."""

    is_logged = {}

    def __init__(self, logger, key, no_warning=False):
        self.logger, self.key, self.no_warning = logger, key, no_warning

    def __call__(self, func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            former = getattr(self.logger, "warning", None)
            if former is None:
                return func(*args, **kwargs)
            is_first, self.is_logged[self.key] = self.key not in self.is_logged, True
            if self.no_warning or not is_first:
                self.logger.warning = lambda *_, **__: None
            try:
                return func(*args, **kwargs)
            finally:
                self.logger.warning = former

        return wrapper


def get_level():
    """The lowest level that is printed, as a text: "0" to "4"."""
    return next(name for name, level in _LEVELS.items() if level == _get_logger().level)


def get_log_config():
    """The settings of the log, by their names."""
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
