"""Templates of functions of angles, hyperbolic and special functions: see drawn_templates."""

ROWS = [
    ("ops Tensor", "asin acos atanh erfinv", ["{u};", "{f};"]),
    ("ops", "erfinv", ["{u} * 0.98;", "{f} / 3.1;"]),
    ("ops Tensor", "atan sinh cosh asinh erfc", ["{f};", "{f};"]),
    ("ops Tensor", "arctan arcsinh arctanh arccos arcsin", ["{u};"]),
    ("ops Tensor", "acosh arccosh lgamma digamma", ["{p};", "{f};"]),
    ("ops Tensor", "atan2 arctan2", ["{f}; {f}", "{f}; {f:~}"]),
    ("ops", "atan2", ["{f}; {2.0|0.5|-1.5}"]),
    ("ops", "polygamma", ["t(0, 'i4', 'any', ()) * 0 + {1|2|3}; {p}"]),
]
