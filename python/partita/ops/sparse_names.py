"""Functions of sparse tensors, which do not exist here: calls are refused and name what to use."""

from partita.ops.absent import refusing_function

_ELEMENTS = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor inv isfinite isinf isnan log log1p neg relu "
    "relu6 round sigmoid sin sinh softsign sqrt square tan tanh"
).split()
_OTHERS = {
    "add": "ops.add",
    "concat": "ops.concat",
    "div": "ops.div",
    "gather": "ops.gather",
    "mm": "ops.matmul",
    "mul": "ops.mul",
    "mv": "ops.mv",
    "reduce_sum": "ops.sum",
    "softmax": "ops.softmax",
}
_DENSE = "a Tensor of all elements"
_ALONE = (
    "coo2csr csr2coo csr_to_coo csr_to_dense dense_to_sparse_coo dense_to_sparse_csr make_coo_tensor make_csr_tensor "
    "make_sparse_tensor coo_tensor_get_dense_shape coo_tensor_get_indices coo_tensor_get_values "
    "csr_tensor_get_dense_shape csr_tensor_get_indices csr_tensor_get_indptr csr_tensor_get_values row_tensor_add "
    "row_tensor_get_dense_shape row_tensor_get_indices row_tensor_get_values"
).split()


_INSTEAD = {name: _DENSE for name in _ALONE}
for _kind in ("coo", "csr"):
    _INSTEAD.update({f"{_kind}_{name}": f"ops.{name} of {_DENSE}" for name in _ELEMENTS})
    _INSTEAD.update({f"{_kind}_{name}": f"{function} of {_DENSE}" for name, function in _OTHERS.items()})
for _name in "coo_div coo_gather coo_mm coo_mul coo_mv coo_reduce_sum coo_softmax csr_concat".split():
    del _INSTEAD[_name]  # the documented system has none
globals().update({name: refusing_function(name, "sparse tensors", instead) for name, instead in _INSTEAD.items()})
__all__ = list(_INSTEAD)
