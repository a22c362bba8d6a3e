"""Pixels between red, green and blue and hue, saturation and value, and the norm of channels, as ops that are
objects."""

from partita.common import dtype as mstype
from partita.common.parameter import Parameter
from partita.ops import functional as F
from partita.ops.primitive import Primitive
from partita.ops.support import as_tensor

__all__ = ("HSVToRGB", "InstanceNorm", "RGBToHSV")


def _parts(where, images):
    """The three parts of pixels [.., 3]. Raises ValueError for other shapes, TypeError for integers."""
    x = as_tensor(images, where)
    if not mstype.is_float(x.dtype):
        raise TypeError(f"[{where}] no numbers with fractions, got {x.dtype}, expected float16, float32 or float64")
    if x.ndim < 1 or x.shape[-1] != 3:
        raise ValueError(f"[{where}] no pixels of three numbers, got shape {x.shape}, expected [.., 3]")
    return [F.squeeze(one, -1) for one in F.split(x, 1, -1)]


class RGBToHSV(Primitive):
    """Pixels [.., 3] of red, green and blue from 0 to 1 as hue from 0 to 1, saturation, and value, the largest part.
    The hue of gray is 0."""

    def compute(self, images):
        r, g, b = _parts("RGBToHSV", images)
        pixels = F.stack([r, g, b], -1)
        value = F.reduce_max(pixels, -1)
        span = F.sub(value, F.reduce_min(pixels, -1))
        saturation = _over(span, value)
        of_red, of_green = _over(F.sub(g, b), span), F.add(_over(F.sub(b, r), span), 2.0)
        of_blue = F.add(_over(F.sub(r, g), span), 4.0)
        hue = F.select(F.equal(r, value), of_red, F.select(F.equal(g, value), of_green, of_blue))
        hue = F.select(F.greater(span, 0.0), F.div(hue, 6.0), F.zeros_like(hue))
        return F.stack([F.select(F.less(hue, 0.0), F.add(hue, 1.0), hue), saturation, value], -1)


def _over(x, y):
    """x over y, 0 where y is not positive."""
    known = F.greater(y, 0.0)
    return F.select(known, F.div(x, F.select(known, y, F.ones_like(y))), F.zeros_like(x))


class HSVToRGB(Primitive):
    """Pixels [.., 3] of hue, saturation and value from 0 to 1 as red, green and blue."""

    def compute(self, images):
        hue, saturation, value = _parts("HSVToRGB", images)
        sixth = F.mul(F.sub(hue, F.floor(hue)), 6.0)
        shares = (
            F.sub(F.abs(F.sub(sixth, 3.0)), 1.0),
            F.sub(2.0, F.abs(F.sub(sixth, 2.0))),
            F.sub(2.0, F.abs(F.sub(sixth, 4.0))),
        )
        missing = [F.sub(1.0, F.clip_by_value(one, 0.0, 1.0)) for one in shares]
        return F.stack([F.mul(value, F.sub(1.0, F.mul(one, saturation))) for one in missing], -1)


class InstanceNorm(Primitive):
    """Each channel of each sample of x[n, c, ..] with mean 0 and variance 1, times gamma[c], plus beta[c]; also the
    running mean and variance [c], which take `momentum` of those of the batch, and of which parameters keep the values.
    A call takes (x, gamma, beta, mean, variance)."""

    def __init__(self, epsilon=1e-5, momentum=0.1):
        super().__init__()
        self.epsilon, self.momentum = float(epsilon), float(momentum)

    def compute(self, input_x, gamma, beta, mean, variance):
        x = as_tensor(input_x, "InstanceNorm")
        if x.ndim < 3:
            raise ValueError(f"[InstanceNorm] channels have no elements, got shape {x.shape}, expected [n, c, ..]")
        axes, shape = tuple(range(2, x.ndim)), [1, x.shape[1]] + [1] * (x.ndim - 2)
        own = F.reduce_mean(x, axes, True)
        spread = F.reduce_mean(F.square(F.sub(x, own)), axes, True)
        made = F.mul(F.sub(x, own), F.rsqrt(F.add(spread, self.epsilon)))
        made = F.add(F.mul(made, F.reshape(gamma, shape)), F.reshape(beta, shape))
        count = x.size // (x.shape[0] * x.shape[1])
        found = F.reduce_mean(own, (0, *axes)), F.mul(F.reduce_mean(spread, (0, *axes)), count / max(count - 1, 1))
        return (made, *(self._moved(kept, one) for kept, one in zip((mean, variance), found)))

    def _moved(self, kept, found):
        moved = F.add(F.mul(kept, 1 - self.momentum), F.mul(found, self.momentum))
        return F.assign(kept, moved) if isinstance(kept, Parameter) else moved
