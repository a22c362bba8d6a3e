"""Modules that rewriting leaves as they are: a list that libraries append to, without effect."""

_subtree_black_list, _ms_functions_black_list, _ignore_third_party_paths = [], [], []
