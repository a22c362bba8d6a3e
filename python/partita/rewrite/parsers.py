"""Parsers of the documented system's rewriting: lists that libraries append to, without effect, as no network is
rewritten. Its modules of parsers, and of trees of symbols, are this one."""

import sys

from partita._names import refuse_missing
from partita.nn.cell import Cell, SequentialCell


class AssignParser:
    """The parser of assignments: the classes of cells that contain others."""

    types_for_cell_container = [SequentialCell]


class ClassDefParser:
    """The parser of classes: the names of methods that are called first, and the classes that are not entered."""

    entry_function, entry_functions, final_networks = "construct", ["construct"], [Cell]


class SymbolTreeBuilder:
    """The maker of trees of symbols: the names of methods that are called first."""

    entry_function, entry_functions = "construct", ["construct"]

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "[SymbolTreeBuilder] networks are not rewritten, got a call, expected cells whose attributes are set"
        )


assign_parser = class_def_parser = sys.modules[__name__]
__getattr__ = refuse_missing(globals())
