"""Sharding annotations: strategies by counts, or by the named axes of a layout."""

from partita import _core


class Layout:
    """All ranks as named axes, slowest first; `layout("dp", "mp")` names the axis that cuts each dimension."""

    def __init__(self, device_matrix, alias_name, rank_list=None):
        if not isinstance(device_matrix, tuple) or not isinstance(alias_name, tuple):
            raise TypeError(
                f"[Layout] bad axes, got {type(device_matrix).__name__} and {type(alias_name).__name__}, "
                "expected tuples of sizes and of names"
            )
        if len(device_matrix) != len(alias_name):
            raise ValueError(
                f"[Layout] different numbers of sizes and names, got {len(device_matrix)} and {len(alias_name)}, "
                "expected as many"
            )
        for size in device_matrix:
            if not isinstance(size, int) or size < 1:
                raise ValueError(f"[Layout] bad size of an axis, got {size!r}, expected an integer from 1")
        if len(set(alias_name)) != len(alias_name):
            raise ValueError(f"[Layout] repeated name of an axis, got {alias_name}, expected each once")
        if "interleaved_parallel" in alias_name:
            raise NotImplementedError(
                "[Layout] a layout cannot interleave batches, got 'interleaved_parallel', expected "
                "MicroBatchInterleaved"
            )
        if rank_list is not None:
            ranks = 1
            for size in device_matrix:
                ranks *= size
            if sorted(rank_list) != list(range(ranks)):
                raise ValueError(f"[Layout] bad ranks, got {rank_list}, expected each of 0 to {ranks - 1} once")
        self.device_matrix, self.alias_name = device_matrix, alias_name
        self.rank_list = None if rank_list is None else list(rank_list)

    def __call__(self, *tensor_map):
        for dim in tensor_map:
            for name in dim if isinstance(dim, tuple) else (dim,):
                if name != "None" and name not in self.alias_name:
                    near = _core.nearest(str(name), list(self.alias_name))
                    raise ValueError(
                        f"[Layout] unknown axis, got {name!r}, expected one of {self.alias_name} or 'None'"
                        + (f", did you mean '{near}'?" if near else "")
                    )
        return TensorLayout(self, tensor_map)

    def head(self):
        """Returns the layout as annotations print it: "[NAME=SIZE,..]", with ",ranks=(..)" if ranks are listed."""
        axes = ",".join(f"{name}={size}" for name, size in zip(self.alias_name, self.device_matrix))
        ranks = "" if self.rank_list is None else ",ranks=(" + ",".join(map(str, self.rank_list)) + ")"
        return f"[{axes}{ranks}]"


class TensorLayout:
    """One tensor over the ranks of a layout."""

    def __init__(self, layout, tensor_map):
        self.layout, self.tensor_map = layout, tensor_map

    def text(self):
        return "(" + ",".join("+".join(dim) if isinstance(dim, tuple) else dim for dim in self.tensor_map) + ")"


def _counts(where, strategy):
    if not isinstance(strategy, tuple):
        raise TypeError(
            f"[{where}] a strategy is not a tuple, got {type(strategy).__name__}, expected a tuple of tuples"
        )
    if not all(isinstance(one, (tuple, list)) for one in strategy):
        raise TypeError(
            f"[{where}] not a strategy, got {strategy!r}, expected a tuple with one tuple of counts, "
            "or one Layout, per operand"
        )
    for one in strategy:
        for parts in one:
            if not isinstance(parts, int) or isinstance(parts, bool):
                raise TypeError(f"[{where}] a number of parts is not an integer, got {parts!r}, expected one from 1")
            if parts < 1:
                raise ValueError(f"[{where}] bad number of parts, got {parts}, expected an integer from 1")
    return (
        "("
        + ",".join("(" + ",".join(map(str, one)) + ("," if len(one) == 1 else "") + ")" for one in strategy)
        + ("," if len(strategy) == 1 else "")
        + ")"
    )


def annotation_text(where, in_strategy, out_strategy=None):
    """The annotation as the library reads it; "" for none. TypeError and ValueError for what is none."""
    if in_strategy is None:
        if out_strategy is not None:
            raise ValueError(f"[{where}] out_strategy without in_strategy, got {out_strategy!r}, expected both")
        return ""
    if isinstance(in_strategy, TensorLayout):
        in_strategy = (in_strategy,)
    outs = (out_strategy,) if isinstance(out_strategy, TensorLayout) else out_strategy
    if isinstance(in_strategy, tuple) and in_strategy and all(isinstance(one, TensorLayout) for one in in_strategy):
        text = in_strategy[0].layout.head() + "(" + ",".join(one.text() for one in in_strategy) + ")"
        return text if outs is None else text + "->(" + ",".join(one.text() for one in outs) + ")"
    text = _counts(where, in_strategy)
    return text if outs is None else text + "->" + _counts(where, outs)
