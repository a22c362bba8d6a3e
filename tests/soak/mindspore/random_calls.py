"""Random calls of documented functions, as texts that both systems evaluate."""

import random

import drawn_angles
import drawn_arrays
import drawn_elements
import drawn_functions
import drawn_further
import drawn_layers
import drawn_matrices
import drawn_mint
import drawn_more_elements
import drawn_names
import drawn_objects
import drawn_places
import drawn_recurrent
import drawn_windows
from composed_calls import ComposedCalls
from drawn_templates import TemplateCalls

_FLOATS = ["f4"] * 8 + ["f2", "f8"]
_ALL = ["f4"] * 12 + ["i4"] * 4 + ["i8"] * 2 + ["f2", "f8", "u1", "?"]
_NUMBERS = ["2", "3", "-1", "1", "0", "0.5", "2.0", "-1.5", "True"]


class _Draw:
    """Parts of calls, drawn; the same ones for the same seed."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def pick(self, *of):
        return self._random.choice(of)

    def chance(self, share):
        return self._random.random() < share

    def sizes(self, least=0, most=4):
        return [self._random.randint(1, 4) for _ in range(self._random.randint(least, most))]

    def tensor(self, sizes=None, dtype=None, kind="any"):
        """`t(number, type, kind of values, sizes)`: a tensor that the comparison makes."""
        sizes = self.sizes() if sizes is None else sizes
        dtype = dtype or self.pick(*_ALL)
        return f't({self._random.randint(0, 9)}, "{dtype}", "{kind}", {tuple(sizes)})'

    def call(self, name, required, optional=()):
        """A call with arguments by place and by name: (name, text) of those that have to be there, and of others, a
        text or a list of texts, None where the place cannot be given."""
        by_place, arguments = True, []
        for parameter, text in required:
            by_place = by_place and (parameter is None or self.chance(0.85))
            arguments.append(text if by_place else f"{parameter}={text}")
        for parameter, texts in optional:
            if self.chance(0.5):
                by_place = False
                continue
            by_place = by_place and self.chance(0.5)
            text = self.pick(*texts)
            arguments.append(text if by_place else f"{parameter}={text}")
        return f"{name}({', '.join(arguments)})"

    def number(self, least, most):
        return self._random.randint(least, most)

    def order(self, rank):
        return self._random.sample(range(rank), rank)

    def shuffle(self, texts):
        self._random.shuffle(texts)

    def axis(self, rank):
        return str(self._random.randint(-rank, rank - 1)) if rank else "0"

    def axes(self, rank):
        if rank < 2 or self.chance(0.7):
            return self.axis(rank)
        return str(tuple(sorted(self._random.sample(range(rank), 2))))

    def broadcast(self, sizes):
        """Sizes that broadcast with these."""
        if self.chance(0.5):
            return list(sizes)
        kept = sizes[self._random.randint(0, len(sizes)) :]
        return [1 if self.chance(0.3) else size for size in kept]


class _PointwiseCalls(_Draw):
    """Element by element, and reductions."""

    UNARY = {
        "any": "exp tanh sigmoid relu silu gelu erf softplus abs neg square floor isfinite leaky_relu isnan isinf",
        "positive": "log sqrt rsqrt",
    }
    OBJECTS = "Exp Tanh Sigmoid ReLU Abs Neg Square Erf GeLU IsFinite ZerosLike OnesLike Softplus"
    METHODS = "abs exp tanh sigmoid square neg erf floor isfinite float int bool half long"

    def unary(self):
        kind = self.pick("any", "any", "positive")
        dtype = self.pick(*_ALL)
        x = self.tensor(dtype=dtype, kind=kind)
        form = self._random.random()
        if kind == "any" and form < 0.2:
            return f"ops.{self.pick(*self.OBJECTS.split())}()({x})"
        if kind == "any" and form < 0.5:
            return f"{x}.{self.pick(*self.METHODS.split())}()"
        name = self.pick(*self.UNARY[kind].split())
        if name == "gelu" and self.chance(0.5):
            return f'ops.gelu({x}, {self.pick("", "approximate=")}"{self.pick("none", "tanh")}")'
        if name == "leaky_relu" and self.chance(0.5):
            return f"ops.leaky_relu({x}, {self.pick('', 'alpha=')}0.1)"
        return f"ops.{name}({x})"

    BINARY = (
        "add sub mul div maximum minimum equal not_equal less less_equal greater greater_equal pow eq ne gt ge lt le "
        "floor_div floor_mod"
    )
    BINARY_OBJECTS = "Add Sub Mul RealDiv Maximum Minimum Equal Less GreaterEqual LogicalAnd LogicalOr"

    def pair(self):
        sizes = self.sizes()
        a, b = self.tensor(sizes), self.tensor(self.broadcast(sizes))
        form = self._random.random()
        if form < 0.35:
            b = self.pick(*_NUMBERS)
        elif form < 0.5:
            a, b = self.pick(*_NUMBERS), a
        return a, b

    def binary(self):
        a, b = self.pair()
        if self.chance(0.25):
            return f"ops.{self.pick(*self.BINARY_OBJECTS.split())}()({a}, {b})"
        if self.chance(0.2) and a.startswith("t("):
            return f"{a}.{self.pick('add', 'sub', 'mul', 'div', 'maximum', 'minimum', 'equal', 'less', 'pow')}({b})"
        name = self.pick(*self.BINARY.split())
        other = "exponent" if name == "pow" else "other"
        return self.call(f"ops.{name}", [("input", a), (other, b)])

    def operator(self):
        a, b = self.pair()
        sign = self.pick("+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/")
        return f"{a} {sign} {b}"

    def reduction(self):
        sizes = self.sizes()
        x, rank = self.tensor(sizes), len(sizes)
        name = self.pick("sum", "mean", "max", "min", "all", "any", "var", "std", "argmax")
        axis = [self.axes(rank) if name not in ("max", "min", "argmax") else self.axis(rank)]
        form = self.pick("function", "function", "method", "object")
        if form == "object":
            name = self.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceAll", "ReduceAny")
            x = self.tensor(sizes, "?") if name in ("ReduceAll", "ReduceAny") else x
            return f"ops.{name}({self.pick('', 'True', 'keep_dims=True')})({x}{self.pick('', ', ' + axis[0])})"
        first = "x" if name == "mean" else "input"
        keeps = {"sum": "keepdim", "argmax": "keepdim", "mean": "keep_dims", "all": "keep_dims", "any": "keep_dims"}
        places = [("dim" if name in ("sum", "argmax") and form == "function" else "axis", axis)]
        if name in ("var", "std"):
            places.append(("ddof", ["0", "1"]))
        keep = keeps.get(name, "keepdims")
        if form == "method":
            keep = {"sum": "keepdims", "argmax": "keepdims"}.get(name, keep)
            places = places if name == "sum" else [*places, (keep, ["True", "False"])]
            return self.call(f"{x}.{name}", [], places)
        return self.call(f"ops.{name}", [(first, x)], [*places, (keep, ["True", "False"])])

    def along(self):
        sizes = self.sizes(1)
        x, rank = self.tensor(sizes, self.pick(*_FLOATS, "i4")), len(sizes)
        name = self.pick("softmax", "log_softmax", "cumsum", "topk", "top_k", "Softmax", "LogSoftmax", "CumSum", "TopK")
        count = str(self._random.randint(1, sizes[-1]))
        if name == "Softmax" or name == "LogSoftmax":
            return f"ops.{name}({self.pick('', self.axis(rank), 'axis=' + self.axis(rank))})({x})"
        if name == "CumSum":
            return f"ops.CumSum({self.pick('', 'True', 'reverse=True', 'False, True')})({x}, {self.axis(rank)})"
        if name == "TopK":
            return f"ops.TopK()({x}, {count})"
        if name == "cumsum":
            return self.call("ops.cumsum", [("x", x), ("axis", self.axis(rank))])
        if name in ("topk", "top_k"):
            names = ("input", "k") if name == "topk" else ("input_x", "k")
            return self.call(f"ops.{name}", [(names[0], x), (names[1], count)])
        return self.call(
            f"ops.{name}", [("input" if name == "softmax" else "logits", x)], [("axis", [self.axis(rank)])]
        )


class _ShapeCalls(_Draw):
    """Calls of ops that move, join, pick and make elements."""

    def moved(self):
        sizes = self.sizes(1)
        x, rank = self.tensor(sizes), len(sizes)
        order = tuple(self._random.sample(range(rank), rank))
        count = 1
        for size in sizes:
            count *= size
        shape = self.pick((-1,), (count,), (1, -1), (sizes[0], -1), (-1, sizes[-1]))
        both = self._random.randint(0, rank - 1), self._random.randint(0, rank - 1)
        one = [*sizes[: both[0]], 1, *sizes[both[0] :]]
        wide = [self._random.randint(1, 3), *sizes]
        first = min(both)
        return self.pick(
            f"ops.reshape({x}, {shape})",
            f"ops.Reshape()({x}, {shape})",
            f"{x}.reshape({self.pick(str(shape), str(shape)[1:-1].rstrip(','))})",
            f"{x}.view({str(shape)[1:-1].rstrip(',')})",
            f"ops.transpose({x}, {order})",
            f"ops.Transpose()({x}, {order})",
            f"{x}.transpose({self.pick(str(order), str(order)[1:-1].rstrip(','), '')})",
            f"{x}.T" if rank == 2 else f"{x}.ndim",
            f"{x}.swapaxes{both}",
            f"ops.swapaxes({x}, {both[0]}, {both[1]})",
            self.call("ops.expand_dims", [("input_x", x), ("axis", self.axis(rank + 1))]),
            f"ops.ExpandDims()({x}, {self.axis(rank)})",
            f"{x}.expand_dims({self.axis(rank)})",
            f"{x}.unsqueeze({self.axis(rank)})",
            f"ops.squeeze({self.tensor(one)}{self.pick('', f', {both[0]}', f', axis={both[0]}')})",
            f"{self.tensor(one)}.squeeze({self.pick('', both[0])})",
            f"ops.flatten({x}{self.pick('', ', start_dim=0', f', start_dim={first}, end_dim={max(both)}')})",
            f"{x}.flatten({self.pick('', f'start_dim={first}', f'start_dim={first}, end_dim={max(both)}')})",
            f"ops.Flatten()({x})",
            f"nn.Flatten({self.pick('', '0', f'start_dim={first}')})({x})",
            f"ops.broadcast_to({x}, {tuple(wide)})",
            f"{x}.broadcast_to({tuple(wide)})",
            f"ops.BroadcastTo({tuple(wide)})({x})",
            f"{x}.astype(ms.{self.pick('float32', 'int32', 'float16', 'bool_', 'int64')})",
            f"ops.cast({x}, ms.{self.pick('float32', 'int32', 'float64', 'bool_', 'uint8')})",
            f"{x}.{self.pick('shape', 'ndim', 'size', 'dtype', 'itemsize', 'nbytes')}",
            f"ops.{self.pick('shape', 'rank', 'size')}({x})",
            f"ops.{self.pick('zeros_like', 'ones_like')}({x})",
        )

    def joined(self):
        sizes, dtype = self.sizes(1), self.pick(*_ALL)
        rank, axis = len(sizes), self._random.randint(0, len(sizes) - 1)
        a, b = self.tensor(sizes, dtype), self.tensor(sizes, dtype)
        part = self._random.randint(1, sizes[axis])
        places = self.pick("", f", {axis}", f", axis={axis - rank}")
        return self.pick(
            f"ops.{self.pick('concat', 'cat', 'stack')}(({a}, {b}){places})",
            f"ops.{self.pick('Concat', 'Stack')}({axis})(({a}, {b}))",
            f"ops.split({a}, {part}, {axis})",
            f"{a}.split({part}, axis={axis})",
            f"ops.split({a}, [{part}, {sizes[axis] - part}], axis={axis})"
            if part < sizes[axis]
            else f"ops.chunk({a}, 2)",
            f"ops.chunk({a}, {self.pick(1, 2, 3)}, {axis})",
            f"ops.Split({axis}, {sizes[axis]})({a})",
            f"ops.AddN()(({a}, {b}))",
            f"ops.tile({a}, {tuple(self._random.randint(1, 2) for _ in sizes)})",
            f"ops.unstack({a}{places})",
            f"ops.full_like({a}, {self.pick('1', '0', '2')})",
            f"ops.repeat_interleave({a}, {self.pick(1, 2)}, {axis})",
        )

    def indexed(self):
        sizes = self.sizes(1)
        x, items = self.tensor(sizes), []
        for size in sizes[: self._random.randint(1, len(sizes))]:
            begin, end = sorted(self._random.choices(range(size + 1), k=2))
            at = self._random.randint(-size, size - 1)
            items.append(self.pick(str(at), str(at), f"{begin}:{end}", f"{begin}:", f":{end}", ":", "::2", "None, :"))
        if self.chance(0.2):
            items.append("...")
        if self.chance(0.25):
            ids = [self._random.randint(0, sizes[0] - 1) for _ in range(self._random.randint(1, 3))]
            items = [self.pick(f"t({ids})", str(ids))]
            if self.chance(0.4):
                axis = self._random.randint(0, len(sizes) - 1)
                ids = [self._random.randint(0, sizes[axis] - 1) for _ in range(2)]
                return self.call(
                    "ops.gather", [("input_params", x), ("input_indices", f"t({ids})"), ("axis", str(axis))]
                )
        return f"{x}[{', '.join(items)}]"

    def made(self):
        sizes = tuple(self.sizes(1, 3))
        dtype = "ms." + self.pick("float32", "int32", "float16", "int64", "bool_")
        numbers = [self.pick("0", "1", "2", "0.5", "-1"), self.pick("3", "4", "5.0"), self.pick("1", "2", "0.5")]
        kind = self.pick("", ", dtype=ms.float32", ", dtype=ms.int32")
        given = self.pick("1", "1.5", "True", "[1, 2]", "[1.5, 2]", "[[1, 2], [3, 4]]", "(1.0, 2.0)", "np.ones(3)")
        ids = [self._random.randint(0, 4) for _ in range(3)]
        values = self.pick("", ", 1, 0", ", 1.0, 0.0", ", 5, 2", ", on_value=2.0, off_value=-1.0")
        return self.pick(
            self.call(f"ops.{self.pick('zeros', 'ones')}", [(None, str(sizes))], [("dtype", [dtype])]),
            f"ops.full({sizes}, {self.pick('1', '2', '1.5', 'True')}{self.pick('', ', dtype=' + dtype)})",
            f"ops.fill({dtype}, {sizes}, {self.pick('1', '0', '2')})",
            f"ops.arange({', '.join(numbers[: self.pick(2, 2, 3)])}{kind})",
            f"ops.arange({self.pick('3', '4.0', '5')})",
            f"ops.one_hot(t({ids}), {self.pick(3, 5)}{values}{self.pick('', '')})",
            f"ops.OneHot()(t({ids}), 5, ms.Tensor(1.0), ms.Tensor(0.0))",
            f"ms.Tensor({given})",
            f"ms.Tensor({self.pick('[1, 2]', '[1.5, 0.5]', '3')}, {dtype})",
            f"ops.scalar_to_tensor({self.pick('1', '2.5')}{self.pick('', ', ' + dtype)})",
            f"ops.zeros_like({self.tensor()}{self.pick('', ', dtype=' + dtype)})",
        )

    def chosen(self):
        sizes = self.sizes()
        condition = self.tensor(sizes, "?")
        a, b = self.tensor(sizes), self.pick(self.tensor(sizes), *_NUMBERS)
        low, high = self.pick("-1.0", "0", "None"), self.pick("1.0", "1", "0.5")
        return self.pick(
            f"ops.select({condition}, {a}, {b})",
            f"ops.where({condition}, {a}, {b})",
            f"ops.where({condition}, {b}, {a})",
            f"ops.masked_fill({a}, {condition}, {self.pick('1.5', '0.0', '-1', '2')})",
            f"{a}.masked_fill({condition}, {self.pick('1.5', '0.0')})",
            f"ops.clip({a}, {low}, {high})",
            f"ops.clip_by_value({a}, {self.pick('', 'clip_value_min=')}{self.pick('-0.5', '0.0')})",
            f"ops.clamp({a}, {self.pick('min=-1', 'max=1', '0, 1', '-0.5')})",
            f"{a}.{self.pick('clip', 'clamp')}({low}, {high})",
            f"ops.{self.pick('logical_and', 'logical_or')}({condition}, {self.tensor(sizes, '?')})",
            f"ops.logical_not({condition})",
            f"~{condition}",
            f"{condition} {self.pick('&', '|')} {self.tensor(sizes, '?')}",
        )


class _LayerCalls(_Draw):
    """Products, windows, layers and losses."""

    def product(self):
        n, k, m, batch = (self._random.randint(1, 4) for _ in range(4))
        dtype = self.pick("f4", "f4", "f4", "f8")
        a, b = self.tensor([n, k], dtype), self.tensor([k, m], dtype)
        c, d = self.tensor([batch, n, k], dtype), self.tensor([batch, k, m], dtype)
        v = self.tensor([k], dtype)
        return self.pick(
            f"ops.matmul({a}, {b})",
            f"{a} @ {b}",
            f"{a}.matmul({b})",
            f"ops.matmul({c}, {d})",
            f"ops.matmul({c}, {b})",
            f"ops.matmul({a}, {v})",
            f"ops.matmul({v}, {b})",
            f"ops.matmul({v}, {v})",
            f"ops.MatMul()({a}, {b})",
            f"ops.MatMul(transpose_b=True)({a}, {self.tensor([m, k], dtype)})",
            f"ops.MatMul(True)({self.tensor([k, n], dtype)}, {b})",
            f"ops.BatchMatMul()({c}, {d})",
            f"ops.bmm({c}, {d})",
            f"ops.outer({v}, {v})",
            f"ops.dense({a}, {self.tensor([m, k], dtype)}{self.pick('', ', ' + self.tensor([m], dtype))})",
            f"ops.BiasAdd()({a}, {v})",
            f"ops.bias_add({a}, {v})",
        )

    def window(self):
        size = self._random.randint(4, 8)
        images = self.tensor(
            [self._random.randint(1, 2), self._random.randint(1, 3), size, size + self.pick(0, 1)], "f4"
        )
        k, step = self._random.randint(1, 3), self.pick("1", "2", "None")
        pad = self._random.randint(0, k // 2)
        mode = self.pick('"valid"', '"same"')
        padded = f'pad_mode="pad", padding={pad}'
        stride = "1" if step == "None" else step
        return self.pick(
            self.call("ops.max_pool2d", [("x", images), ("kernel_size", str(k))],
                      [("stride", [step]), ("padding", [str(pad)])]),
            self.call("ops.avg_pool2d", [("x", images), ("kernel_size", str(k))],
                      [("stride", [stride]), ("padding", [str(pad)]), ("ceil_mode", ["False", "False", "True"]),
                       ("count_include_pad", ["True", "False"]), ("divisor_override", ["0", "3"])]),
            f"nn.MaxPool2d({k}, {stride}, {mode})({images})",
            f"nn.AvgPool2d({k}, {stride}, {mode})({images})",
            f"nn.MaxPool2d({k}, {stride}, {padded})({images})",
            f"nn.AvgPool2d({k}, {stride}, {padded}{self.pick('', ', count_include_pad=False')})({images})",
            f"ops.{self.pick('MaxPool', 'AvgPool')}({k}, {stride}, {mode})({images})",
            f"nn.AdaptiveAvgPool2d({self.pick(1, 2, '(1, 2)')})({images})",
        )  # fmt: skip

    def layer(self):
        n, c = self._random.randint(1, 3), self._random.randint(1, 4)
        rows, images = self.tensor([n, c], "f4"), self.tensor([n, c, 5, 6], "f4")
        cube, ids = self.tensor([n, 3, c], "f4"), [self._random.randint(0, 4) for _ in range(3)]
        bias, relu = self.pick(", has_bias=False", ', bias_init="ones"'), self.pick("", ', activation="relu"')
        mode = self.pick("", ', pad_mode="valid"', ', pad_mode="pad", padding=1', ", stride=2", ", 2")
        activation = self.pick(
            "ReLU", "Sigmoid", "Tanh", "SiLU", "GELU", "LeakyReLU", "Softmax", "LogSoftmax", "Identity"
        )
        return self.pick(
            f'nn.Dense({c}, 3, weight_init="ones"{bias}{relu})({self.pick(rows, cube)})',
            f"nn.Dense({c}, 3).weight.shape",
            f'nn.Conv2d({c}, 2, 3{mode}, weight_init="ones")({images})',
            f"nn.{activation}()({self.pick(rows, images, cube)})",
            f"nn.GELU({self.pick('True', 'False', 'approximate=False')})({rows})",
            f"nn.LeakyReLU({self.pick('0.1', 'alpha=0.3')})({rows})",
            f"nn.LayerNorm(({c},){self.pick('', ', epsilon=1e-3', ', -1, -1')})({self.pick(rows, cube)})",
            f"nn.BatchNorm2d({c}{self.pick('', ', 1e-3', ', momentum=0.5')}){self.pick('', '.set_train()')}({images})",
            f"nn.BatchNorm1d({c})({rows})",
            f'nn.Embedding(5, {c}, embedding_table="ones")(t({ids}))',
            f"nn.Dropout({self.pick('', '0.9', 'p=0.3')})({rows})",
            f"nn.{self.pick('Dense(2, 3, has_bias=False)', 'Conv2d(2, 3, 1)')}.{self.pick('bias', 'has_bias')}",
            f"nn.SequentialCell(nn.ReLU(), nn.Flatten())({images})",
        )  # fmt: skip

    def loss(self):
        n, c = self._random.randint(1, 4), self._random.randint(2, 4)
        logits, other = self.tensor([n, c], "f4"), self.tensor([n, c], "f4", "unit")
        labels = f"t({[self._random.randint(0, c - 1) for _ in range(n)]})"
        reduction = self.pick("mean", "sum", "none")
        smooth = self.pick("", ", label_smoothing=0.1")
        ignored = self.pick("", ", ignore_index=0", ", ignore_index=1")
        weight = self.pick("", "", f", weight={self.tensor([c], 'f4', 'unit')}")
        target = self.pick(labels, labels, other)
        name = self.pick("MSELoss", "MAELoss", "L1Loss")
        quoted = self.pick("", f'"{reduction}"')
        positive = self.pick("", f", pos_weight={self.tensor([c], 'f4', 'unit')}")
        return self.pick(
            f'ops.cross_entropy({logits}, {target}, reduction="{reduction}"{ignored}{smooth}{weight})',
            f"ops.cross_entropy({logits}, {labels}, None, {self.pick(0, 1, -100)})",
            f'nn.CrossEntropyLoss(reduction="{reduction}"{ignored}{smooth}{weight})({logits}, {target})',
            f'nn.SoftmaxCrossEntropyWithLogits(True, "{reduction}")({logits}, {labels})',
            f'nn.SoftmaxCrossEntropyWithLogits(reduction="{reduction}")({logits}, {other})',
            f"ops.SoftmaxCrossEntropyWithLogits()({logits}, {other})",
            f"ops.SparseSoftmaxCrossEntropyWithLogits()({logits}, {labels})",
            f"nn.{name}({quoted})({logits}, {other})",
            f'ops.{self.pick("mse_loss", "l1_loss")}({logits}, {other}, {self.pick("", "reduction=")}"{reduction}")',
            f'nn.BCEWithLogitsLoss("{reduction}"{positive})({logits}, {other})',
        )

    def mint(self):
        """Functions and layers under the names of PyTorch."""
        sizes = self.sizes(1)
        x, rank, axis = self.tensor(sizes), len(sizes), self._random.randint(0, len(sizes) - 1)
        same, rows = self.tensor(sizes), self.tensor([2, 3], "f4")
        flags = self.tensor(sizes, "?")
        reduced = self.pick("sum", "mean", "max", "min", "all", "any")
        x_of = flags if reduced in ("all", "any") else x
        order = tuple(self._random.sample(range(rank), rank))
        text = self.pick(
            self.call(reduced, [("input", x_of)], [("dim", [str(axis)]), ("keepdim", ["True", "False"])])
            if self.chance(0.5)
            else f"{reduced}({x_of})",
            f"{self.pick('add', 'sub')}({x}, {same}{self.pick('', ', alpha=2')})",
            f"{self.pick('mul', 'div', 'maximum', 'minimum')}({x}, {same})",
            f"{self.pick('cat', 'stack', 'concat')}(({same}, {same}){self.pick('', f', dim={axis}', f', {axis}')})",
            f"split({x}, {self.pick('1', '2')}, {axis})",
            f"flatten({x}{self.pick('', f', {axis}')})",
            f"transpose({x}, 0, {axis})",
            f"permute({x}, {order})",
            f"{self.pick('squeeze', 'unsqueeze')}({x}, {axis})",
            f"select({x}, {axis}, 0)",
            f"where({flags}, {x}, {same})",
            f"clamp({x}, {self.pick('-1, 1', 'min=0', 'max=0.5')})",
            f"softmax({rows}, {self.pick('0', '-1', 'dim=1')})",
            f"matmul({rows}, {self.tensor([3, 2], 'f4')})",
            f"nn.functional.linear({rows}, {self.tensor([4, 3], 'f4')}{self.pick('', ', ' + self.tensor([4], 'f4'))})",
            f"nn.functional.{self.pick('relu', 'silu', 'softplus', 'sigmoid', 'tanh')}({rows})",
            f"nn.{self.pick('ReLU()', 'Softmax(0)', 'Identity()', 'Sigmoid()')}({rows})",
            f'nn.Linear(3, 2, weight_init="ones", bias_init="ones")({rows})',
        )
        return f"ms.mint.{text}"


class Calls(_PointwiseCalls, _ShapeCalls, _LayerCalls, ComposedCalls, TemplateCalls):
    """Draws calls; the same ones for the same seed. Two of three are of the templates, in which every name has its
    turn."""

    TYPES = _ALL

    def __init__(self, seed, only=None):
        """`only`: a regular expression, of the names, such as `numpy.take`, that templates are drawn of alone."""
        super().__init__(seed)
        modules = (
            drawn_angles,
            drawn_elements,
            drawn_more_elements,
            drawn_arrays,
            drawn_further,
            drawn_layers,
            drawn_mint,
            drawn_names,
            drawn_windows,
            drawn_places,
            drawn_matrices,
            drawn_functions,
            drawn_objects,
            drawn_recurrent,
        )
        self.use_table([row for module in modules for row in module.ROWS], only)
        self._kinds = [
            (self.unary, 5),
            (self.binary, 8),
            (self.operator, 8),
            (self.reduction, 10),
            (self.along, 5),
            (self.moved, 10),
            (self.joined, 4),
            (self.indexed, 5),
            (self.made, 5),
            (self.chosen, 4),
            (self.product, 4),
            (self.window, 6),
            (self.layer, 7),
            (self.mint, 8),
            (self.loss, 7),
            (self.gradient, 10),
            (self.composed, 15),
            (self.of_table, 230),
        ]
        if only:
            self._kinds = [(self.of_table, 1)]

    def draw(self):
        kinds, weights = zip(*self._kinds)
        return self._random.choices(kinds, weights)[0]()

    GRADIENTS = (
        "ops.max(a, 0)[0]", "ops.max(a)[0]", "a.max()", "a.max(axis=0)", "a.min(axis=-1)", "ops.min(a, -1)[0]",
        "ops.ReduceMax()(a, 0)", "ops.ReduceMin()(a)", "ops.maximum(a, 0.5)", "ops.minimum(0, a)", "ops.maximum(a, c)",
        "ops.minimum(a, c)", "ops.relu(a)", "ops.abs(a)", "ops.clip(a, -1.0, 1.0)", "ops.clamp(a, 0.5)", "a ** 2",
        "ops.exp(a) * c", "a / (2 + c * c)", "ops.tanh(a)", "ops.sigmoid(a) - c", "ops.std(a, 0)", "a.mean(0) * 3",
        "ops.cumsum(a, 0)", "ops.topk(a, 1)[0]", "ops.softmax(a, 0)", "ops.log_softmax(a)", "ops.where(a > c, a, c)",
        "ops.where(a > 0, a, 0.0)", "ops.masked_fill(a, c > 0, 0.0) * a", "a[0]", "a[..., -1] * 2", "a.flatten()",
        "a.reshape(-1)[:1]", "ops.concat((a, c), 0)", "ops.stack((a, c))[1]", "a.transpose() @ c", "ops.gelu(a)",
        "ops.silu(a)", "ops.softplus(a)", "ops.square(a - c)", "ops.sum(a, 0, True) * c", "ops.floor(a) * a",
        "nn.MSELoss()(a, c)", "nn.MAELoss()(a, c)", "nn.SoftmaxCrossEntropyWithLogits()(a, ops.softmax(c))",
        "nn.CrossEntropyLoss()(a, ops.softmax(c))", "nn.CrossEntropyLoss(label_smoothing=0.1)(a, ops.softmax(c))",
        "nn.BCEWithLogitsLoss()(a, ops.sigmoid(c))", "nn.LayerNorm((3,))(a) * c", "ops.erf(a)", "a.astype(ms.float64)",
        "ops.mean(a, -1)", "a.var(0)", "ops.expand_dims(a, 0) * c", "a.sum(0, True) - c", "-a * c", "a - c * 0.5",
    )  # fmt: skip

    def gradient(self):
        text = self.pick(*self.GRADIENTS, *self.COMPOSED_GRADIENTS)
        sizes, kind = [self._random.randint(1, 3), 3], self.pick("any", "coarse")  # coarse ones are often equal
        a, c = self.tensor(sizes, "f4", kind), self.tensor(sizes, "f4", kind)
        position = (
            self.pick("0", "(0, 1)") if "c" in text.replace("ops.concat", "c").replace("ops.softmax", "") else "0"
        )
        return f"ms.grad(lambda a, c: ({text}).sum(), {position})({a}, {c})"
