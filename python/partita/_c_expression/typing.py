"""Types by their names, and kinds of element types for isinstance."""

from partita._names import refuse_missing
from partita.common.typing import (  # noqa: F401
    BFloat,
    Bool,
    Complex,
    Float,
    Int,
    List,
    Number,
    TensorType,
    Tuple,
    Type,
    UInt,
    str_to_type,
)

__getattr__ = refuse_missing(globals())
