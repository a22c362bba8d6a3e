"""The values of a parameter as an array of NumPy."""

import numpy as np


class Values(np.ndarray):
    """An array that only the parameter itself changes: items that are assigned become the parameter's. What is computed
    of it is a plain array."""

    _owner = None

    @classmethod
    def of(cls, parameter, values):
        """The array of the values of a parameter."""
        made = values.view(cls)
        made.flags.writeable = False
        made._owner = parameter
        return made

    def __setitem__(self, index, value):
        if self._owner is None:
            super().__setitem__(index, value)
            return
        self._owner._writable()[index] = value

    def __array_wrap__(self, out, *_):
        plain = np.asarray(out)
        return plain[()] if plain.ndim == 0 else plain

    def __repr__(self):
        return repr(np.asarray(self))

    def __reduce__(self):
        return np.array(self).__reduce__()

    def __deepcopy__(self, memo):
        return np.array(self)

    def copy(self, order="C"):
        return np.array(self, order=order)
