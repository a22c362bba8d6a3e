"""Functions that stand for others while the documented system compiles: a dict that libraries add to, without effect.
The Python of a function runs as it is."""

convert_object_map = {}
