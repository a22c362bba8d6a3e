"""States of cells: their parameters and buffers by names, and the cells within them."""

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator

from partita.common import dtype as mstype
from partita.common.dtype import DType
from partita.common.tensor import Tensor
from partita.nn.cell_hooks import HookHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_EXTRA = "_extra_state"
_IncompatibleKeys = namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class CellState:
    """Buffers, states and inner cells of a cell."""

    # Buffers are attributes whose names are kept, each with whether files have it.

    def register_buffer(self, name: str, tensor: Tensor, persistent: bool = True) -> None:
        """Makes a tensor, or None, an attribute that is a part of the state of the cell and no parameter; `state_dict`
        has it if it is persistent. Raises TypeError for others, KeyError for names with dots and of attributes."""
        if not isinstance(name, str):
            raise TypeError(f"[Cell.register_buffer] the name is not a string, got {name!r}, expected one")
        if not name or "." in name or (hasattr(self, name) and name not in self._buffer_names()):
            raise KeyError(f"[Cell.register_buffer] bad name, got '{name}', expected none of an attribute, and no dots")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"[Cell.register_buffer] not a tensor, got {type(tensor).__name__} of '{name}', expected one or None"
            )
        self.__dict__["_buffers"] = {**self._buffer_names(), name: bool(persistent)}
        setattr(self, name, tensor)

    def _buffer_names(self):
        return self.__dict__.get("_buffers", {})

    def _own_buffers(self):
        found = ((name, self.__dict__.get(name), kept) for name, kept in self._buffer_names().items())
        return [(name, one, kept) for name, one, kept in found if isinstance(one, Tensor)]

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer) of this cell, and with `recurse` of all within it, each once."""
        seen = set()
        for path, cell in self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, self)]:
            for name, one, _ in cell._own_buffers():
                if remove_duplicate and id(one) in seen:
                    continue
                seen.add(id(one))
                yield (f"{path}.{name}" if path else name), one

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this cell, and with `recurse` of all within it."""
        return (one for _, one in self.named_buffers(recurse=recurse))

    def get_sub_cell(self, target: str):
        """The cell at a path of names with dots; "" is this one. Raises AttributeError if there is none."""
        found = self
        for name in target.split(".") if target else []:
            inner = found._cells.get(name)
            if inner is None:
                raise AttributeError(f"[Cell.get_sub_cell] no such cell, got '{name}' of '{target}', expected a path")
            found = inner
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path of names with dots. Raises AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        for own, one, _ in self.get_sub_cell(path)._own_buffers():
            if own == name:
                return one
        raise AttributeError(f"[Cell.get_buffer] no such buffer, got '{target}', expected a path")

    def get_extra_state(self):
        """More state of this cell for `state_dict`. A subclass that has it defines this and `set_extra_state`."""
        raise RuntimeError(f"[{type(self).__name__}] there is no more state, got get_extra_state, expected one defined")

    def set_extra_state(self, state: object) -> None:
        """Takes what `get_extra_state` gave. A subclass that has it defines this and `get_extra_state`."""
        raise RuntimeError(f"[{type(self).__name__}] there is no more state, got set_extra_state, expected one defined")

    def _has_extra(self, name):
        return getattr(type(self), name) is not getattr(CellState, name)

    def state_dict(self, *args, destination: dict | None = None, prefix: str = "", keep_vars: bool = False) -> dict:
        """The parameters, persistent buffers and extra state of this cell and of all within it, by their paths after a
        prefix: themselves, not copies."""
        given = dict(zip(("destination", "prefix", "keep_vars"), args))
        destination, prefix = given.get("destination", destination), given.get("prefix", prefix)
        keep_vars = given.get("keep_vars", keep_vars)
        found = OrderedDict() if destination is None else destination
        for hook in self._state_hooks("before"):
            hook(self, prefix, keep_vars)
        found.update((prefix + name, one) for name, one in self._stated())
        found.update((prefix + name, one) for name, one, kept in self._own_buffers() if kept)
        if self._has_extra("get_extra_state"):
            found[prefix + _EXTRA] = self.get_extra_state()
        for name, cell in self._cells.items():
            if cell is not None:
                cell.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_hooks("after"):
            hook(self, found, prefix, {})
        return found

    def load_state_dict(self, state_dict: dict, strict: bool = True) -> tuple[list[str], list[str]]:
        """Gives parameters, buffers and extra state the values of a dict of `state_dict`, and returns (missing_keys,
        unexpected_keys). Raises RuntimeError for other shapes and, if `strict`, for missing and unexpected names."""
        if not hasattr(state_dict, "items"):
            raise TypeError(f"[Cell.load_state_dict] not a dict, got {type(state_dict).__name__}, expected one")
        state, errors = OrderedDict(state_dict), []
        result = _IncompatibleKeys([], [])
        for path, cell in list(self.cells_and_names()):
            cell._take_state(state, f"{path}." if path else "", strict, result, errors)
        known = {name for name in self.state_dict()}
        known |= {f"{path}.{_EXTRA}" if path else _EXTRA for path, one in self.cells_and_names() if one._takes_extra()}
        result.unexpected_keys.extend(name for name in state if name not in known)
        for _, cell in list(self.cells_and_names()):
            for hook in cell._state_hooks("loaded"):
                hook(cell, result)
        if strict:
            errors += [
                f"{what} keys: {', '.join(names)}"
                for what, names in (("missing", result.missing_keys), ("unexpected", result.unexpected_keys))
                if names
            ]
        if errors:
            where = f"{type(self).__name__}.load_state_dict"
            raise RuntimeError(f"[{where}] the states do not fit, got {'; '.join(errors)}")
        return result

    def _stated(self):
        """(name, parameter) of what `state_dict` has of this cell alone."""
        return [(name, one) for name, one in self._params.items() if one is not None]

    def _takes_extra(self):
        return self._has_extra("set_extra_state")

    def _take_state(self, state, prefix, strict, result, errors):
        """Takes what a dict has of this cell alone."""
        for hook in self._state_hooks("loading"):
            hook(self, state, prefix, {}, strict, result.missing_keys, result.unexpected_keys, errors)
        own, stated = list(self._stated()), {name for name, _ in self._stated()}
        own += [(name, one) for name, one, kept in self._own_buffers() if kept]
        for name, one in own:
            if prefix + name not in state:
                result.missing_keys.append(prefix + name)
                continue
            value = state[prefix + name]
            value = value if isinstance(value, Tensor) else Tensor(value)
            if value.shape != one.shape:
                errors.append(f"shape {value.shape} of '{prefix + name}' for {one.shape}")
            elif name in stated:
                one.set_data(value)
            else:
                setattr(self, name, value.astype(one.dtype).copy())
        if self._takes_extra():
            if prefix + _EXTRA in state:
                self.set_extra_state(state[prefix + _EXTRA])
            else:
                result.missing_keys.append(prefix + _EXTRA)

    # Hooks of states.

    def _state_hooks(self, kind):
        return list(self.__dict__.get("_of_states", {}).get(kind, ()))

    def _register_state_hook(self, kind, hook):
        if not callable(hook):
            raise TypeError(f"[Cell] the hook is not a function, got {type(hook).__name__}, expected one")
        hooks = self.__dict__.setdefault("_of_states", {}).setdefault(kind, [])
        handle = HookHandle(self, hooks, hook)
        hooks.append(handle)
        return handle

    def register_state_dict_pre_hook(self, hook: Callable) -> HookHandle:
        """`hook(cell, prefix, keep_vars)` before each `state_dict`. Gives a handle, whose `remove` ends it."""
        return self._register_state_hook("before", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> HookHandle:
        """`hook(cell, state_dict, prefix, {})` after each `state_dict`, which it may change. Gives a handle, whose
        `remove` ends it."""
        return self._register_state_hook("after", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> HookHandle:
        """`hook(cell, state_dict, prefix, {}, strict, missing_keys, unexpected_keys, errors)` before the values of the
        cell are taken. Gives a handle, whose `remove` ends it."""
        return self._register_state_hook("loading", hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> HookHandle:
        """`hook(cell, (missing_keys, unexpected_keys))` after the values of all cells were taken; it may change the
        lists. Gives a handle, whose `remove` ends it."""
        return self._register_state_hook("loaded", hook)

    # Flags, and settings of other compilers.

    def add_flags_recursive(self, **flags) -> "Self":
        """Adds flags to this cell and to all within it, and returns it."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict:
        """The flags that were added."""
        return dict(self._flags)

    def to(self, *args, **kwargs) -> "Self":
        """(dtype), (device), (device, dtype) or (tensor): parameters and buffers of floats get the element type, and
        the cell is returned. The device is that of the context: it has no effect here."""
        dtype = kwargs.get("dtype")
        for one in args:
            if isinstance(one, Tensor):
                dtype = one.dtype
            elif isinstance(one, mstype.DType):
                dtype = one
        if dtype is None:
            return self
        if not mstype.is_float(dtype):
            raise TypeError(f"[Cell.to] not a type of floats, got {dtype}, expected one")
        for _, cell in self.cells_and_names():
            for one in cell._params.values():
                if one is not None and mstype.is_float(one.dtype):
                    one.set_dtype(dtype)
            for name, one, _ in cell._own_buffers():
                if mstype.is_float(one.dtype):
                    setattr(cell, name, one.astype(dtype))
        return self

    def set_jit_config(self, jit_config: object) -> None:
        """Kept, without effect: the library has no levels of compilation."""

    def set_boost(self, boost_type: str) -> "Self":
        """Kept, without effect: there are no algorithms that change numbers to save time. Returns the cell."""
        return self

    def set_data_parallel(self) -> None:
        """Kept, without effect: rows are divided unless strategies and annotations say more."""

    def set_broadcast_flag(self, mode: bool = True) -> "Self":
        """Kept, without effect: parameters are the same on all ranks. Returns the cell."""
        return self

    def update_cell_type(self, cell_type: str) -> None:
        """Keeps the kind of a cell."""
        self.cell_type = cell_type

    def update_cell_prefix(self) -> None:
        """Kept, without effect: prefixes follow from attributes."""

    def run_construct(self, cast_inputs: tuple, kwargs: dict):
        """Calls `construct` with inputs in a tuple, and others by their names."""
        return self.construct(*cast_inputs, **kwargs)

    def compile_and_run(self, *args, **kwargs):
        """Calls the cell, which is compiled when it is first called."""
        return self(*args, **kwargs)

    def cast_inputs(self, inputs: tuple, dst_type: DType) -> tuple:
        """The tensors of a tuple in another element type."""
        return tuple(one.astype(dst_type) for one in inputs)

    def get_scope(self) -> str | None:
        """The path of the cell in the one that it is called in, or None."""
        return self._scope_name or None

    def generate_scope(self) -> None:
        """Kept, without effect: scopes follow from attributes."""

    def check_names(self) -> None:
        """Raises ValueError if two parameters have one name."""
        names = set()
        for one in self.get_parameters():
            if one.name in names:
                raise ValueError(f"[Cell.check_names] two parameters have one name, got '{one.name}', expected others")
            names.add(one.name)
