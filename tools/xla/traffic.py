#!/usr/bin/env python3
"""Prints a roofline of compiled programs: how long each kernel takes at least, by its bytes and its operations.

    partita compile gpt --target h100 --precision bf16 --out FOLDER
    tools/xla/traffic.py FOLDER/program_*.hlo.pb
    tools/xla/traffic.py --kernels 20 FOLDER/program_0.hlo.pb      # its 20 slowest kernels, kernels alike in one line

FILE is an optimised module of XLA for a GPU, an HloModuleProto in bytes. A kernel takes the larger of its bytes over the
bandwidth and its operations over the peak of their type, plus --launch. This is a bound, not a forecast: kernels reach
less than the peak, and what a cache saves is not counted.

Bytes are those of operands and results of each fusion, library call and plain instruction, without scratch memory. A
fusion that reads an operand only by slices or gathers reads what these give, and a scatter reads and writes the rows that
it changes.
Operations are those of products, convolutions and cuDNN's attention, half of them where it is causal. Other arithmetic
is free. A loop counts as one pass through its body.
"""

import argparse
import collections
import json
import math
import struct
import sys

# PrimitiveType of xla_data.proto, with bytes of an element.
TYPES = {1: ("pred", 1), 2: ("s8", 1), 3: ("s16", 2), 4: ("s32", 4), 5: ("s64", 8), 6: ("u8", 1), 7: ("u16", 2),
         8: ("u32", 4), 9: ("u64", 8), 10: ("f16", 2), 11: ("f32", 4), 12: ("f64", 8), 15: ("c64", 8), 16: ("bf16", 2),
         18: ("c128", 16)}
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier", "partition-id",
        "replica-id"}
READS = {"slice", "dynamic-slice", "gather"}


def varint(data, at):
    """Returns a number of variable length, and where the next field begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Returns the fields of a message by number, each a list of numbers or bytes."""
    result, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = struct.unpack("<Q" if kind == 1 else "<I", data[at:at + size])[0], at + size
        else:
            sys.exit(f"[traffic] not an HloModuleProto, got a field of type {kind}, expected a .hlo.pb of partita compile")
        if at > len(data):
            sys.exit("[traffic] a message that ends early, expected a whole .hlo.pb of partita compile")
        result[key >> 3].append(value)
    return result


def numbers(values):
    """Returns the numbers of a repeated field, packed or not."""
    result = []
    for value in values:
        at = 0
        while isinstance(value, bytes) and at < len(value):
            number, at = varint(value, at)
            result.append(number)
        if isinstance(value, int):
            result.append(value)
    return result


class Shape:
    def __init__(self, data):
        shape = fields(data)
        self.type, self.width = TYPES.get(shape[2][0] if shape[2] else 0, ("", 0))
        self.sizes = numbers(shape[3])
        self.parts = [Shape(part) for part in shape[4]]

    def count(self):
        return math.prod(self.sizes)

    def bytes(self):
        return sum(part.bytes() for part in self.parts) if self.parts else self.width * self.count()

    def __str__(self):
        if self.parts:
            return "(" + ", ".join(map(str, self.parts)) + ")"
        return f"{self.type}[{','.join(map(str, self.sizes))}]"


class Instruction:
    def __init__(self, data):
        proto = fields(data)
        self.proto = proto
        self.name, self.opcode = proto[1][0].decode(), proto[2][0].decode()
        self.shape = Shape(proto[3][0])
        self.id = proto[35][0] if proto[35] else 0
        self.operands, self.called = numbers(proto[36]), numbers(proto[38])
        self.target = proto[28][0].decode() if proto[28] else ""

    def config(self):
        """Returns the backend's configuration, an empty one if it is not JSON."""
        try:
            return json.loads(self.proto[43][0])
        except (IndexError, ValueError):
            return {}


class Computation:
    def __init__(self, data):
        proto = fields(data)
        self.id, self.root = proto[5][0], proto[6][0]
        self.all = [Instruction(item) for item in proto[2]]
        self.by_id = {item.id: item for item in self.all}

    def operands(self, item):
        return [self.by_id[number] for number in item.operands]


def product_work(left, result, contracted):
    return 2 * result.count() * math.prod(left.sizes[axis] for axis in contracted)


def is_exact(item):
    """Whether a product of f32 asks for all bits, so it cannot be one of TF32."""
    return any(value for config in item.proto[51] for value in numbers(fields(config)[1]))


def convolution_work(filters, result, item):
    """Operations of a convolution: for each result, those of a filter's elements of one output feature."""
    dimensions = fields(item.proto[16][0])
    features = numbers(dimensions[4])
    return 2 * result.count() * filters.count() // filters.sizes[features[0] if features else 0]


def attention_work(item, operands):
    """Operations of cuDNN's attention, from the queries [batch, s, heads, width] and the keys: 2 products, or 5."""
    q, k = operands[0].shape.sizes, operands[1].shape.sizes
    config = item.config().get("cudnn_fmha_backend_config", {})
    causal = "CAUSAL" in config.get("mask_type", "")
    products = 5 if "Backward" in item.target else 2
    return products * 2 * math.prod(q) * k[1] // (2 if causal else 1)


def work_of(computation, item, module):
    """Returns the operations of an instruction, and of what it calls, by their type."""
    work = collections.Counter()
    operands = computation.operands(item)
    shape = item.shape.parts[0] if item.shape.parts else item.shape
    if item.opcode == "dot":
        contracted = numbers(fields(item.proto[30][0])[1])
        kind = operands[0].shape.type
        work["f32" if kind == "f32" and is_exact(item) else "tf32" if kind == "f32" else kind] += product_work(
            operands[0].shape, shape, contracted)
    elif item.target.startswith("__cublas"):
        gemm = item.config().get("gemm_backend_config", {})
        contracted = [int(axis) for axis in gemm["dot_dimension_numbers"].get("lhs_contracting_dimensions", [])]
        exact = any(value != "DEFAULT" for value in gemm.get("precision_config", {}).get("operand_precision", []))
        kind = operands[0].shape.type
        work["tf32" if kind == "f32" and not exact else kind] += product_work(operands[0].shape, shape, contracted)
    elif item.target.startswith("__cudnn$fmha"):
        work[operands[0].shape.type] += attention_work(item, operands)
    elif item.opcode == "convolution" or item.target.startswith("__cudnn$conv"):
        # The filter's gradient and the input's have their results where the filter and the input were.
        filters, result = operands[1].shape, shape
        if item.target.endswith("BackwardFilter"):
            filters, result = shape, operands[1].shape
        elif item.target.endswith("BackwardInput"):
            result = operands[0].shape
        kind = operands[0].shape.type
        work["tf32" if kind == "f32" and not is_exact(item) else kind] += convolution_work(filters, result, item)
    for called in item.called if item.opcode in ("fusion", "call", "while", "conditional") else []:
        for inner in module[called].all:
            work += work_of(module[called], inner, module)
    return work


def read_bytes(body, operand, parameter):
    """Bytes that a fusion reads of one operand: all of it, unless only slices, gathers or a scatter read it."""
    elements, names, seen = 0, [parameter.id], {parameter.id}
    while names:
        name = names.pop()
        for user in body.all:
            if name not in user.operands:
                continue
            is_first = user.operands[0] == name
            if user.opcode in ("bitcast", "convert"):
                names += {user.id} - seen
                seen.add(user.id)
            elif user.opcode in READS and is_first:
                elements += user.shape.count()
            elif user.opcode == "scatter" and is_first:
                elements += body.by_id[user.operands[-1]].shape.count()
            elif user.opcode != "dynamic-update-slice" or not is_first:
                return operand.bytes()
    return min(elements * operand.width, operand.bytes())


def written_bytes(body, item):
    """Bytes that a fusion writes: those of its results, or the changed part of one that is updated in place."""
    root = body.by_id[body.root]
    for _ in body.all:
        if root.opcode == "bitcast":
            root = body.by_id[root.operands[0]]
    if root.opcode == "scatter":
        return body.by_id[root.operands[-1]].shape.bytes()
    if root.opcode == "dynamic-update-slice":
        return body.by_id[root.operands[1]].shape.bytes()
    return item.shape.bytes()


def bytes_of(computation, item, module):
    operands = computation.operands(item)
    if item.opcode != "fusion":
        # The last result of a library call is its scratch memory.
        results = item.shape.parts[:-1] if item.target.startswith("__cu") and item.shape.parts else [item.shape]
        return sum(result.bytes() for result in results) + sum(operand.shape.bytes() for operand in operands)
    body = module[item.called[0]]
    parameters = {inner.proto[9][0] if inner.proto[9] else 0: inner for inner in body.all if inner.opcode == "parameter"}
    read = sum(read_bytes(body, operand.shape, parameters[at]) for at, operand in enumerate(operands))
    return read + written_bytes(body, item)


class Kernel:
    def __init__(self, computation, item, module, options):
        self.bytes = bytes_of(computation, item, module)
        self.work = work_of(computation, item, module)
        self.memory = self.bytes / options.bandwidth / 1e12
        self.arithmetic = sum(count / (options.peaks[kind] * 1e12) for kind, count in self.work.items())
        self.seconds = max(self.memory, self.arithmetic) + options.launch * 1e-6
        self.shapes = ", ".join(str(operand.shape) for operand in computation.operands(item)) + " -> " + str(item.shape)
        self.opcode, self.name = item.opcode, item.name
        self.group = self.kind(item, module)

    def kind(self, item, module):
        if self.work:
            return "products"
        if item.opcode == "custom-call":
            return "library"
        inner = {item.opcode}
        if item.opcode == "fusion":
            inner = {each.opcode for each in module[item.called[0]].all} - FREE
        if inner <= {"copy", "transpose", "convert", "reshape", "concatenate", "pad", "slice"}:
            return "copies, casts"
        for name in ("scatter", "sort", "reduce"):
            if any(each.startswith(name) for each in inner):
                return name
        return "pointwise"


def kernels_of(computation, module, options):
    result = []
    for item in computation.all:
        if item.opcode in ("while", "call", "conditional", "async-start"):
            for called in item.called:
                result += kernels_of(module[called], module, options)
        elif item.opcode not in FREE and not item.opcode.endswith("-done"):
            result.append(Kernel(computation, item, module, options))
    return result


def print_row(name, kernels):
    work = collections.Counter()
    for kernel in kernels:
        work += kernel.work
    print(f"{name:<16}{len(kernels):>8}{sum(k.bytes for k in kernels) / 1e9:>10.3f}{sum(work.values()) / 1e12:>10.3f}"
          f"{sum(k.seconds for k in kernels) * 1e3:>10.3f}  "
          + ", ".join(f"{kind} {count / 1e12:.3f}" for kind, count in sorted(work.items())))


def print_slowest(kernels, count):
    alike = collections.defaultdict(list)
    for kernel in kernels:
        alike[(kernel.group, kernel.shapes)].append(kernel)
    ranked = sorted(alike.items(), key=lambda entry: -sum(k.seconds for k in entry[1]))
    for (group, shapes), same in ranked[:count]:
        bound = "bytes" if same[0].memory >= same[0].arithmetic else "operations"
        print(f"{sum(k.seconds for k in same) * 1e3:>9.3f} ms {len(same):>5} x {group}, {bound}: {same[0].name}: {shapes}")


def kernels_in(name, options):
    """Returns the kernels of the program in a file."""
    try:
        with open(name, "rb") as file:
            module = fields(file.read())
        computations = {each.id: each for each in map(Computation, module[3])}
        return kernels_of(computations[module[6][0]], computations, options)
    except OSError as error:
        sys.exit(f"[traffic] cannot read {name}: {error.strerror}")
    except (IndexError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError, struct.error):
        sys.exit(f"[traffic] not an HloModuleProto, got {name}, expected a .hlo.pb of partita compile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--kernels", type=int, default=0, help="kernels to list, slowest first")
    parser.add_argument("--bandwidth", type=float, default=3.35, help="TB/s; the default is an H100")
    parser.add_argument("--bf16", type=float, default=990, help="TFLOP/s of products of 16 bits")
    parser.add_argument("--tf32", type=float, default=495, help="TFLOP/s of products of f32 that are rounded to TF32")
    parser.add_argument("--f32", type=float, default=67, help="TFLOP/s of products of f32, and of f64")
    parser.add_argument("--launch", type=float, default=2, help="microseconds for each kernel")
    options = parser.parse_args()
    options.peaks = collections.defaultdict(lambda: options.f32)
    options.peaks.update({"bf16": options.bf16, "f16": options.bf16, "tf32": options.tf32})
    everything = []
    for name in options.files:
        kernels = kernels_in(name, options)
        everything += kernels
        print(name)
        print(f"{'kernels':<16}{'number':>8}{'GB':>10}{'TFLOP':>10}{'ms':>10}  TFLOP by type")
        groups = collections.defaultdict(list)
        for kernel in kernels:
            groups[kernel.group].append(kernel)
        for group in sorted(groups, key=lambda each: -sum(k.seconds for k in groups[each])):
            print_row(group, groups[group])
        print_row("sum", kernels)
        print_slowest(kernels, options.kernels)
        print()
    if len(options.files) > 1:
        print_row("all programs", everything)


if __name__ == "__main__":
    main()
