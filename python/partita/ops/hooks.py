"""Functions of users that gradients pass through: hooks of tensors and cells, and ops that insert them."""

from collections.abc import Callable

from partita import _trace
from partita.common.tensor import Tensor
from partita.ops.primitive import Primitive
from partita.ops.support import as_tensor

__all__ = ("HookBackward", "InsertGradientOf")


def through(where, hook, tensors):
    """Returns the tensors, whose gradients pass through `hook(gradients)`: a tuple of one for each. It returns others
    in their places, a tuple or, of one, a tensor, or None to leave them. Outside of a network and a step there are no
    gradients. Raises TypeError and ValueError for results that are no gradients."""
    build = _trace.current()
    if build is None or not tensors:
        return tensors
    count = len(tensors)

    def gradients(*args):
        found = hook(args[-1])
        if found is None:
            return args[-1]
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != count:
            raise ValueError(f"[{where}] wrong number of gradients, got {len(found)}, expected {count}, or None")
        return tuple(found)

    return build.with_gradient(where, lambda *xs: tuple(xs), gradients, list(tensors))


def require_hook(where, hook):
    """Raises TypeError unless a hook can be called."""
    if not callable(hook):
        raise TypeError(f"[{where}] the hook is not a function, got {type(hook).__name__}, expected one of gradients")


class TensorHook:
    """A hook of a tensor, until `remove`."""

    def __init__(self, function):
        self._function = function

    def __call__(self, gradient):
        return None if self._function is None else self._function(gradient)

    def remove(self):
        """Removes the hook: gradients of steps that come are left as they are."""
        self._function = None


class _Hooks(list):
    """The hooks of a tensor, in the order in which they were registered."""

    def __call__(self, gradients):
        found = gradients[0]
        for hook in self:
            made = hook(found)
            found = found if made is None else made
        return found


def register_hook(tensor: Tensor, hook: Callable) -> TensorHook:
    """Makes the gradient of a tensor pass through `hook(gradient)`, which returns another one or None. Returns a handle
    whose `remove` ends it. Hooks of a tensor are called in their order. Within a step the first counts for what uses
    the tensor from here on, and the others where the first does. Raises NotImplementedError for a parameter."""
    require_hook("register_hook", hook)
    if getattr(type(tensor), "is_parameter", False):
        raise NotImplementedError(
            f"[register_hook] a parameter takes no hook, got '{tensor.name}', expected a hook of a result, or "
            "gradients that the script changes before it gives them to the optimizer"
        )
    handle = TensorHook(hook)
    symbol, hooks = getattr(tensor, "_hooks", (None, None))
    if tensor._symbol is not None and id(tensor._symbol) == symbol:
        hooks.append(handle)
        return handle
    hooks = _Hooks([handle])
    (found,) = through("register_hook", hooks, [tensor])
    if found is not tensor:
        tensor._become(found)
        tensor._hooks = id(tensor._symbol), hooks
    return handle


class _Hook(Primitive):
    """The operand itself; its gradient passes through a function."""

    def __init__(self, function):
        super().__init__()
        require_hook(self.name, function)
        self._function = function

    def compute(self, *args):
        tensors = [as_tensor(one, self.name) for one in args]
        found = through(self.name, lambda gradients: self._function(*gradients), tensors)
        return found[0] if len(found) == 1 else tuple(found)


class InsertGradientOf(_Hook):
    """The operand itself; `f(gradient)` replaces its gradient."""

    def __init__(self, f):
        super().__init__(f)


class HookBackward(_Hook):
    """The operands themselves; `hook_fn(gradients)`, a tuple of them, returns others, or None to leave them."""

    def __init__(self, hook_fn, cell_id=""):
        super().__init__(hook_fn)

    def compute(self, *args):
        tensors = [as_tensor(one, self.name) for one in args]
        found = through(self.name, self._function, tensors)
        return found[0] if len(found) == 1 else tuple(found)


Tensor.register_hook = register_hook
