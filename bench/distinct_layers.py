#!/usr/bin/env python3
"""Prints a forward graph of layers that are all different, for planning: distinct_layers.py [LAYERS] > graph.txt.

Convolutions of drawn widths and kernels, some of them parallel branches that a concatenation joins."""
import random
import sys

ROWS, SIZE, CLASSES = 64, 14, 10


class Writer:
    def __init__(self):
        self.states, self.nodes = [], []

    def node(self, text, scope):
        self.nodes.append(f"{text} ; forward scope={scope}")

    def convolution(self, value, channels, width, kernel):
        number = len(self.nodes)
        self.states.append(f"state %w{number}: f32[{width},{channels},{kernel},{kernel}] parameter normal(0,0.1)")
        result = f"f32[{ROWS},{width},{SIZE},{SIZE}]"
        pads = kernel // 2
        attributes = f"{{stride=[1,1], dilation=[1,1], pads=[{pads},{pads},{pads},{pads}], groups=1}}"
        self.node(f"%c{number} = conv2d({value}, %w{number}) {attributes} : {result}", f"net/{number}")
        self.node(f"%r{number} = relu(%c{number}) : {result}", f"net/{number}")
        return f"%r{number}", width

    def concatenation(self, parts):
        number, channels = len(self.nodes), sum(width for _, width in parts)
        operands = ", ".join(value for value, _ in parts)
        result = f"f32[{ROWS},{channels},{SIZE},{SIZE}]"
        self.node(f"%j{number} = concat({operands}) {{axis=1}} : {result}", f"net/{number}")
        return f"%j{number}", channels


def main():
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    draw = random.Random(1)
    writer, value, channels, count = Writer(), "%image", 3, 0
    while count < layers:
        branches = draw.choice([1, 1, 2, 3])
        parts = [writer.convolution(value, channels, draw.randrange(16, 160), draw.choice([1, 3, 5]))
                 for _ in range(branches)]
        count += branches
        value, channels = parts[0] if branches == 1 else writer.concatenation(parts)
    features = channels * SIZE * SIZE
    head = f"state %head: f32[{CLASSES},{features}] parameter normal(0,0.1)"
    attributes = "{transpose_a=false, transpose_b=true}"
    mean = f"{{kind=sum, axes=[0], keep_dims=false, scale={1 / ROWS}}}"
    writer.node(f"%flat = reshape({value}) {{shape=[{ROWS},{features}]}} : f32[{ROWS},{features}]", "net")
    writer.node(f"%logits = matmul(%flat, %head) {attributes} : f32[{ROWS},{CLASSES}]", "net")
    writer.node(f"%losses, %sums = cross_entropy(%logits, %label) : f32[{ROWS}], f32[{ROWS},1]", "loss")
    writer.node(f"%mean = reduce(%losses) {mean} : f32[]", "loss")
    print("\n".join(["partita graph 1", "graph distinct", f"input %image: f32[{ROWS},3,{SIZE},{SIZE}] batch=0",
                     f"input %label: i32[{ROWS}] batch=0", *writer.states, head, *writer.nodes,
                     "output loss = %mean", "output logits = %logits"]))


if __name__ == "__main__":
    main()
