"""Programs of processes whose arguments are rows of each: mpirun -n 2 python3 rows_of_ranks.py."""

import numpy as np

import partita as ms
from partita import Parameter, Tensor
from partita.communication import get_rank, init

init()
rank = get_rank()
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
everything = np.arange(1, 9).reshape(4, 2).astype("f4")
rows = everything[2 * rank : 2 * rank + 2]

# Gradients by rows are those of the process's own rows, as other results are, and so is what is made of them.
gradient = ms.grad(lambda x: (x * x).mean())(Tensor(rows))
np.testing.assert_allclose(gradient.asnumpy(), 2 * rows / everything.size, rtol=1e-6)
moved = ms.jit(lambda x: ms.grad(lambda a: (a * a).sum())(x) * 0.5)(Tensor(rows))
np.testing.assert_allclose(moved.asnumpy(), rows, rtol=1e-6)

# What is no batch counts once: captured, or a parameter.
weight, factor = Parameter(np.ones((1, 2), "f4"), name="weight"), Tensor(np.array([2.0, 2.0], "f4"))
loss = lambda x: (x * weight).mean() + (factor * weight).sum()  # noqa: E731
value, gradients = ms.value_and_grad(loss, None, [weight])(Tensor(rows))
np.testing.assert_allclose(float(value), everything.mean() + 4, rtol=1e-6)
try:
    ms.jit(lambda x, t: (x * t).sum())(Tensor(rows), Tensor(np.ones(1, "f4")))
except ValueError as error:
    assert "the arguments differ in their number of rows, got first dimensions [2, 1]" in str(error), error
else:
    raise AssertionError("arguments of different lengths were taken")

print("rows of two processes: ok", flush=True)
# Processes that do not begin with the same values are told.
weight.set_data(Tensor(np.full((1, 2), 1.0 + rank, "f4")))
ms.jit(lambda x: (x * weight).sum())(Tensor(rows))
