"""Trees of symbols of the documented system's rewriting: see `parsers`."""

from partita._names import refuse_missing
from partita.rewrite import parsers as symbol_tree_builder  # noqa: F401
from partita.rewrite.parsers import SymbolTreeBuilder  # noqa: F401

__getattr__ = refuse_missing(globals())
