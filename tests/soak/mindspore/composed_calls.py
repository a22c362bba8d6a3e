"""Random calls of functions that are made of others."""

_ALONE = (
    "relu6 hardswish hardsigmoid hardtanh elu selu celu mish logsigmoid softsign tanhshrink fast_gelu sign round"
    " trunc ceil expm1 sin cos"
).split()
_POSITIVE = "reciprocal log1p tan".split()
_OF_LAYERS = "ReLU6 HSwish HSigmoid ELU SeLU CELU Mish LogSigmoid Softsign Tanhshrink Hardtanh FastGelu".split()


class ComposedCalls:
    """Draws calls; it is mixed into the class that draws tensors."""

    def composed(self):
        return self.pick(self._of_elements, self._of_elements, self._of_dimensions, self._of_order, self._of_places)()

    def _of_elements(self):
        form = self._random.random()
        if form < 0.2:
            return f"nn.{self.pick(*_OF_LAYERS)}()({self.tensor(dtype='f4')})"
        if form < 0.4:
            return f"ops.{self.pick(*_POSITIVE)}({self.tensor(dtype=self.pick('f4', 'f8'), kind='positive')})"
        if form < 0.5:
            sizes = self.sizes()
            a, b, c = (self.tensor(sizes, "f4") for _ in range(3))
            return self.pick(
                f"ops.lerp({a}, {b}, 0.3)",
                f"ops.addcmul({a}, {b}, {c}, 0.5)",
                f"ops.isclose({a}, {a})",
                f"ops.logical_xor({self.tensor(sizes, '?')}, {self.tensor(sizes, '?')})",
            )
        return f"ops.{self.pick(*_ALONE)}({self.tensor(dtype=self.pick('f4', 'f4', 'f4', 'f8'))})"

    def _of_dimensions(self):
        sizes = self.sizes(1)
        x, rank = self.tensor(sizes, "f4"), len(sizes)
        axis, keeps = self.axis(rank), self.pick("", ", True", ", False")
        return self.pick(
            f"ops.prod({x}, {axis}{keeps})",
            f"ops.prod({x})",
            f"ops.cumprod({x}, {axis})",
            f"ops.logsumexp({x}, {axis}{keeps})",
            f"ops.norm({x}, {self.pick('2', '1', '3', 'None')}, {axis}{keeps})",
            f"ops.norm({x})",
            f"ops.std_mean({x}, {axis})",
            f"ops.count_nonzero({x}, {axis})",
            f"ops.cosine_similarity({x}, {self.tensor(sizes, 'f4')}, {axis})",
            f"ops.argmin({x}, {axis}{keeps})",
            f"ops.clip_by_norm({x}, {self.pick('0.5', '2.0', '100.0')})",
            f"ops.clip_by_global_norm(({x}, {x}), {self.pick('0.5', '2.0', '100.0')})",
            f"ops.softmin({x}, {axis})",
        )

    def _of_order(self):
        sizes = self.sizes(2)
        x, rank = self.tensor(sizes), len(sizes)
        k, axis = self._random.randint(-3, 3), self._random.randint(0, rank - 1)
        other = (axis + 1) % rank
        floats = self.tensor(sizes, "f4")
        images = self.tensor([2, 2, self._random.randint(3, 5), self._random.randint(3, 5)], "f4")
        around = tuple(self._random.randint(0, 2) for _ in range(4))
        return self.pick(
            f"ops.tril({x}, {k})",
            f"ops.triu({x}, diagonal={k})",
            f"ops.flip({x}, ({axis},))",
            f"ops.moveaxis({x}, {axis}, {other})",
            f"ops.swapdims({x}, {axis}, {other})",
            f"ops.unbind({x}, {axis})",
            f"ops.tensor_split({x}, {self.pick(1, 2, 3)}, {axis})",
            f"ops.narrow({x}, {axis}, 0, {self._random.randint(1, sizes[axis])})",
            f"ops.sort({floats}, {axis}, {self.pick('True', 'False')})[0]",
            f"ops.diagonal({x}, 0, {axis}, {other})",
            f"ops.pad({floats}, ({self._random.randint(0, 2)}, {self._random.randint(0, 2)}))",
            f"ops.pad({floats}, ({self._random.randint(0, 2)}, 1, 1, 0), value=0.5)",
            f"ops.pad({images}, {around},"
            f" {self.pick(chr(34) + 'reflect' + chr(34), chr(34) + 'replicate' + chr(34))})",
            f"ops.interpolate({images}, size=({self._random.randint(1, 8)}, {self._random.randint(1, 8)}))",
            f"ops.interpolate({images}, size=({self._random.randint(2, 8)}, {self._random.randint(2, 8)}), "
            f'mode="bilinear", align_corners={self.pick("True", "False")})',
            f"ops.repeat_elements({x}, 2, {axis})",
            f"ops.meshgrid({self.tensor([3], 'f4')},"
            f" {self.tensor([2], 'f4')}{self.pick('', ', indexing=' + chr(34) + 'ij' + chr(34))})",
            f"ops.linspace({self.pick('0', '-1', '0.5')}, {self.pick('2', '3.5')}, {self.pick(2, 3, 5)})",
            f"ops.eye({self.pick(1, 2, 3)}, {self.pick(1, 2, 4)})",
        )

    def _of_places(self):
        rows, columns = self._random.randint(1, 4), self._random.randint(1, 4)
        x, axis = self.tensor([rows, columns], "f4"), self.pick(0, 1)
        size = (rows, columns)[axis]
        ids = [[self._random.randint(0, size - 1) for _ in range(columns)] for _ in range(rows)]
        pairs = [[self._random.randint(0, rows - 1), self._random.randint(0, columns - 1)] for _ in range(3)]
        new, step, ones = self.tensor([rows, columns], "f4"), self.pick(1, 2), "weight_init='ones'"
        mode = self.pick("pad_mode='same'", "pad_mode='valid'")
        return self.pick(
            f"ops.gather_elements({x}, {axis}, t({ids}))",
            f"ops.gather_nd({x}, t({pairs}))",
            f"ops.index_select({x}, {axis}, t({[one[axis] for one in pairs]}))",
            f"ops.masked_select({x}, {self.tensor([rows, columns], '?')})",
            f"ops.nonzero({self.tensor([rows, columns], '?')})",
            f'ops.tensor_scatter_elements({x}, t({ids}), {new}, {axis}, "add")',
            f"ops.addmm({self.tensor([rows, 2], 'f4')}, {x}, {self.tensor([columns, 2], 'f4')})",
            f"nn.GroupNorm(2, 4)({self.tensor([2, 4, rows, columns], 'f4')})",
            f"nn.Conv1d(2, 3, {self.pick(1, 2, 3)}, {step}, {ones})({self.tensor([2, 2, 5], 'f4')})",
            f"nn.Conv2dTranspose(2, 3, {self.pick(2, 3)}, {step}, {mode}, {ones})({self.tensor([1, 2, 4, 5], 'f4')})",
        )

    COMPOSED_GRADIENTS = (
        "ops.tril(a) * c", "ops.triu(a, 1) * a", "ops.sin(a) * c", "ops.cos(a * c)",
        "ops.pad(a, (1, 2), value=1.0) ** 2", "ops.relu6(a * 4)", "ops.hardswish(a)", "ops.hardsigmoid(a) * c",
        "ops.elu(a)", "ops.mish(a) * c",
        "ops.logsigmoid(a)", "ops.softsign(a)", "ops.tanhshrink(a)", "ops.prod(a, 0)", "ops.cumprod(a, 1)",
        "ops.logsumexp(a, 1) * 2", "ops.norm(a + 4, 2, 1)", "ops.cosine_similarity(a, c)", "ops.flip(a, (1,)) * c",
        "ops.sort(a, 1)[0] * c", "ops.diagonal(a) * 2", "ops.expm1(a)", "ops.lerp(a, c, 0.3)",
        "ops.unbind(a, 1)[0] ** 2", "ops.gather_elements(a, 1, t([[0, 2]])) ** 2",
        "ops.gather_nd(a, t([[0, 1], [0, 1]])) ** 2",
        "ops.moveaxis(a, 0, 1) @ c", "ops.addmm(a.T @ c, a.T, c)", "ops.clip_by_norm(a, 0.5) * c", "ops.fast_gelu(a)",
        "ops.reciprocal(a + 5)", "ops.tensor_split(a, 2, 1)[1]", "ops.index_select(a, 1, t([2, 0])) ** 2",
    )  # fmt: skip
