"""Names of the documented system's library of data that client libraries import."""

from partita._names import absent, refuse_missing
from partita.dataset.text.transforms import LookupOperation  # noqa: F401
from partita.dataset.text.utils import Vocab  # noqa: F401

BasicTokenizerOperation = absent("BasicTokenizerOperation", __name__, "a tokenizer in Python: py_transform=True")

__getattr__ = refuse_missing(globals())
