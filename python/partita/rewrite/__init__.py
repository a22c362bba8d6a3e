"""Rewriting of networks: refused by name."""

import enum

from partita._names import absent, refuse_missing, refused

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

__getattr__ = refuse_missing(globals())
