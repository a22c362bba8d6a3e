"""Coefficients of the documented system's cost model, which have no effect on the search here."""

from partita._names import refuse_missing


def _set_rp_matmul_mem_coef(coef):
    """Kept, without effect: the search knows the memory of each rank."""


def _set_multi_subgraphs(multi_subgraph=True):
    """Kept, without effect: the search is of the whole network."""


__getattr__ = refuse_missing(globals())
