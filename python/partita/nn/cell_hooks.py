"""Functions of users that calls of cells, and gradients, pass through."""

from collections.abc import Callable

from partita.common.tensor import Tensor
from partita.ops.hooks import through


class HookHandle:
    """A function that a cell calls, until `remove`."""

    def __init__(self, cell, hooks, function):
        self._cell, self._hooks, self._function = cell, hooks, function

    def __call__(self, *args):
        return self._function(*args)

    def program_parts(self):
        """Objects whose change makes a call another part of a program."""
        return [self._function]

    def remove(self) -> None:
        """Removes the hook. A second call has no effect."""
        if self in self._hooks:
            self._hooks.remove(self)
            self._cell._count_change()


class CellHooks:
    """The hooks of a cell. `Cell` makes the attribute and calls them."""

    def register_forward_pre_hook(
        self, hook_fn: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """`hook_fn(cell, inputs)` before each call; what it returns replaces the inputs. Gives a handle, whose
        `remove` ends it."""
        return self._register(0, hook_fn, prepend, with_kwargs)

    def register_forward_hook(
        self, hook_fn: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """`hook_fn(cell, inputs, output)` after each call; what it returns replaces the output. Gives a handle, whose
        `remove` ends it."""
        return self._register(1, hook_fn, prepend, with_kwargs)

    def register_backward_pre_hook(self, hook_fn: Callable) -> HookHandle:
        """`hook_fn(cell, gradients)` with a tuple of the gradients of the outputs; what it returns replaces them. It is
        called for each backward pass, and may compute with ops. Gives a handle, whose `remove` ends it."""
        return self._register(2, hook_fn, False, False)

    def register_backward_hook(self, hook_fn: Callable) -> HookHandle:
        """`hook_fn(cell, gradients_of_inputs, gradients_of_outputs)`, both tuples; what it returns replaces the former.
        It is called for each backward pass, and may compute with ops. Gives a handle, whose `remove` ends it."""
        return self._register(3, hook_fn, False, False)

    def _register(self, place, hook_fn, prepend, with_kwargs):
        if not callable(hook_fn):
            raise TypeError(f"[Cell] the hook is not a function, got {type(hook_fn).__name__}, expected one")
        if with_kwargs:
            raise NotImplementedError("[Cell] a hook cannot get inputs by name, got with_kwargs=True, expected False")
        handle = HookHandle(self, self._hooks[place], hook_fn)
        self._count_change()
        self._hooks[place].insert(0 if prepend else len(self._hooks[place]), handle)
        return handle

    def _hooked_outputs(self, hooks, output, arrived):
        """The output, whose gradients pass through hooks and then are in `arrived`."""
        outputs = output if isinstance(output, tuple) else (output,)
        tensors = [one for one in outputs if isinstance(one, Tensor)]

        def passed(gradients):
            for hook in hooks:
                changed = hook(self, gradients)
                if changed is not None:
                    gradients = tuple(changed) if isinstance(changed, (tuple, list)) else (changed,)
            arrived[:] = [gradients]
            return gradients

        found = iter(through(f"{type(self).__name__}.backward_pre_hook", passed, tensors))
        made = tuple(next(found) if isinstance(one, Tensor) else one for one in outputs)
        return made if isinstance(output, tuple) else made[0]

    def _hooked_inputs(self, hooks, args, arrived):
        """The inputs, whose gradients pass through hooks that also get those of the outputs."""
        tensors = [one for one in args if isinstance(one, Tensor)]

        def passed(gradients):
            for hook in hooks:
                changed = hook(self, gradients, arrived[0])
                if changed is not None:
                    gradients = tuple(changed) if isinstance(changed, (tuple, list)) else (changed,)
            return gradients

        found = iter(through(f"{type(self).__name__}.backward_hook", passed, tensors))
        return tuple(next(found) if isinstance(one, Tensor) else one for one in args)
