"""Rewriting of networks: refused by name."""

import enum

from partita import _later
from partita._names import absent, refused

globals().update(refused("rewrite"))
NodeType = enum.Enum(
    "NodeType",
    "Unknown CallCell CallPrimitive CallModule CallFunction CallMethod Python Input Output Tree CellContainer MathOps"
    " ControlFlow",
    start=0,
)
NodeType.__doc__ = "Kinds of nodes of rewriting, by name: no network is rewritten."

_SOURCES = "the sources of the network: cells are changed by setting their attributes"
_METHODS = {"Node": "create_call_cell create_input", "PatternEngine": "_check_match", "SymbolTree": "create"}
for _class, _names in _METHODS.items():
    for _name in _names.split():
        setattr(globals()[_class], _name, staticmethod(absent(_name, __name__, _SOURCES)))

_PLACES = {
    "parsers": "partita.rewrite.parsers",
    "symbol_tree": "partita.rewrite.symbol_tree",
    "symbol_tree_builder": "partita.rewrite.symbol_tree",
    "namespace": "partita.rewrite.common.namespace",
}
__getattr__, __dir__ = _later.names_later(globals(), _PLACES)
