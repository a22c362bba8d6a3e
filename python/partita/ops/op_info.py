"""Forms of the elements of tensors on the devices of the documented system, and registrations of kernels for them."""

from partita._names import absent

__all__ = ("CustomRegOp", "DataType")

_LAYOUTS = {
    "None": "", "Default": "DefaultFormat", "5HD": "NC1HWC0", "FracZ": "FRACTAL_Z", "FracNZ": "FRACTAL_NZ",
    "C1HWNCoC0": "C1HWNCoC0", "NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN", "NDHWC": "NDHWC",
    "ChannelLast": "ChannelLast", "Default_Tuple": "DefaultFormat", "Default_List": "DefaultFormat",
}  # fmt: skip
# Layouts that not all types have.
_MORE = {
    "I8": "NCDHW NDC1HWC0 NC1HWC0",
    "U8": "NCDHW NDC1HWC0 NC1HWC0",
    "I32": "NCDHW NDC1HWC0",
    **dict.fromkeys(("F16", "F32", "BF16"), "NCDHW NDC1HWC0 DHWCN FRACTAL_Z_3D FracZNLSTM FracZNRNN ND_RNNBIAS"),
}
_OTHER_LAYOUTS = {"FracZNLSTM": "FRACTAL_ZN_LSTM", "FracZNRNN": "FRACTAL_ZN_RNN", "ND_RNNBIAS": "ND_RNN_BIAS"}
_TYPES = {
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BF16": "bfloat16",
}
_COMPLEX = {"C64": "complex64", "C128": "complex128"}


class DataType:
    """Element types and layouts, as texts: F32_Default is ("float32", "DefaultFormat"). Several tensors have a third
    text, "tuple" or "list"."""

    None_None, None_Default = ("", ""), ("", "DefaultFormat")


def _set_form(name, kind, layout):
    several = [one for one in ("Tuple", "List") if name.endswith(f"_{one}")]
    setattr(DataType, name, (kind, layout, *(one.lower() for one in several)))


def _set_forms():
    for kind, name in _TYPES.items():
        for form, layout in _LAYOUTS.items():
            _set_form(f"{kind}_{form}", name, layout)
        for form in _MORE.get(kind, "").split():
            _set_form(f"{kind}_{form}", name, _OTHER_LAYOUTS.get(form, form))
    for kind, name in _COMPLEX.items():
        for form in ("Default", "Default_Tuple"):
            _set_form(f"{kind}_{form}", name, _LAYOUTS[form])


_set_forms()
CustomRegOp = absent("CustomRegOp", __name__, "ops.Custom of a function of NumPy arrays, with func_type='pyfunc'")
