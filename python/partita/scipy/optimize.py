"""Names of optimization. They are not there."""

from partita._names import absent_all, refuse_missing

_INSTEAD = {
    "line_search": "losses at several steps, by ops",
    "linear_sum_assignment": "scipy.optimize of SciPy on asnumpy()",
    "minimize": "an optimizer of nn, or scipy.optimize of SciPy with gradients of value_and_grad",
}
globals().update(absent_all(__name__, _INSTEAD))

__getattr__ = refuse_missing(globals())
