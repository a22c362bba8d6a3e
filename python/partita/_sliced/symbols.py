"""The symbol of a slice."""


class Sliced:
    """Stands for one slice of a value along its first dimension, in a function that is mapped over it. `value` is a
    symbol, or a slice of an outer mapping, whose level is lower. Slices of one level belong to one mapping."""

    __slots__ = ("value", "level", "trace")

    def __init__(self, value, level, trace):
        self.value, self.level, self.trace = value, level, trace

    @property
    def shape(self):
        return tuple(self.value.shape)[1:]

    @property
    def size(self):
        """Number of slices."""
        return self.value.shape[0]

    @property
    def dtype(self):
        return self.value.dtype

    @property
    def name(self):
        return self.value.name
