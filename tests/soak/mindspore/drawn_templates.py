"""Random calls made of templates: texts with places for tensors, axes and numbers.

`{x}` is a tensor of any element type, `{a}` one of the type that all `{a}` of a call have, `{f}` one of the call's type
of floating-point numbers. `{g}` has float32, `{c}` float32 and coarse numbers, of which some are equal, `{p}` positive
numbers, `{u}` numbers between 0 and 1, `{i}` integers, `{b}` bools. They have the call's shape, or the sizes after a
colon: `{g:n,3,k}`, where letters are sizes of the call, and `~` is a shape that broadcasts with the call's. Of the
call's shape are `{axis}`, `{axis2}` (another one), `{axes}`, `{last}`, `{order}`, `{shape}`, `{size}` (that of the
axis) and `{upto}` (a number from 1 to it). `{ids:n,2<k}` is a tensor of integers below a size, `{1..4}` a number,
`{a|b|c}` one of several texts. `[?..]` is there in half of the calls. `@2` and `@2-3` at the beginning give the number
of dimensions of the call's shape, which else is at most 4, and at least 1 where an axis is used. No gradients are drawn
of a template that begins with `! `, whose results are no floating-point numbers, or have none."""

import re

_OPTIONAL = re.compile(r"\[\?([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]")
_TOKEN = re.compile(r"\{([^{}]+)\}")
_RANKS = re.compile(r"@(\d)(?:-(\d))? ")
_FLOATS = ["f4"] * 8 + ["f2", "f8"]
_KINDS = {"p": "positive", "u": "unit", "c": "coarse"}
_OF_AXES = ("axis", "axes", "size", "upto", "last", "order")
FLOAT_TENSOR = re.compile(r't\(\d, "f4", "\w+", \([^()]*\)\)')


class Template:
    """One drawing of a template: what stays the same within a call."""

    def __init__(self, draw, text, types):
        self._draw = draw
        ranks = _RANKS.match(text)
        uses_axes = any("{" + name in text for name in _OF_AXES)
        least = int(ranks[1]) if ranks else int(uses_axes)
        most = int(ranks[2] or ranks[1]) if ranks else 4
        self._text = text[ranks.end() :] if ranks else text
        self._sizes = [draw.number(1, 4) for _ in range(draw.number(least, most))]
        self._axis = draw.number(0, max(len(self._sizes) - 1, 0))
        self._letters = {letter: draw.number(1, 4) for letter in "nmkhwdqr"}
        self._types = {"a": draw.pick(*types), "g": "f4", "c": "f4", "b": "?"}
        self._types.update(dict.fromkeys("fpu", draw.pick(*_FLOATS)))

    def text(self):
        text = self._text
        while _OPTIONAL.search(text):
            text = _OPTIONAL.sub(lambda found: found[1] if self._draw.chance(0.5) else "", text, count=1)
        while _TOKEN.search(text):
            text = _TOKEN.sub(lambda found: self._of(found[1]), text)
        return text

    def _of(self, token):
        if "|" in token:
            return self._draw.pick(*token.split("|"))
        span = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", token)
        if span:
            return str(self._draw.number(int(span[1]), int(span[2])))
        if token in self._letters:
            return str(self._letters[token])
        if token.startswith("ids:"):
            return self._ids(*token[4:].split("<"))
        kind, _, sizes = token.partition(":")
        if len(kind) == 1:
            return self._tensor(kind, sizes)
        made = getattr(self, f"_{token}_text", None)
        return made() if made else token

    def _numbers(self, sizes):
        return [self._letters[one] if one in self._letters else int(one) for one in sizes.split(",") if one]

    def _tensor(self, kind, sizes):
        drawn = self._sizes if not sizes else self._draw.broadcast(self._sizes) if sizes == "~" else None
        drawn = self._numbers(sizes.strip(".")) if drawn is None else drawn
        dtype = self._draw.pick("i4", "i8") if kind == "i" else self._types.get(kind)
        return self._draw.tensor(drawn, dtype, _KINDS.get(kind, "any"))

    def _ids(self, sizes, below):
        limit = self._letters.get(below) or (self._sizes[self._axis] if below == "size" else int(below))

        def nested(left):
            return [nested(left[1:]) for _ in range(left[0])] if left else self._draw.number(0, limit - 1)

        return f"t({nested(self._sizes if sizes == '*' else self._numbers(sizes))})"

    def _axis_text(self):
        return str(self._axis - (len(self._sizes) if self._draw.chance(0.4) else 0))

    def _axis2_text(self):
        return str((self._axis + 1) % len(self._sizes))

    def _axes_text(self):
        return self._draw.axes(len(self._sizes))

    def _last_text(self):
        return str(len(self._sizes) - 1)

    def _order_text(self):
        return str(tuple(self._draw.order(len(self._sizes))))

    def _shape_text(self):
        return str(tuple(self._sizes))

    def _size_text(self):
        return str(self._sizes[self._axis])

    def _upto_text(self):
        return str(self._draw.number(1, self._sizes[self._axis]))


def _joined(first, rest):
    rest = rest.strip().removeprefix(",").strip()
    return f"{first}, {rest}" if first and rest else first + rest


def call_of(space, name, text):
    """The call of a name of one of the spaces by the text of a drawn template, `first; others`."""
    if space == "text":
        return text
    first, _, rest = (part.strip().removeprefix(",").strip() for part in text.partition(";"))
    if space == "Tensor":
        return f"{first}.{name}({_joined('', rest)})"
    if space in ("op", "nn", "mint.nn"):
        module = {"op": "ops", "nn": "nn", "mint.nn": "ms.mint.nn"}[space]
        made = f"{module}.{name}({first})"
        return f"{made}({rest})" if space == "op" else f"given({made})({rest})"
    module = {"ops": "ops", "mint": "ms.mint", "numpy": "ms.numpy", "functional": "ms.mint.nn.functional"}[space]
    return f"{module}.{name}({_joined(first, rest)})"


def gradient_of(call):
    """The same call as one of its gradients by all its tensors of float32, and by the parameters of a layer; None
    without either."""
    found = [one[0] for one in FLOAT_TENSOR.finditer(call)]
    head = re.match(r"given\((.*?\))\)\((?=t\()", call)
    if not (found or head) or "Parameter(" in call:  # a parameter is no function of what is differentiated
        return None
    if head and call.endswith(")") and all(one in call[head.end() :] for one in found):
        return f"gradient({head[0][:-1]}, {call[head.end():-1]})"
    names = iter(range(len(found)))
    body = FLOAT_TENSOR.sub(lambda one: f"v{next(names)}", call)
    return f"gradient(lambda {', '.join(f'v{i}' for i in range(len(found)))}: {body}, {', '.join(found)})"


class TemplateCalls:
    """Draws calls of the names of a table, each as often as the others. Mixed into the class that draws tensors."""

    def use_table(self, rows, only=None):
        """`rows`: (spaces, names, templates). `only`: a regular expression for the names that are drawn."""
        self._templates = {}
        for spaces, names, templates in rows:
            for space in spaces.split():
                for name in names.split():
                    if only is None or re.search(only, f"{space}.{name}"):
                        self._templates.setdefault((space, name), []).extend(templates)
        self._waiting = []

    def covered(self):
        """The names, as `(space, name)`."""
        return sorted(self._templates)

    def of_table(self):
        if not self._waiting:
            self._waiting = sorted(self._templates)
            self.shuffle(self._waiting)
        space, name = self._waiting.pop()
        return self._of_template(space, name, self.pick(*self._templates[space, name]), self.chance(0.4))

    def each(self, number):
        """`number` calls of each name, of its templates in turn; gradients and calls by turns where there are both."""
        for space, name in sorted(self._templates):
            templates = self._templates[space, name]
            for i in range(number):
                yield self._of_template(space, name, templates[i % len(templates)], i % 2)

    def _of_template(self, space, name, template, wants_gradient):
        plain = template.removeprefix("! ")
        call = call_of(space, name, Template(self, plain, self.TYPES).text())
        wanted = gradient_of(call) if wants_gradient and plain == template else None
        return wanted or call
