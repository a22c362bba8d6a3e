"""Maps that choose among others: learned policies, and policies of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partita.dataset.transforms import rows
from partita.dataset.vision import adjusted
from partita.dataset.vision.base import Drawn, array_of, require_colors, require_integer, require_kind, require_number
from partita.dataset.vision.enhanced import AutoContrast, Equalize, Invert, _bytes_of
from partita.dataset.vision.enums import AutoAugmentPolicy, Inter
from partita.dataset.vision.pillow import is_pil
from partita.dataset.vision.warped import affine, filled, rotated, warped

# The policies that AutoAugment found (Cubuk et al. 2019, tables of the appendix): in each line two steps, of a map, ten
# times its probability, and the number of its magnitude ("-" for none).
_LEARNED = {
    "imagenet": """
        Posterize 4 8, Rotate 6 9; Solarize 6 5, AutoContrast 6 -; Equalize 8 -, Equalize 6 -;
        Posterize 6 7, Posterize 6 6; Equalize 4 -, Solarize 2 4; Equalize 4 -, Rotate 8 8;
        Solarize 6 3, Equalize 6 -; Posterize 8 5, Equalize 10 -; Rotate 2 3, Solarize 6 8;
        Equalize 6 -, Posterize 4 6; Rotate 8 8, Color 4 0; Rotate 4 9, Equalize 6 -; Equalize 0 -, Equalize 8 -;
        Invert 6 -, Equalize 10 -; Color 6 4, Contrast 10 8; Rotate 8 8, Color 10 2; Color 8 8, Solarize 8 7;
        Sharpness 4 7, Invert 6 -; ShearX 6 5, Equalize 10 -; Color 4 0, Equalize 6 -; Equalize 4 -, Solarize 2 4;
        Solarize 6 5, AutoContrast 6 -; Invert 6 -, Equalize 10 -; Color 6 4, Contrast 10 8;
        Equalize 8 -, Equalize 6 -""",
    "cifar10": """
        Invert 1 -, Contrast 2 6; Rotate 7 2, TranslateX 3 9; Sharpness 8 1, Sharpness 9 3;
        ShearY 5 8, TranslateY 7 9; AutoContrast 5 -, Equalize 9 -; ShearY 2 7, Posterize 3 7;
        Color 4 3, Brightness 6 7; Sharpness 3 9, Brightness 7 9; Equalize 6 -, Equalize 5 -;
        Contrast 6 7, Sharpness 6 5; Color 7 7, TranslateX 5 8; Equalize 3 -, AutoContrast 4 -;
        TranslateY 4 3, Sharpness 2 6; Brightness 9 6, Color 2 8; Solarize 5 2, Invert 0 -;
        Equalize 2 -, AutoContrast 6 -; Equalize 2 -, Equalize 6 -; Color 9 9, Equalize 6 -;
        AutoContrast 8 -, Solarize 2 8; Brightness 1 3, Color 7 0; Solarize 4 5, AutoContrast 9 -;
        TranslateY 9 9, TranslateY 7 9; AutoContrast 9 -, Solarize 8 3; Equalize 8 -, Invert 1 -;
        TranslateY 7 9, AutoContrast 9 -""",
    "svhn": """
        ShearX 9 4, Invert 2 -; ShearY 9 8, Invert 7 -; Equalize 6 -, Solarize 6 6; Invert 9 -, Equalize 6 -;
        Equalize 6 -, Rotate 9 3; ShearX 9 4, AutoContrast 8 -; ShearY 9 8, Invert 4 -; ShearY 9 5, Solarize 2 6;
        Invert 9 -, AutoContrast 8 -; Equalize 6 -, Rotate 9 3; ShearX 9 4, Solarize 3 3; ShearY 8 8, Invert 7 -;
        Equalize 9 -, TranslateY 6 6; Invert 9 -, Equalize 6 -; Contrast 3 3, Rotate 8 4;
        Invert 8 -, TranslateY 0 2; ShearY 7 6, Solarize 4 8; Invert 6 -, Rotate 8 4; ShearY 3 7, TranslateX 9 3;
        ShearX 1 6, Invert 6 -; Solarize 7 2, TranslateY 6 7; ShearY 8 4, Invert 8 -; ShearX 7 9, TranslateY 8 3;
        ShearY 8 5, AutoContrast 7 -; ShearX 7 2, Invert 1 -""",
}


def learned(policy):
    """The pairs of steps (map, probability, number of its magnitude or None) of a policy by name."""
    pairs = []
    for line in _LEARNED[policy].split(";"):
        steps = [one.split() for one in line.split(",")]
        pairs.append([(name, int(tenths) / 10, None if at == "-" else int(at)) for name, tenths, at in steps])
    return pairs


_SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"}


def magnitudes(bins, most, dropped_bits, solarize=255.0):
    """The magnitudes of each map in `bins` steps, of its largest: `most` has those of shears, of moves along x and y,
    of the angle and of colours."""
    shear, across, down, angle, color = most
    line = np.arange(bins, dtype=np.float32)
    made = {"ShearX": shear, "ShearY": shear, "TranslateX": across, "TranslateY": down, "Rotate": angle}
    made.update(dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), color))
    made = {name: line * (np.float32(one) / np.float32(bins - 1)) for name, one in made.items()}
    made["Posterize"] = np.rint(8 - np.arange(bins) * (dropped_bits / max(bins - 1, 1)))
    made["Solarize"] = np.float32(solarize) + line * np.float32(-solarize / (bins - 1))
    return {**made, "AutoContrast": None, "Equalize": None}


_COLORS = {
    "Brightness": adjusted.brightened,
    "Color": adjusted.saturated,
    "Contrast": adjusted.contrasted,
    "Sharpness": adjusted.sharpened,
}


def augmented(image, name, magnitude, interpolation, fill):
    """An image mapped by one of the maps of these policies."""
    if name in _COLORS:
        return _COLORS[name](image, 1 + magnitude)
    if name == "Rotate":
        return rotated(image, magnitude, interpolation, False, None, fill)
    if name.startswith(("Shear", "Translate")):
        amount = np.rad2deg(magnitude) if name.startswith("Shear") else float(int(magnitude))
        pair = [amount, 0.0] if name.endswith("X") else [0.0, amount]
        shear, moved = (pair, [0.0, 0.0]) if name.startswith("Shear") else ([0.0, 0.0], pair)
        return warped(image, affine(image.shape, 0.0, moved, 1.0, shear), image.shape[:2], interpolation, fill)
    if name == "Posterize":
        return adjusted.posterized(image, int(magnitude))
    if name == "Solarize":
        return adjusted.solarized(image, magnitude, magnitude)
    steps = {"AutoContrast": AutoContrast, "Equalize": Equalize, "Invert": Invert}
    return steps[name]().of_array(image) if name in steps else image


class _Policy(Drawn):
    """The base of maps of 8-bit colours by such policies."""

    def __init__(self, interpolation: Inter, fill_value: int | Sequence[int]):
        where = type(self).__name__
        self.interpolation = require_kind(where, "interpolation", interpolation, Inter)
        self.fill_value = filled(where, fill_value)

    def _signed(self, name, value, generator):
        sign = generator.random() < 0.5
        return -value if name in _SIGNED and sign else value

    def _augmented(self, image, name, magnitude):
        return augmented(image, name, magnitude, self.interpolation, self.fill_value)

    def drawn(self, image, generator):
        image = _bytes_of(type(self).__name__, image)
        require_colors(type(self).__name__, image)
        return self._drawn(image, generator)


class AutoAugment(_Policy):
    """One of 25 pairs of maps that were learned on a data set (`policy`), each with its probability, of an image
    uint8[height,width,3]. Raises TypeError for other elements, ValueError for other shapes."""

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: int | Sequence[int] = 0,
    ):
        super().__init__(interpolation, fill_value)
        self.policy = require_kind("AutoAugment", "policy", policy, AutoAugmentPolicy)
        self.pairs = learned(policy.value)

    def _drawn(self, image, generator):
        sizes = magnitudes(10, (0.3, 150 / 331 * image.shape[1], 150 / 331 * image.shape[0], 30, 0.9), 4, 256.0)
        for name, probability, at in self.pairs[int(generator.integers(len(self.pairs)))]:
            chance, magnitude = generator.random(), 0.0 if at is None else sizes[name][at]
            magnitude = self._signed(name, magnitude, generator)
            if chance <= probability:
                image = self._augmented(image, name, magnitude)
        return image


class RandAugment(_Policy):
    """`num_ops` drawn maps of an image uint8[height,width,3], all with one magnitude of 0 to `num_magnitude_bins` - 1
    (Cubuk et al. 2020). Raises TypeError for other elements, ValueError for other shapes or magnitudes."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: int | Sequence[int] = 0,
    ):
        super().__init__(interpolation, fill_value)
        self.num_ops = require_integer("RandAugment", "num_ops", num_ops, 0)
        self.bins = require_integer("RandAugment", "num_magnitude_bins", num_magnitude_bins, 2)
        self.magnitude = require_integer("RandAugment", "magnitude", magnitude, 0, self.bins - 1)

    def sizes(self, height, width):
        """The magnitudes of the maps of an image."""
        most = 0.3, 150 / 331 * width, 150 / 331 * height, 30, 0.9
        return {"Identity": None, **magnitudes(self.bins, most, 4)}

    def _drawn(self, image, generator):
        sizes = self.sizes(*image.shape[:2])
        names = list(sizes)
        for _ in range(self.num_ops):
            name = names[int(generator.integers(len(names)))]
            magnitude = 0.0 if sizes[name] is None else sizes[name][self.magnitude]
            image = self._augmented(image, name, self._signed(name, magnitude, generator))
        return image


class TrivialAugmentWide(_Policy):
    """One drawn map of an image uint8[height,width,3], with a drawn magnitude (Mueller and Hutter 2021). Raises
    TypeError for other elements, ValueError for other shapes."""

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST, fill_value: int | Sequence[int] = 0
    ):
        super().__init__(interpolation, fill_value)
        self.bins = require_integer("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2)

    def sizes(self):
        """The magnitudes of the maps."""
        return {"Identity": None, **magnitudes(self.bins, (0.99, 32, 32, 135, 0.99), 6)}

    def _drawn(self, image, generator):
        sizes = self.sizes()
        name = list(sizes)[int(generator.integers(len(sizes)))]
        at = int(generator.integers(self.bins))
        magnitude = 0.0 if sizes[name] is None else sizes[name][at]
        return self._augmented(image, name, self._signed(name, magnitude, generator))


def applied(step, image, generator):
    """The image that a map, drawn or not, or a function gives."""
    made = rows.applied(step, image, generator)
    return made if is_pil(made) else array_of(made)


def _require_maps(where, steps):
    if not isinstance(steps, (list, tuple)) or not steps or not all(callable(one) for one in steps):
        raise TypeError(f"[{where}] bad transforms, got {steps!r}, expected a list of maps")
    return list(steps)


class _Chosen(Drawn):
    """The base of maps that choose among others, whose values may be of any type."""

    def drawn_of(self, image, generator):
        return self.drawn(image if is_pil(image) else array_of(image), generator)

    drawn_pil = None


class UniformAugment(_Chosen):
    """`num_ops` of several maps, each with a drawn probability (LingChen et al. 2020)."""

    def __init__(self, transforms: Sequence[Callable], num_ops: int = 2):
        self.transforms = _require_maps("UniformAugment", transforms)
        self.num_ops = require_integer("UniformAugment", "num_ops", num_ops, 1, len(self.transforms))

    def drawn(self, image, generator):
        for at in generator.choice(len(self.transforms), self.num_ops, replace=False):
            if generator.random() < generator.random():
                image = applied(self.transforms[int(at)], image, generator)
        return image


class RandomSelectSubpolicy(_Chosen):
    """One of several lists of pairs (map, probability), whose maps follow each other."""

    def __init__(self, policy: Sequence):
        where = "RandomSelectSubpolicy"
        kinds = (list, tuple)
        pairs = [one for part in policy for one in part] if isinstance(policy, kinds) and all(policy) and all(
            isinstance(part, kinds) for part in policy
        ) else []
        if not pairs or not all(isinstance(pair, kinds) and len(pair) == 2 for pair in pairs):
            raise TypeError(f"[{where}] bad policy, got {policy!r}, expected lists of pairs (map, probability)")
        _require_maps(where, [pair[0] for pair in pairs])
        self.policy = [[(step, require_number(where, "prob", p, 0, 1)) for step, p in one] for one in policy]

    def drawn(self, image, generator):
        for step, probability in self.policy[int(generator.integers(len(self.policy)))]:
            if generator.random() < probability:
                image = applied(step, image, generator)
        return image
