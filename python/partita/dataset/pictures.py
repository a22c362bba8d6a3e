"""Images of Pillow between the steps of a map: they stay what they are until the last step."""

import sys

import numpy as np

from partita import _core

_data = _core.data


def is_picture(value):
    """Whether it is an image of Pillow, which is not imported for that."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


class _OfLibrary:
    """A map of the library, which images of Pillow, several images and other numbers go round."""

    def __init__(self, step, made, seed):
        self._step, self._made, self._seed = step, made, seed

    def apply(self, value, epoch, sample):
        """The value of a row in an epoch."""
        if not is_picture(value) and hasattr(self._step, "in_python"):
            return self._step.in_python(np.asarray(value))
        if not is_picture(value):
            try:
                return np.asarray(self._made.apply(_core.Array(np.asarray(value)), epoch, sample))
            except (TypeError, ValueError):  # perhaps images of other shapes, which the map in Python takes
                pass
        return self._step.drawn_of(value, np.random.default_rng([self._seed, epoch, sample]))


def with_pictures(made, given, seed):
    """The steps `made` of those that `map` was given, so that those of images take images of Pillow too."""
    return [
        _OfLibrary(step, one, seed + i) if isinstance(one, _data.Map) and hasattr(step, "drawn_of") else one
        for i, (one, step) in enumerate(zip(made, given))
    ]
