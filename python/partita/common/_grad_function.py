"""Functions with a gradient of one's own, in the form of a class with `forward` and `backward`."""

from partita._current import current
from partita.common.tensor import Tensor


class _Context:
    """The first argument of `forward` and `backward`: attributes are kept from one to the other."""

    def __init__(self, args):
        self.saved_tensors, self.materialize_grads = (), True
        self.needs_input_grad = tuple(isinstance(one, Tensor) for one in args)

    def save_for_backward(self, *tensors):
        """Keeps tensors for `backward`, as `saved_tensors`."""
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors):
        """Kept, without effect: values that change in place are known."""

    def mark_non_differentiable(self, *tensors):
        """Kept, without effect: gradients of integers are zeros in any case."""

    def set_materialize_grads(self, value):
        """Kept, without effect: gradients that are not there are zeros."""
        self.materialize_grads = bool(value)


class _Function:
    """The base: `apply(*args)` calls `forward(ctx, *args)`. Its gradient is `backward(ctx, *gradients)`, one for each
    argument, None for those without."""

    @staticmethod
    def forward(ctx, *args, **kwargs):
        raise NotImplementedError("[_Function] the class has no forward, got a call, expected forward(ctx, ..)")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("[_Function] the class has no backward, got a call, expected backward(ctx, ..)")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("[_Function] the class has no setup_context, got a call, expected one")

    @classmethod
    def _forward(cls, ctx, args):
        if cls.setup_context is _Function.setup_context:
            return cls.forward(ctx, *args)
        made = cls.forward(*args)
        cls.setup_context(ctx, args, made)
        return made

    @classmethod
    def apply(cls, *args):
        """The results of `forward`. Saved tensors that are neither arguments nor results are results of the part of the
        program that `backward` is the gradient of."""
        ctx, build, seen = _Context(args), current(), {}
        if build is None:
            return cls._forward(ctx, args)

        def function(*inputs):
            made = cls._forward(ctx, inputs)
            seen["several"] = isinstance(made, (tuple, list))
            results = list(made) if seen["several"] else [made]
            seen["count"], known = len(results), [*inputs, *results]
            for one in ctx.saved_tensors:
                if isinstance(one, Tensor) and not any(one is other for other in known):
                    known.append(one)
                    results.append(one)
            places = {id(one): i for i, one in enumerate(known)}
            seen["places"] = [places.get(id(one), one) for one in ctx.saved_tensors]
            return tuple(results)

        def gradient(*given):
            *inputs, results, arrived = given
            known = [*inputs, *results]
            ctx.saved_tensors = tuple(known[one] if isinstance(one, int) else one for one in seen["places"])
            found = cls.backward(ctx, *arrived[: seen["count"]])
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)

        made = build.with_gradient(cls.__name__, function, gradient, args)[: seen["count"]]
        return made if seen["several"] else made[0]
