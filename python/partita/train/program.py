"""The program that a training would run, and its costs: objects that print as their texts."""

import contextlib
import html


class _Printed:
    """A text that notebooks show as one."""

    def __init__(self, text):
        self._text = text

    def __str__(self):
        return self._text

    __repr__ = __str__

    def _repr_html_(self):
        return f"<pre>{html.escape(self._text)}</pre>"


class Graph(_Printed):
    """The nodes of a step: forward, backward, updates."""

    def __init__(self, program):
        super().__init__(program.graph)
        self._program = program

    def __len__(self):
        return len(self._program.nodes)

    def to_networkx(self):
        """A DiGraph of the nodes, by their names, with op and type of what they make; needs networkx."""
        try:
            import networkx
        except ImportError:
            raise ImportError("[Graph.to_networkx] networkx is not installed, expected pip install networkx") from None
        made = networkx.DiGraph()
        values, makers = self._program.values, {}
        for op, name, inputs, outputs in self._program.nodes:
            made.add_node(name, op=op, types=[values[one][1] for one in outputs])
            makers.update((one, name) for one in outputs)
        for _, name, inputs, _ in self._program.nodes:
            for one in inputs:
                if one not in makers:
                    makers[one] = values[one][0]
                    made.add_node(makers[one], op="given", types=[values[one][1]])
                made.add_edge(makers[one], name)
        return made


class Plan(_Printed):
    """How the nodes of each stage are cut, or a configuration on a cluster with what it costs."""

    def __init__(self, text, found=None, settings=contextlib.nullcontext):
        super().__init__(text)
        self._found, self._settings = found, settings

    def _costs(self):
        if self._found is None:
            raise AttributeError(
                "[Plan] the plan of a program has no costs, got a question for them, expected plan(.., cluster)"
            )
        return self._found

    def _ask(self, method, *arguments):
        """Calls a method of the costs, under the settings with which the network is built."""
        found = self._costs()
        with self._settings():
            return getattr(found, method)(*arguments)

    @property
    def configuration(self):
        """"data=4,tensor=2,..", as pins write it."""
        return self._costs().configuration

    @property
    def seconds(self):
        """Seconds of a step, predicted."""
        return self._costs().seconds

    @property
    def memory(self):
        """Bytes of a device that a step takes; on processors those of the compiled program."""
        return self._costs().peak_memory

    @property
    def fits(self):
        """Whether that is at most what a device has. If nothing fits, the plan is the one that takes the least."""
        return self._costs().fits

    @property
    def shortage(self):
        """Missing memory and the group of ranks that lacks it, as a text; "" if the plan fits."""
        return "" if self.fits else self._costs().excess()

    @property
    def remedies(self):
        """Texts of single changes after which something fits, the smallest first; none if the plan fits."""
        return [] if self.fits else self._ask("remedies")

    @property
    def others(self):
        """The runner-up, if it was asked for, and the best plan of each known way to share a training, as a text."""
        return _Printed(self._ask("others"))

    @property
    def json(self):
        """The JSON of `partita plan --json`."""
        return self._costs().json

    def save(self, path):
        """Writes the plan as a text: `partita train --plan` runs it, `explain` and `diff` read it."""
        text = self._ask("file")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _repr_html_(self):
        if self._found is None:
            return super()._repr_html_()
        page = html.escape(self._ask("page"), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0"></iframe>'


class Explanation(_Printed):
    """Why a plan costs what it does, layer by layer; or what a rank computes and sends."""


class Program(_Printed):
    """The program that the ranks of a training run."""

    def __init__(self, core):
        super().__init__(core.description)
        self._core = core

    @property
    def graph(self):
        return Graph(self._core)

    @property
    def plan(self):
        return Plan(self._core.plan)

    @property
    def stages(self):
        return self._core.stages

    @property
    def layouts(self):
        """How each state is cut, as dicts."""
        return self._core.layouts

    @property
    def cuts(self):
        """How the nodes are cut, as strategy files have it; None with several stages."""
        return self._core.cuts

    def rank(self, rank):
        """The computation and the messages of one rank."""
        return Explanation(self._core.rank(rank))
