"""The base of maps of images: what they take, and how they say what is wrong."""

import functools
import numbers

import numpy as np

from partita._described import Described
from partita.dataset.refused import is_named
from partita.dataset.transforms import Transform
from partita.dataset.transforms.rows import generator_of_call
from partita.dataset.vision.pillow import is_pil, to_pil


def _text(value):
    if is_pil(value):
        return f"an image of Pillow {value.size[1]} x {value.size[0]} in mode {value.mode}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


def guarded(where, function, *values):
    """function(*values) whose errors name the map and the value. Those that name one already stay as they are."""
    try:
        return function(*values)
    except Exception as error:
        if is_named(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        text = str(error).rstrip(".") or type(error).__name__
        raise kind(
            f"[{where}] the value cannot be mapped ({text}), got {_text(values[0])}, expected an image (height, width, "
            "channels)"
        ) from error


def array_of(value):
    """A value of a row as an array."""
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


class ImageMap(Described):
    """A map of images without chance. `of_array` maps arrays, `of_pil` images of Pillow, which it gives back."""

    def __call__(self, image):
        where = type(self).__name__
        return guarded(where, self.of_pil, image) if is_pil(image) else guarded(where, self.of_array, array_of(image))

    def apply(self, image, epoch, sample):
        """The image of a row in an epoch; each of several columns is mapped alone."""
        return self(image)

    def of_array(self, image):
        raise NotImplementedError

    def of_pil(self, image):
        return to_pil(self.of_array(np.asarray(image)), type(self).__name__)

    def device(self, device_target="CPU"):
        """The map itself: all maps of images run on the CPU."""
        return on_cpu(self, device_target)


class ManyMap(ImageMap):
    """A map of an image to several, which become columns."""

    def apply_all(self, values, epoch, sample):
        """The images of a row in an epoch."""
        made = [self(one) for one in values]
        return [image for one in made for image in (one if isinstance(one, tuple) else (one,))]


class ImageTransform(Transform):
    """A map of images of the library. Images of Pillow go to `of_pil`."""

    def __call__(self, image):
        where = type(self).__name__
        if is_pil(image):
            return guarded(where, self.of_pil, image)
        return guarded(where, super().__call__, array_of(image))

    drawn = None  # the drawn map that it is one of

    def of_pil(self, image):
        """The image of Pillow that this one becomes."""
        return to_pil(super().__call__(np.asarray(image)), type(self).__name__)

    def drawn_of(self, image, generator):
        """The image that the numbers of a generator give."""
        return self(image) if self.drawn is None else self.drawn.drawn_of(image, generator)

    def device(self, device_target="CPU"):
        """The map itself: all maps of images run on the CPU."""
        return on_cpu(self, device_target)


class Seeded:
    """A drawn map whose random numbers follow from a seed, the epoch and the row."""

    def __init__(self, step, seed):
        self._step, self._seed = step, seed

    def apply(self, image, epoch, sample):
        """The image of a row in an epoch."""
        return self._step.drawn_of(image, np.random.default_rng([self._seed, epoch, sample]))


class SeededColumns(Seeded):
    """A drawn map of several columns."""

    def apply_all(self, values, epoch, sample):
        """The columns of a row in an epoch."""
        return list(self._step.drawn_columns(values, np.random.default_rng([self._seed, epoch, sample])))


class Drawn(Described):
    """The base of drawn maps: `drawn(image, generator)` is the image that the numbers of a generator of NumPy give.
    `drawn_pil` does so for images of Pillow."""

    takes_columns = False  # whether `drawn` gets all mapped columns and gives a tuple

    def drawn(self, image, generator):
        raise NotImplementedError

    def drawn_pil(self, image, generator):
        return to_pil(self.drawn(np.asarray(image), generator), type(self).__name__)

    def drawn_of(self, image, generator):
        """The result for an image of Pillow, or for anything else as an array."""
        where = type(self).__name__
        if is_pil(image):
            return guarded(where, self.drawn_pil, image, generator)
        return guarded(where, self.drawn, array_of(image), generator)

    def drawn_columns(self, values, generator):
        """The result for several columns."""
        given = [array_of(one) for one in values]
        return guarded(type(self).__name__, lambda *columns: self.drawn(*columns, generator), *given)

    def seeded(self, seed):
        """The map of the rows of a data set."""
        return SeededColumns(self, seed) if self.takes_columns else Seeded(self, seed)

    def __call__(self, *values):
        """Another draw in every call. After `set_seed` each map begins with the same ones."""
        generator = generator_of_call(self)
        if self.takes_columns:
            return self.drawn_columns(values, generator)
        if len(values) != 1:
            raise TypeError(f"[{type(self).__name__}] takes one image, got {len(values)} values, expected one")
        return self.drawn_of(values[0], generator)

    def device(self, device_target="CPU"):
        """The map itself: all maps of images run on the CPU."""
        return on_cpu(self, device_target)


def of_each(function):
    """A method of a map that maps each of several images, [.., height, width, channels], alone."""

    @functools.wraps(function)
    def mapped(self, image, *args):
        if image.ndim <= 3 or image.size == 0:
            return function(self, image, *args)
        made = [function(self, one, *args) for one in image.reshape(-1, *image.shape[-3:])]
        return np.stack(made).reshape(*image.shape[:-3], *made[0].shape)

    return mapped


def on_cpu(step, device_target):
    """The map itself. Raises NotImplementedError for other devices than the CPU."""
    if device_target != "CPU":
        raise NotImplementedError(
            f"[{type(step).__name__}] maps of images run on the CPU, got device_target={device_target!r}, expected "
            "'CPU'"
        )
    return step


def require_image(where, image):
    """Raises ValueError unless it has height and width, and perhaps channels, and elements."""
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"[{where}] no image, got shape {image.shape}, expected (height, width, channels)")


def require_colors(where, image):
    """Raises ValueError unless it has three channels."""
    if image.ndim != 3 or image.shape[2] != 3 or image.size == 0:
        raise ValueError(f"[{where}] no colours, got shape {image.shape}, expected (height, width, 3)")


def require_number(where, name, value, low=-np.inf, high=np.inf):
    """The number itself. Raises TypeError for what is none, ValueError for one out of its range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"[{where}] {name} is not a number, got {value!r}, expected one from {low:g} to {high:g}")
    if not low <= value <= high:
        raise ValueError(f"[{where}] bad {name}, got {value}, expected {low:g} to {high:g}")
    return value


def require_integer(where, name, value, low, high=2**31 - 1):
    """The integer itself. Raises TypeError for what is none, ValueError for one out of its range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"[{where}] {name} is not an integer, got {value!r}, expected one from {low} to {high}")
    if not low <= value <= high:
        raise ValueError(f"[{where}] bad {name}, got {value}, expected {low} to {high}")
    return int(value)


def require_kind(where, name, value, kind):
    """The value itself. Raises TypeError unless it is of an enum."""
    if not isinstance(value, kind):
        names = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
        raise TypeError(f"[{where}] bad {name}, got {value!r}, expected one of {names}")
    return value
