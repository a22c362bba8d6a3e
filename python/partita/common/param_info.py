"""Names and settings of parameters, as objects that scripts copy from one parameter to another."""

import weakref

_KEPT = ("name", "requires_grad", "layerwise_parallel", "parallel_optimizer", "comm_fusion")


class ParamInfo:
    """The name and the settings of a parameter. Changes reach the parameter; a clone belongs to none until it is set as
    the `param_info` of one. Scripts may keep attributes of their own here."""

    def __init__(self, values, parameter=None):
        self.__dict__.update(values, _of=None if parameter is None else weakref.ref(parameter))

    @classmethod
    def of(cls, parameter):
        """Returns that of a parameter."""
        return cls({name: getattr(parameter, name) for name in _KEPT}, parameter)

    def __getattribute__(self, name):
        if name in _KEPT:
            parameter = self._parameter()
            if parameter is not None:
                return getattr(parameter, name)
        return super().__getattribute__(name)

    def __setattr__(self, name, value):
        self.__dict__[name] = value
        parameter = self._parameter()
        if name in _KEPT and parameter is not None:
            setattr(parameter, name, value)

    def _parameter(self):
        of = self.__dict__["_of"]
        return None if of is None else of()

    def clone(self):
        """Returns the same name and settings, of no parameter yet."""
        return ParamInfo({name: getattr(self, name) for name in _KEPT})

    def belong_to(self, parameter):
        """Gives a parameter this name and these settings."""
        values = {name: getattr(self, name) for name in _KEPT}
        self.__dict__["_of"] = weakref.ref(parameter)
        for name, value in values.items():
            setattr(parameter, name, value)
