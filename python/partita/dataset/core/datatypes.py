"""Element types of columns."""

from partita._names import refuse_missing
from partita.common import dtype as mstype


def mstype_to_detype(type_):
    """The name of an element type, or of that of a tensor: "int32". Raises NotImplementedError for types that columns
    do not have."""
    try:
        return mstype.to_dtype(getattr(type_, "dtype", type_)).name.lower()
    except TypeError:
        raise NotImplementedError(
            f"[mstype_to_detype] unknown element type, got {type_}, expected that of a tensor"
        ) from None


__getattr__ = refuse_missing(globals())
