"""Ops of simulated quantization, which run on other devices: a call says what to use."""

from partita._names import refuse_missing
from partita.ops.absent import INNER
from partita.ops.primitive import Primitive

for _name in (
    "ActsULQ BatchNormFold BatchNormFold2 BatchNormFold2D BatchNormFoldD CorrectionMul FakeLearnedScaleQuantPerChannel"
    " FakeLearnedScaleQuantPerLayer FakeQuantPerChannel FakeQuantPerLayer FakeQuantWithMinMaxVars"
    " FakeQuantWithMinMaxVarsPerChannel IFMR MinMaxUpdatePerChannel MinMaxUpdatePerLayer WtsARQ"
).split():
    globals()[_name] = INNER[_name]


class FakeQuantParam(Primitive):
    """The tensor itself. The op keeps, as attributes, how it is quantized: a type, the name of an algorithm, whether
    channels differ, and others."""

    attr_key_linear_quant_scale = "linear_quant_scale"
    attr_key_linear_quant_zero_point = "linear_quant_zero_point"
    attr_value_linear_quant_algo_name = "linear_quant_algo"

    def __init__(self, quant_dtype, quant_algo_name, is_per_channel, **kwargs):
        super().__init__()
        own = {"quant_algo_name": quant_algo_name, "is_per_channel": is_per_channel, "quant_dtype": quant_dtype.value}
        for name, value in {**own, **kwargs}.items():
            self.add_prim_attr(name, value)

    @classmethod
    def linear_quant_param(cls, quant_dtype, scale, zp, is_per_channel=False, **kwargs):
        """The op of a linear quantization: numbers times `scale`, from the number `zp` on; a list has that of each
        channel."""
        kwargs[cls.attr_key_linear_quant_scale] = [scale] if isinstance(scale, float) else scale
        kwargs[cls.attr_key_linear_quant_zero_point] = [zp] if isinstance(zp, int) else zp
        return cls(quant_dtype, cls.attr_value_linear_quant_algo_name, is_per_channel, **kwargs)

    def compute(self, input_x):
        return input_x


__getattr__ = refuse_missing(globals())
