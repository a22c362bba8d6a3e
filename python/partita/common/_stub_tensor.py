"""Results that are not there yet, by the name of the documented module. Results here are tensors: nothing is of this
class, and methods that libraries give it have no effect."""


class StubTensor:
    """The class of no tensor."""
